// The shape family: elements move but do not change. If source and result are stored in row-major
// order, a change of shape is a plain copy.
#include <algorithm>

#include "vm/exec.h"
#include "vm/host/copy.h"

namespace tarsia::vm {
namespace {

ExecState SameElements(Agent& agent, const PlannedInst& inst) {
  agent.SetResult(inst, agent.RowMajor(inst, 0));
  return ExecState::kNext;
}

}  // namespace

EXEC(Reshape) { return SameElements(agent, inst); }
EXEC(Squeeze) { return SameElements(agent, inst); }
EXEC(Unsqueeze) { return SameElements(agent, inst); }

EXEC(Permute) {
  const ValuePlan& source = agent.plan().values[inst.operand[0].value];
  const void* data = agent.RowMajor(inst, 0);
  host::Permute(source.container, data, source.shape, inst.axes, agent.BeginResult(inst));
  agent.EndResult(inst);
  return ExecState::kNext;
}

EXEC(Broadcast) {
  const ValuePlan& source = agent.plan().values[inst.operand[0].value];
  const ValuePlan& result = agent.plan().values[inst.result[0]];
  const void* data = agent.RowMajor(inst, 0);
  host::Broadcast(source.container, data, source.shape, result.shape, agent.BeginResult(inst));
  agent.EndResult(inst);
  return ExecState::kNext;
}

EXEC(ConvertLayout) {
  const ValuePlan& type = agent.plan().values[inst.result[0]];
  const void* data = agent.Elements(inst, 0).data;
  uint8_t* out = agent.Tile(inst.result[0]);
  if (data != out) {
    std::copy_n(static_cast<const uint8_t*>(data), inst.count * type.container, out);
  }
  return ExecState::kNext;
}

}  // namespace tarsia::vm
