// The elementwise family. Operands and result are stored the same way, so one loop over their
// containers is enough; a scalar is a tile of one element.
#include <algorithm>
#include <cstring>
#include <span>

#include "support/extents.h"
#include "vm/exec.h"
#include "vm/host/elementwise.h"

namespace tarsia::vm {
namespace {

// The memory of the result and its number of elements.
struct Target {
  Target(Agent& a, const PlannedInst& i) : agent(a), inst(i) {
    data = inst.tile_result ? static_cast<void*>(agent.Tile(inst.result[0])) : &code;
    count = inst.tile_result ? static_cast<size_t>(inst.count) : 1;
  }
  ExecState Done() {
    if (!inst.tile_result) agent.Scalar(inst.result[0]) = code;
    return ExecState::kNext;
  }
  Agent& agent;
  const PlannedInst& inst;
  uint64_t code = 0;
  void* data = nullptr;
  size_t count = 0;
};

ExecState Unary(Agent& agent, const PlannedInst& inst) {
  Target out(agent, inst);
  host::Unary(inst.inst->opcode, inst.type, agent.Elements(inst, 0).data, out.data, out.count);
  return out.Done();
}

ExecState Binary(Agent& agent, const PlannedInst& inst) {
  Target out(agent, inst);
  const Agent::Source a = agent.Elements(inst, 0);
  const Agent::Source b = agent.Elements(inst, 1);
  host::Binary(inst.inst->opcode, inst.type, a.data, a.uniform, b.data, b.uniform, out.data,
               out.count);
  return out.Done();
}

// Most scalar instructions are index arithmetic: integers of at most 32 bits need no call.
template <typename Compute>
ExecState Integer(Agent& agent, const PlannedInst& inst, Compute compute) {
  if (inst.tile_result || !inst.type.IsInteger() || inst.type.bits > 32) {
    return Binary(agent, inst);
  }
  const int64_t a = CodeToInt(inst.type, agent.Code(inst, 0));
  const int64_t b = CodeToInt(inst.type, agent.Code(inst, 1));
  const DType type = Row(inst.inst->opcode).Has(kCompares) ? kBoolType : inst.type;
  agent.Scalar(inst.result[0]) = static_cast<uint64_t>(compute(a, b)) & CodeMask(type);
  return ExecState::kNext;
}

}  // namespace

EXEC(Iota) {
  const ValuePlan& type = agent.plan().values[inst.result[0]];
  const std::span<const int64_t> shape = type.shape;
  const size_t axis = std::min(Size(inst.axis), shape.size());
  const int64_t extent = axis < shape.size() ? shape[axis] : 1;
  const int64_t inner = axis < shape.size() ? Product(shape.subspan(axis + 1)) : 1;
  auto* out = static_cast<uint8_t*>(agent.BeginResult(inst));
  const auto period = static_cast<size_t>(extent * inner * type.container);
  if (type.elements > 0) {
    for (int64_t i = 0; i < extent && inner > 1; ++i) {
      uint64_t code = 0;
      host::IotaRun(type.dtype, i, &code, 1);
      host::Fill(type.container, code, out + i * inner * type.container,
                 static_cast<size_t>(inner));
    }
    if (inner == 1) host::IotaRun(type.dtype, 0, out, static_cast<size_t>(extent));
    const int64_t outer = Product(shape.first(axis));
    for (int64_t i = 1; i < outer; ++i) {
      std::memcpy(out + static_cast<size_t>(i) * period, out, period);
    }
  }
  agent.EndResult(inst);
  return ExecState::kNext;
}

EXEC(Fill) {
  const PlannedOperand& element = inst.operand[0];
  uint64_t code = agent.Code(inst, 0);
  if (element.type != inst.type) code = CastCode(element.type, code, inst.type);
  host::Fill(agent.plan().values[inst.result[0]].container, code, agent.Tile(inst.result[0]),
             static_cast<size_t>(inst.count));
  return ExecState::kNext;
}

EXEC(Rand) {
  const ValuePlan& type = agent.plan().values[inst.result[0]];
  host::Philox(static_cast<uint64_t>(agent.Index(inst, 0)),
               static_cast<uint64_t>(agent.Index(inst, 1)),
               static_cast<uint32_t*>(agent.BeginResult(inst)), static_cast<size_t>(type.elements));
  agent.EndResult(inst);
  return ExecState::kNext;
}

EXEC(Neg) { return Unary(agent, inst); }
EXEC(Abs) { return Unary(agent, inst); }
EXEC(Not) { return Unary(agent, inst); }
EXEC(Sqrt) { return Unary(agent, inst); }
EXEC(Rsqrt) { return Unary(agent, inst); }
EXEC(Rcp) { return Unary(agent, inst); }
EXEC(Exp) { return Unary(agent, inst); }
EXEC(Exp2) { return Unary(agent, inst); }
EXEC(Log) { return Unary(agent, inst); }
EXEC(Log2) { return Unary(agent, inst); }
EXEC(Sin) { return Unary(agent, inst); }
EXEC(Cos) { return Unary(agent, inst); }
EXEC(Tanh) { return Unary(agent, inst); }
EXEC(Erf) { return Unary(agent, inst); }
EXEC(Floor) { return Unary(agent, inst); }
EXEC(Ceil) { return Unary(agent, inst); }
EXEC(Round) { return Unary(agent, inst); }
EXEC(Trunc) { return Unary(agent, inst); }
EXEC(Popc) { return Unary(agent, inst); }
EXEC(Clz) { return Unary(agent, inst); }

EXEC(Add) {
  return Integer(agent, inst, [](int64_t a, int64_t b) { return a + b; });
}
EXEC(Sub) {
  return Integer(agent, inst, [](int64_t a, int64_t b) { return a - b; });
}
EXEC(Mul) {
  return Integer(agent, inst, [](int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  });
}
EXEC(Div) { return Binary(agent, inst); }
EXEC(Rem) { return Binary(agent, inst); }
EXEC(Min) {
  return Integer(agent, inst, [](int64_t a, int64_t b) { return std::min(a, b); });
}
EXEC(Max) {
  return Integer(agent, inst, [](int64_t a, int64_t b) { return std::max(a, b); });
}
EXEC(And) { return Binary(agent, inst); }
EXEC(Or) { return Binary(agent, inst); }
EXEC(Xor) { return Binary(agent, inst); }
EXEC(Shl) { return Binary(agent, inst); }
EXEC(Shr) { return Binary(agent, inst); }
EXEC(Eq) {
  return Integer(agent, inst, [](int64_t a, int64_t b) { return a == b ? 1 : 0; });
}
EXEC(Ne) {
  return Integer(agent, inst, [](int64_t a, int64_t b) { return a != b ? 1 : 0; });
}
EXEC(Lt) {
  return Integer(agent, inst, [](int64_t a, int64_t b) { return a < b ? 1 : 0; });
}
EXEC(Le) {
  return Integer(agent, inst, [](int64_t a, int64_t b) { return a <= b ? 1 : 0; });
}
EXEC(Gt) {
  return Integer(agent, inst, [](int64_t a, int64_t b) { return a > b ? 1 : 0; });
}
EXEC(Ge) {
  return Integer(agent, inst, [](int64_t a, int64_t b) { return a >= b ? 1 : 0; });
}

EXEC(Fma) {
  Target out(agent, inst);
  const Agent::Source a = agent.Elements(inst, 0);
  const Agent::Source b = agent.Elements(inst, 1);
  const Agent::Source c = agent.Elements(inst, 2);
  host::Fma(inst.type, a.data, a.uniform, b.data, b.uniform, c.data, c.uniform, out.data,
            out.count);
  return out.Done();
}

EXEC(Select) {
  Target out(agent, inst);
  const Agent::Source condition = agent.Elements(inst, 0);
  const Agent::Source a = agent.Elements(inst, 1);
  const Agent::Source b = agent.Elements(inst, 2);
  host::Select(ContainerBytes(inst.type), static_cast<const uint8_t*>(condition.data),
               condition.uniform, a.data, a.uniform, b.data, b.uniform, out.data, out.count);
  return out.Done();
}

}  // namespace tarsia::vm
