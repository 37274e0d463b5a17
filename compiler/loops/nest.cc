#include "compiler/loops/nest.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/loops/counted_loop.h"
#include "compiler/loops/pipeline_plan.h"
#include "compiler/loops/unroll.h"
#include "support/align.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;

// Of more turns, an inner loop has time to begin and to end by itself.
constexpr int64_t kMostTurns = 8;

// The loops in a region and in the regions inside, but not those in loops.
std::vector<OpId> LoopsIn(const Form& form, RegionId region) {
  std::vector<OpId> out;
  for (const OpId id : form.regions[region].ops) {
    const Operation& op = form.ops[id];
    if (op.IsLoop()) {
      out.push_back(id);
      continue;
    }
    for (const RegionId inner : op.region) {
      if (inner == kNone) continue;
      const std::vector<OpId> more = LoopsIn(form, inner);
      out.insert(out.end(), more.begin(), more.end());
    }
  }
  return out;
}

}  // namespace

std::optional<LoopNest> FindNest(const Form& form, OpId outer, Target target) {
  const Operation& op = form.ops[outer];
  if (op.opcode != Opcode::kFor || HintOf(form, op, Attr::kPipeline)) return std::nullopt;
  const auto around = Counted(form, op);
  if (!around || around->step < 0 || around->turns == 0 || around->turns == 1) return std::nullopt;
  const std::vector<OpId> loops = LoopsIn(form, op.region[0]);
  if (loops.size() != 1) return std::nullopt;
  const std::vector<OpId>& ops = form.regions[op.region[0]].ops;
  if (std::find(ops.begin(), ops.end(), loops[0]) == ops.end()) return std::nullopt;
  const Operation& inner = form.ops[loops[0]];
  if (inner.opcode != Opcode::kFor || !LoopsIn(form, inner.region[0]).empty()) return std::nullopt;
  const auto wanted = HintOf(form, inner, Attr::kPipeline);
  if (!IsPipelinedByDefault(form, loops[0], target) && wanted.value_or(1) < 2) return std::nullopt;
  const auto counted = Counted(form, inner);
  if (!counted || !counted->turns) return std::nullopt;
  const int64_t turns = *counted->turns;
  if (turns < 1 || turns > kMostTurns) return std::nullopt;
  if (HintOf(form, inner, Attr::kUnroll).value_or(turns) < turns) return std::nullopt;
  LoopNest out{outer, loops[0], turns};
  if (wanted) out.stages = 1 + CeilDiv(*wanted - 1, turns);
  return out;
}

bool JoinNest(Form& form, const LoopNest& nest) {
  const RegionId body = form.ops[nest.outer].region[0];
  const std::vector<OpId> ops = form.regions[body].ops;
  form.regions[body].ops.clear();
  for (const OpId id : ops) {
    if (id != nest.inner) {
      form.regions[body].ops.push_back(id);
    } else if (!UnrollWhole(form, id, body)) {
      form.regions[body].ops = ops;
      return false;
    }
  }
  Operation& outer = form.ops[nest.outer];
  if (nest.stages != 0) {
    outer.attr[*outer.row().AttrIndex(Attr::kPipeline)] = form.pool.Int(nest.stages);
  }
  return true;
}

}  // namespace tarsia::compiler
