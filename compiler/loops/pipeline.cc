#include "compiler/loops/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/loops/arrivals.h"
#include "compiler/loops/nest.h"
#include "compiler/loops/pipeline_plan.h"
#include "compiler/loops/pipeline_writer.h"
#include "compiler/passes/shared.h"
#include "compiler/passes/via.h"
#include "compiler/plan_shared.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

// Whether a pass made the tile in shared memory that gets the elements.
bool IsStoredToShared(const Form& form, ValueId loaded) {
  return std::any_of(form.ops.begin(), form.ops.end(), [&](const Operation& op) {
    return op.opcode == Opcode::kStore && op.inserted && op.operand[1].value == loaded &&
           form.TypeOf(op.operand[0].value).space == Space::kShared;
  });
}

// Who chose how a load arrives.
std::string_view ByWhom(const Form& form, OpId load) {
  return ViaOf(form, form.ops[load]) ? " (written)" : "";
}

// Of loads in loops that stay: how they arrive.
std::vector<PipelineDecision> DescribeOthers(const Form& form) {
  std::vector<PipelineDecision> out;
  for (const OpId id : GlobalLoadsInLoops(form)) {
    const Operation& load = form.ops[id];
    // A copy of a turn is described with the others of its line.
    const auto same = [&](const auto& known) { return known.line == load.location.line; };
    if (std::any_of(out.begin(), out.end(), same)) continue;
    const bool shared = IsStoredToShared(form, load.results[0]);
    out.push_back({load.location.line,
                   fmt::format("`load` comes to registers in its turn{}{}",
                               shared ? ", and through shared memory to other threads" : "",
                               ByWhom(form, id)),
                   false, ""});
  }
  return out;
}

class Pipeliner {
 public:
  Pipeliner(Form& form, Target target) : form_(form), target_(target) {}

  std::vector<PipelineDecision> Run() {
    Visit(tile::kBody);
    std::stable_sort(decisions_.begin(), decisions_.end(),
                     [](const auto& a, const auto& b) { return a.line < b.line; });
    return std::move(decisions_);
  }

 private:
  // Of a nest the outer loop first, if it takes the turns of the inner one; else inner loops first.
  void Visit(RegionId region) {
    for (const OpId id : std::vector<OpId>(form_.regions[region].ops)) {
      if (ReplaceNest(id, region)) continue;
      for (const RegionId inner : {form_.ops[id].region[0], form_.ops[id].region[1]}) {
        if (inner != kNone) Visit(inner);
      }
      Replace(id, region);
    }
  }

  // Whether the loop takes the turns of the one inside, and its loads come ahead.
  bool ReplaceNest(OpId id, RegionId region) {
    const std::optional<LoopNest> nest = FindNest(form_, id, target_);
    if (!nest) return false;
    Form before = form_;
    const size_t known = decisions_.size();
    if (JoinNest(form_, *nest)) {
      const Location inner = form_.ops[nest->inner].location;
      Decide(inner,
             fmt::format("`for` becomes part of the loop around it: {} turns each", nest->turns));
      if (Replace(id, region)) return true;
    }
    form_ = std::move(before);
    decisions_.resize(known);
    return false;
  }

  // With as many stages as fit in shared memory; whether anything comes ahead.
  bool Replace(OpId id, RegionId region) {
    const std::optional<PipelinePlan> plan = PlanPipeline(form_, id, target_);
    if (!plan) return false;
    for (const Obstacle& obstacle : plan->obstacles) Explain(obstacle);
    if (plan->loads.empty()) return false;
    for (int64_t stages = plan->stages; stages >= 2; --stages) {
      Form made = form_;
      const std::vector<OpId> ops = std::exchange(made.regions[region].ops, {});
      bool written = true;
      for (const OpId op : ops) {
        if (op == id) {
          written = WritePipeline(made, *plan, stages, region);
        } else {
          made.regions[region].ops.push_back(op);
        }
      }
      if (!written) {
        Explain({id, kNone, "a tile in shared memory has a layout that no ring has"});
        return false;
      }
      if (!Fits(made)) continue;
      Describe(*plan, stages);
      form_ = std::move(made);
      return true;
    }
    Explain({id, kNone,
             plan->stages < 2 ? "it has one turn" : "two stages do not fit in shared memory"});
    return false;
  }

  void Decide(Location at, std::string text) {
    decisions_.push_back({at.line, std::move(text), false, ""});
  }

  [[nodiscard]] std::string_view Mnemonic(OpId id) const { return form_.ops[id].row().mnemonic; }

  void Explain(const Obstacle& obstacle) {
    std::string text = fmt::format("`{}` stays as it is: {}", Mnemonic(obstacle.op), obstacle.why);
    if (obstacle.other != kNone && obstacle.other != obstacle.op) {
      text += fmt::format(" (line {}: `{}`)", form_.ops[obstacle.other].location.line,
                          Mnemonic(obstacle.other));
    }
    std::string why = text.substr(text.find(": ") + 2);
    decisions_.push_back(
        {form_.ops[obstacle.op].location.line, std::move(text), true, std::move(why)});
  }

  void Describe(const PipelinePlan& plan, int64_t stages) {
    const int64_t round = RoundOf(plan, stages);
    std::string text = fmt::format("`for` has {} turns in flight", stages - 1);
    if (round > 1) text += fmt::format("; {} turns are one", round);
    Decide(form_.ops[plan.loop].location, std::move(text));
    for (const RingLoad& load : plan.loads) {
      Decide(form_.ops[load.load].location,
             fmt::format("`load` comes by asynchronous copies into {} stages in shared memory, and "
                         "from there {}{}",
                         stages,
                         load.staged != kNone ? "as other threads need it" : "to its registers",
                         ByWhom(form_, load.load)));
    }
  }

  [[nodiscard]] bool Fits(const Form& form) const {
    uint64_t end = 0;
    for (const SharedAllocation& tile : PlacesOfShared(form)) {
      end = std::max(end, *tile.place + tile.bytes);
    }
    return end + kLeastScratch <= static_cast<uint64_t>(Row(target_).shared_bytes);
  }

  Form& form_;
  const Target target_;
  std::vector<PipelineDecision> decisions_;
};

}  // namespace

void Pipeline(Form& form, Target target) { Pipeliner(form, target).Run(); }

std::vector<PipelineDecision> DecidePipelines(Form form, Target target) {
  return Pipeliner(form, target).Run();
}

std::string PipelineReport(Form form, Target target) {
  std::vector<PipelineDecision> decisions = Pipeliner(form, target).Run();
  for (PipelineDecision& other : DescribeOthers(form)) decisions.push_back(std::move(other));
  std::stable_sort(decisions.begin(), decisions.end(),
                   [](const auto& a, const auto& b) { return a.line < b.line; });
  std::string out;
  for (const PipelineDecision& decision : decisions) {
    out += fmt::format("  line {}: {}\n", decision.line, decision.text);
  }
  return out;
}

std::vector<LineAdvice> AdviceOnPipelines(Form form, Target target) {
  std::vector<LineAdvice> out;
  for (PipelineDecision& decision : DecidePipelines(std::move(form), target)) {
    if (decision.stays) out.push_back({decision.line, std::move(decision.text)});
  }
  return out;
}

}  // namespace tarsia::compiler
