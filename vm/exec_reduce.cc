// The reduce family.
#include <span>

#include "support/extents.h"
#include "vm/exec.h"
#include "vm/host/reduce.h"
#include "vm/host/scan.h"
#include "vm/host/top_k.h"

namespace tarsia::vm {
namespace {

ExecState Reduce(Agent& agent, const PlannedInst& inst) {
  const ValuePlan& source = agent.plan().values[inst.operand[0].value];
  const void* data = agent.RowMajor(inst, 0);
  host::ReduceAxes(inst.inst->opcode, source.dtype, data, source.shape, inst.axes,
                   agent.BeginResult(inst));
  agent.EndResult(inst);
  return ExecState::kNext;
}

ExecState ReduceArg(Agent& agent, const PlannedInst& inst) {
  const ValuePlan& source = agent.plan().values[inst.operand[0].value];
  const std::span<const int64_t> shape = source.shape;
  const size_t axis = Size(inst.axis);
  const int64_t outer = Product(shape.first(axis));
  const int64_t inner = Product(shape.subspan(axis + 1));
  const void* data = agent.RowMajor(inst, 0);
  void* value = agent.BeginResult(inst, 0);
  auto* index = static_cast<int32_t*>(agent.BeginResult(inst, 1));
  host::ReduceArg(inst.inst->opcode, source.dtype, data, outer, shape[axis], inner, value, index);
  agent.EndResult(inst, 0);
  agent.EndResult(inst, 1);
  return ExecState::kNext;
}

ExecState Scan(Agent& agent, const PlannedInst& inst) {
  const ValuePlan& source = agent.plan().values[inst.operand[0].value];
  const std::span<const int64_t> shape = source.shape;
  const size_t axis = Size(inst.axis);
  const void* data = agent.RowMajor(inst, 0);
  host::Scan(inst.inst->opcode, source.dtype, {inst.exclusive, inst.reverse}, data,
             Product(shape.first(axis)), shape[axis], Product(shape.subspan(axis + 1)),
             agent.BeginResult(inst));
  agent.EndResult(inst);
  return ExecState::kNext;
}

ExecState FindTopK(Agent& agent, const PlannedInst& inst) {
  const ValuePlan& source = agent.plan().values[inst.operand[0].value];
  const std::span<const int64_t> shape = source.shape;
  const size_t axis = Size(inst.axis);
  const int64_t k = agent.plan().values[inst.result[0]].shape[axis];
  const void* data = agent.RowMajor(inst, 0);
  void* values = agent.BeginResult(inst, 0);
  auto* indices = static_cast<int32_t*>(agent.BeginResult(inst, 1));
  host::TopK(source.dtype, inst.smallest, data, Product(shape.first(axis)), shape[axis],
             Product(shape.subspan(axis + 1)), k, values, indices);
  agent.EndResult(inst, 0);
  agent.EndResult(inst, 1);
  return ExecState::kNext;
}

}  // namespace

EXEC(ReduceSum) { return Reduce(agent, inst); }
EXEC(ReduceProd) { return Reduce(agent, inst); }
EXEC(ReduceMin) { return Reduce(agent, inst); }
EXEC(ReduceMax) { return Reduce(agent, inst); }
EXEC(ReduceAny) { return Reduce(agent, inst); }
EXEC(ReduceAll) { return Reduce(agent, inst); }
EXEC(ReduceArgmin) { return ReduceArg(agent, inst); }
EXEC(ReduceArgmax) { return ReduceArg(agent, inst); }
EXEC(ScanSum) { return Scan(agent, inst); }
EXEC(ScanProd) { return Scan(agent, inst); }
EXEC(ScanMin) { return Scan(agent, inst); }
EXEC(ScanMax) { return Scan(agent, inst); }
EXEC(TopK) { return FindTopK(agent, inst); }

}  // namespace tarsia::vm
