#include "planner/certificate.h"

#include <string_view>
#include <vector>

#include "support/json.h"

namespace tarsia {
namespace {

const char* NameOf(PlanBuffer::Kind kind) {
  switch (kind) {
    case PlanBuffer::Kind::kInput:
      return "input";
    case PlanBuffer::Kind::kOutput:
      return "output";
    case PlanBuffer::Kind::kScratch:
      return "scratch";
  }
  return "";
}

// An amount of bytes can be beyond the signed numbers.
void AddBytes(std::string_view key, uint64_t bytes, Json* out) {
  out->Key(key).Raw(std::to_string(bytes));
}

void AddNames(std::string_view key, const std::vector<std::string_view>& names, Json* out) {
  out->Key(key).Begin('[');
  for (const std::string_view name : names) out->String(name);
  out->End(']');
}

// Of an input with other names of its axes: which input, and what it calls them.
void AddRenaming(const Plan& plan, const PlanBuffer& buffer, const ConcreteGraph& graph,
                 Json* out) {
  if (buffer.kind != PlanBuffer::Kind::kInput) return;
  const PlanTensor& input = plan.inputs[buffer.tensor];
  if (buffer.axes == input.axes) return;
  out->Key("of").String(input.name).Key("renamed").Begin('{');
  for (size_t i = 0; i < input.axes.size(); ++i) {
    if (buffer.axes[i] == input.axes[i]) continue;
    out->Key(graph.axes()[buffer.axes[i]].name).String(graph.axes()[input.axes[i]].name);
  }
  out->End('}');
}

void AddBuffer(const Plan& plan, const PlanBuffer& buffer, const ConcreteGraph& graph, Json* out) {
  out->Begin('{').Key("name").String(buffer.name);
  if (buffer.offset) {
    AddBytes("offset", *buffer.offset, out);
  } else {
    out->Key("offset").Null();
  }
  AddBytes("size", buffer.bytes, out);
  AddBytes("first", buffer.first, out);
  AddBytes("last", buffer.last, out);
  out->Key("kind").String(NameOf(buffer.kind));
  if (buffer.in_place) out->Key("in").String(plan.buffers[*buffer.in_place].name);
  AddRenaming(plan, buffer, graph, out);
  out->End('}');
}

// Names of the buffers that a step reads and writes.
struct Uses {
  std::vector<std::string_view> reads, writes, receives;
};

// What a launch reads and writes. A reduction that begins does not read its state.
Uses UsesOfLaunch(const Plan& plan, const PlanStep& step) {
  Uses out;
  const bool merge = step.kind == PlanStep::Kind::kMerge;
  size_t at = 0;
  for (const KernelParam& param : plan.kernels[step.kernel].params) {
    if (param.kind != KernelParam::Kind::kTensor) continue;
    const std::string& name = plan.buffers[step.buffers[at++]].name;
    if (merge && !param.written) out.receives.push_back(name);
    if (param.read && (merge || !(param.written && step.fresh))) out.reads.push_back(name);
    if (param.written) out.writes.push_back(name);
  }
  // Behind them, inputs in whose place an output is written.
  for (; at < step.buffers.size(); ++at) {
    out.reads.push_back(plan.buffers[step.buffers[at]].name);
  }
  return out;
}

void AddStep(const Plan& plan, const PlanStep& step, const ConcreteGraph& graph, Json* out) {
  out->Begin('{');
  Uses uses;
  const bool merge = step.kind == PlanStep::Kind::kMerge;
  if (merge || step.kind == PlanStep::Kind::kLaunch) {
    out->Key(merge ? "merge" : "kernel").String(plan.kernels[step.kernel].name);
    uses = UsesOfLaunch(plan, step);
  } else {
    const bool load = step.kind == PlanStep::Kind::kLoad;
    const PlanBuffer& buffer = plan.buffers[step.buffers[0]];
    out->Key(load ? "load" : "store");
    out->String((load ? plan.inputs : plan.outputs)[buffer.tensor].name);
    (load ? uses.writes : uses.reads).push_back(buffer.name);
  }
  AddNames("reads", uses.reads, out);
  AddNames("writes", uses.writes, out);
  if (merge) AddNames("receives", uses.receives, out);
  out->Key("ranges").Begin('{');
  for (const StepRange& range : step.ranges) {
    out->Key(graph.axes()[range.axis].name).Begin('[');
    out->Number(range.low).Number(range.high).End(']');
  }
  out->End('}').End('}');
}

void AddShare(const PlanShare& share, const ConcreteGraph& graph, Json* out) {
  out->Key("share").Begin('{').Key("axis").String(graph.axes()[share.axis].name);
  AddBytes("rank", share.rank, out);
  AddBytes("ranks", share.ranks(), out);
  out->Key("range").Begin('[').Number(share.low()).Number(share.high()).End(']').End('}');
}

}  // namespace

std::string CertificateText(const Plan& plan, const ConcreteGraph& graph) {
  Json out;
  out.Begin('{');
  if (plan.limit == kNoLimit) {
    out.Key("limit").Null();
  } else {
    AddBytes("limit", plan.limit, &out);
  }
  out.Key("limit_kind").String(plan.limit_kind == LimitKind::kTotal ? "total" : "scratch");
  AddBytes("peak", plan.peak, &out);
  if (plan.share) AddShare(*plan.share, graph, &out);
  out.Key("buffers").Begin('[');
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.used) AddBuffer(plan, buffer, graph, &out);
  }
  out.End(']').Key("steps").Begin('[');
  for (const PlanStep& step : plan.steps) AddStep(plan, step, graph, &out);
  return out.End(']').End('}').Take();
}

}  // namespace tarsia
