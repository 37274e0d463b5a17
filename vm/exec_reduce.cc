// The reduce family.
#include <span>

#include "support/extents.h"
#include "vm/exec.h"
#include "vm/host/reduce.h"
#include "vm/host/scan.h"
#include "vm/host/top_k.h"

namespace tarsia::vm {
namespace {

// A tile as the functions of vm/host/ take it that go along one axis.
struct AlongAxis {
  DType dtype;
  const void* data;
  int64_t outer, extent, inner;
};

AlongAxis OperandAlongAxis(Agent& agent, const PlannedInst& inst) {
  const ValuePlan& source = agent.plan().values[inst.operand[0].value];
  const std::span<const int64_t> shape = source.shape;
  const size_t axis = Size(inst.axis);
  const int64_t outer = Product(shape.first(axis));
  const int64_t inner = Product(shape.subspan(axis + 1));
  return {source.dtype, agent.RowMajor(inst, 0), outer, shape[axis], inner};
}

ExecState Reduce(Agent& agent, const PlannedInst& inst) {
  const ValuePlan& source = agent.plan().values[inst.operand[0].value];
  const void* data = agent.RowMajor(inst, 0);
  host::ReduceAxes(inst.inst->opcode, source.dtype, data, source.shape, inst.axes,
                   agent.BeginResult(inst));
  agent.EndResult(inst);
  return ExecState::kNext;
}

ExecState ReduceArg(Agent& agent, const PlannedInst& inst) {
  const AlongAxis tile = OperandAlongAxis(agent, inst);
  void* value = agent.BeginResult(inst, 0);
  auto* index = static_cast<int32_t*>(agent.BeginResult(inst, 1));
  host::ReduceArg(inst.inst->opcode, tile.dtype, tile.data, tile.outer, tile.extent, tile.inner,
                  value, index);
  agent.EndResult(inst, 0);
  agent.EndResult(inst, 1);
  return ExecState::kNext;
}

ExecState Scan(Agent& agent, const PlannedInst& inst) {
  const AlongAxis tile = OperandAlongAxis(agent, inst);
  host::Scan(inst.inst->opcode, tile.dtype, {inst.exclusive, inst.reverse}, tile.data, tile.outer,
             tile.extent, tile.inner, agent.BeginResult(inst));
  agent.EndResult(inst);
  return ExecState::kNext;
}

ExecState FindTopK(Agent& agent, const PlannedInst& inst) {
  const AlongAxis tile = OperandAlongAxis(agent, inst);
  const int64_t k = agent.plan().values[inst.result[0]].shape[Size(inst.axis)];
  void* values = agent.BeginResult(inst, 0);
  auto* indices = static_cast<int32_t*>(agent.BeginResult(inst, 1));
  host::TopK(tile.dtype, inst.smallest, tile.data, tile.outer, tile.extent, tile.inner, k, values,
             indices);
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
