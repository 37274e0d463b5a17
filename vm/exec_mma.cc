// The mma family.
#include "vm/exec.h"
#include "vm/host/dot.h"

namespace tarsia::vm {

EXEC(Dot) {
  const ValuePlan& a = agent.plan().values[inst.operand[0].value];
  const ValuePlan& b = agent.plan().values[inst.operand[1].value];
  const ValuePlan& result = agent.plan().values[inst.result[0]];
  const void* left = agent.RowMajor(inst, 0);
  const void* right = agent.RowMajor(inst, 1);
  const void* sum = agent.RowMajor(inst, 2);
  // `%acc = dot %a, %b, %acc` adds in place.
  const bool in_place = result.storage == kLogical && inst.operand[2].value == inst.result[0] &&
                        inst.operand[0].value != inst.result[0] &&
                        inst.operand[1].value != inst.result[0];
  void* out = in_place ? agent.Tile(inst.result[0]) : agent.BeginResult(inst);
  host::Dot(a.dtype, b.dtype, result.dtype, left, right, sum, out, a.shape[0], b.shape[1],
            a.shape[1]);
  if (!in_place) agent.EndResult(inst);
  return ExecState::kNext;
}

}  // namespace tarsia::vm
