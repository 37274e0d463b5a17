#include "tools/reduce/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "planner/limit.h"

namespace tarsia::tools {
namespace {

constexpr size_t kArenaWidth = 48;  // columns of the picture

std::string_view Describe(const KernelParam& param) {
  if (!param.written) return "reads";
  return param.read ? "reads and writes" : "writes";
}

std::string Kernels(const Plan& plan) {
  std::string out = "kernels:\n";
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    const KernelText& kernel = plan.kernels[k];
    const auto launches =
        std::count_if(plan.steps.begin(), plan.steps.end(), [&](const PlanStep& step) {
          return step.kind == PlanStep::Kind::kLaunch && step.kernel == k;
        });
    const auto merges =
        std::count_if(plan.steps.begin(), plan.steps.end(), [&](const PlanStep& step) {
          return step.kind == PlanStep::Kind::kMerge && step.kernel == k;
        });
    if (merges != 0) {
      out += fmt::format("  {}: merges the states of all ranks, {} time{}\n", kernel.name, merges,
                         merges == 1 ? "" : "s");
      continue;
    }
    out += fmt::format("  {}: {} launch{}, {} block{}, about {:.3g} operations\n", kernel.name,
                       launches, launches == 1 ? "" : "es", kernel.blocks,
                       kernel.blocks == 1 ? "" : "s", kernel.cost);
    for (const KernelParam& param : kernel.params) {
      if (param.kind != KernelParam::Kind::kTensor) continue;
      out += fmt::format("    {} {}\n", Describe(param), plan.buffers[param.id].name);
    }
  }
  return out;
}

std::string Splits(const Plan& plan, const ConcreteGraph& graph) {
  std::string out;
  if (plan.share) {
    const ConcreteAxis& axis = graph.axes()[plan.share->axis];
    out =
        fmt::format("rank {} of {} has {}: {} to {} of {}\n", plan.share->rank, plan.share->ranks(),
                    axis.name, plan.share->low(), plan.share->high(), axis.extent);
  }
  if (plan.splits.empty()) return out + "no axis is split\n";
  out += "split axes:\n";
  for (const StepRange& split : plan.splits) {
    const ConcreteAxis& axis = graph.axes()[split.axis];
    out += fmt::format("  {}: {} in chunks of {}\n", axis.name, axis.extent, split.high);
  }
  return out;
}

// How each input comes into the arena, and each output out of it.
std::string Transfers(const Plan& plan) {
  std::string out;
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const PlanBuffer& buffer = plan.buffers[b];
    const auto count = std::count_if(plan.steps.begin(), plan.steps.end(), [&](const auto& step) {
      if (step.kind != PlanStep::Kind::kLoad && step.kind != PlanStep::Kind::kStore) return false;
      return step.buffers[0] == b || step.buffers[0] == buffer.second;
    });
    if (count == 0 || (buffer.second && *buffer.second < b)) continue;
    const std::string how = buffer.second   ? fmt::format("{} times by chunks of", count)
                            : buffer.shared ? std::string("once, the range of this rank,")
                                            : std::string("as a whole,");
    const bool load = buffer.kind == PlanBuffer::Kind::kInput;
    const std::string& name = (load ? plan.inputs : plan.outputs)[buffer.tensor].name;
    const std::string as = name == buffer.name ? "" : " as " + buffer.name;
    out += fmt::format("  {}{} is {} {} {} bytes\n", name, as, load ? "loaded" : "stored", how,
                       buffer.bytes);
  }
  return out.empty() ? "" : "transfers:\n" + out;
}

// Bytes of the arena from left to right, one line for each buffer that has a place there.
std::string Arena(const Plan& plan) {
  std::string out = fmt::format("arena of {} bytes ({}):\n", plan.peak, BytesText(plan.peak));
  size_t name = 0;
  for (const PlanBuffer& buffer : plan.buffers) name = std::max(name, buffer.name.size());
  for (const PlanBuffer& buffer : plan.buffers) {
    if (!buffer.used || !buffer.offset || plan.peak == 0) continue;
    const auto column = [&](uint64_t byte) {
      return static_cast<size_t>(static_cast<long double>(byte) / plan.peak * kArenaWidth);
    };
    const size_t begin = std::min(column(*buffer.offset), kArenaWidth - 1);
    const size_t end = std::max(column(*buffer.offset + buffer.bytes), begin + 1);
    std::string line(kArenaWidth, '.');
    if (buffer.bytes > 0) std::fill(line.begin() + begin, line.begin() + end, '#');
    out += fmt::format("  {:<{}} |{}| {:>10} + {:<10} steps {} to {}\n", buffer.name, name, line,
                       *buffer.offset, buffer.bytes, buffer.first, buffer.last);
  }
  return out;
}

}  // namespace

std::string PlanSummary(const Plan& plan, const ConcreteGraph& graph) {
  const std::string limit = plan.limit == kNoLimit ? "no limit" : "limit " + CountText(plan.limit);
  const bool scratch = plan.limit_kind == LimitKind::kScratch;
  std::string each;
  if (plan.share) {
    each = fmt::format(" on each of {} ranks, which share {}", plan.share->ranks(),
                       graph.axes()[plan.share->axis].name);
  }
  return fmt::format("{}: peak {} ({}){}{}, {}; {} kernel{}, {} step{}, about {:.3g} operations\n",
                     graph.name(), CountText(plan.peak), BytesText(plan.peak),
                     scratch ? " besides inputs and outputs" : "", each, limit, plan.kernels.size(),
                     plan.kernels.size() == 1 ? "" : "s", plan.steps.size(),
                     plan.steps.size() == 1 ? "" : "s", plan.operations);
}

std::string ExplainPlan(const Plan& plan, const ConcreteGraph& graph) {
  return Splits(plan, graph) + Kernels(plan) + Transfers(plan) + Arena(plan);
}

}  // namespace tarsia::tools
