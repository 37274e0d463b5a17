// The elementwise family: operands and result have one layout, so that each slot is computed by
// itself. A scalar is a tile of one slot.
#include "compiler/llvm/lower/lower.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace tarsia::compiler {
namespace {

// The number of slots of the result; 1 of a scalar.
size_t ResultSlots(Emitter& e) {
  const LayoutId layout = e.ResultLayout(0);
  return layout == kNoLayout ? 1 : static_cast<size_t>(e.layouts()[layout].slots());
}

void Finish(Emitter& e, const Slots& slots, const Facts& facts = {}) {
  assert(std::find(slots.begin(), slots.end(), nullptr) == slots.end() &&
         "a table of compiler/llvm/element/arithmetic.cc lacks this instruction");
  if (e.ResultLayout(0) == kNoLayout) {
    e.scalars().Write(e.inst().results[0], slots[0], facts);
  } else {
    e.SetResult(0, slots);
  }
}

Slots OnAllOperands(Emitter& e, size_t arity) {
  std::vector<Slots> operands;
  for (size_t i = 0; i < arity; ++i) operands.push_back(e.TileOperand(i, ResultSlots(e)));
  return e.elements().OnAll(e.inst().opcode(), e.inst().type, operands, e.inst().fast);
}

Status Unary(Emitter& e) {
  Finish(e, OnAllOperands(e, 1));
  return OkStatus();
}

Status Binary(Emitter& e, const Facts& facts = {}) {
  Finish(e, OnAllOperands(e, 2), facts);
  return OkStatus();
}

// Scalars are mostly indices: what is known of the operands says what is known of the result.
template <typename Combine>
Status Index(Emitter& e, Combine combine) {
  const DType type = e.inst().type;
  if (e.ResultLayout(0) != kNoLayout || !type.IsInteger()) return Binary(e);
  const auto facts_of = [&](size_t i) {
    const Operand& operand = e.inst().operand[i];
    if (operand.kind == Operand::Kind::kScalar) return e.scalars().ReadIndex(operand.value).facts;
    const ScalarValue value = e.scalars().Evaluate(operand.expr);
    return value.kind == ScalarKind::kInt ? Truncated(value.facts, type) : Facts::OfType(type);
  };
  return Binary(e, Truncated(combine(facts_of(0), facts_of(1)), type));
}

Slots Positions(Emitter& e, LayoutId layout, int dim) {
  Slots out;
  for (int64_t slot = 0; slot < e.layouts()[layout].slots(); ++slot) {
    out.push_back(e.layouts().ElementIndex(layout, slot, dim));
  }
  return out;
}

}  // namespace

// The index rounded to the type as a cast from i64 does it.
LOWER(Iota) {
  const int64_t axis = e.inst().axis;
  const DType type = e.program().type(e.inst().results[0]).dtype;
  const LayoutId layout = e.ResultLayout(0);
  Slots slots = Positions(e, layout, static_cast<int>(axis));
  for (llvm::Value*& slot : slots) slot = e.elements().Cast(slot, kI32, type);
  e.SetResult(0, slots);
  return OkStatus();
}

LOWER(Fill) {
  const DType type = e.program().type(e.inst().results[0]).dtype;
  llvm::Value* element = e.ScalarOperand(0);
  const DType from = e.inst().operand[0].type;
  if (from != type) element = e.elements().Cast(element, from, type);
  Finish(e, Slots(ResultSlots(e), element));
  return OkStatus();
}

LOWER(Rand) {
  llvm::IRBuilder<>& b = e.function().b();
  const IndexValue seed = e.scalars().Index(e.inst().operand[0].expr);
  const IndexValue offset = e.scalars().Index(e.inst().operand[1].expr);
  const LayoutId layout = e.ResultLayout(0);
  Slots slots;
  for (int64_t slot = 0; slot < e.layouts()[layout].slots(); ++slot) {
    llvm::Value* number = b.CreateZExt(e.layouts().LinearValue(layout, slot), b.getInt64Ty());
    slots.push_back(e.elements().Random(seed.value, b.CreateAdd(offset.value, number)));
  }
  e.SetResult(0, slots);
  return OkStatus();
}

LOWER(Neg) { return Unary(e); }
LOWER(Abs) { return Unary(e); }
LOWER(Not) { return Unary(e); }
LOWER(Sqrt) { return Unary(e); }
LOWER(Rsqrt) { return Unary(e); }
LOWER(Rcp) { return Unary(e); }
LOWER(Exp) { return Unary(e); }
LOWER(Exp2) { return Unary(e); }
LOWER(Log) { return Unary(e); }
LOWER(Log2) { return Unary(e); }
LOWER(Sin) { return Unary(e); }
LOWER(Cos) { return Unary(e); }
LOWER(Tanh) { return Unary(e); }
LOWER(Erf) { return Unary(e); }
LOWER(Floor) { return Unary(e); }
LOWER(Ceil) { return Unary(e); }
LOWER(Round) { return Unary(e); }
LOWER(Trunc) { return Unary(e); }
LOWER(Popc) { return Unary(e); }
LOWER(Clz) { return Unary(e); }

LOWER(Add) {
  return Index(e, [](const Facts& a, const Facts& b) { return a + b; });
}
LOWER(Sub) {
  return Index(e, [](const Facts& a, const Facts& b) { return a - b; });
}
LOWER(Mul) {
  return Index(e, [](const Facts& a, const Facts& b) { return a * b; });
}
LOWER(Div) { return Binary(e); }
LOWER(Rem) { return Binary(e); }
LOWER(Min) {
  return Index(e, [](const Facts& a, const Facts& b) { return Smaller(a, b); });
}
LOWER(Max) {
  return Index(e, [](const Facts& a, const Facts& b) { return Larger(a, b); });
}
LOWER(And) { return Binary(e); }
LOWER(Or) { return Binary(e); }
LOWER(Xor) { return Binary(e); }
LOWER(Shl) { return Binary(e); }
LOWER(Shr) { return Binary(e); }
LOWER(Eq) { return Binary(e); }
LOWER(Ne) { return Binary(e); }
LOWER(Lt) { return Binary(e); }
LOWER(Le) { return Binary(e); }
LOWER(Gt) { return Binary(e); }
LOWER(Ge) { return Binary(e); }

LOWER(Fma) {
  Finish(e, OnAllOperands(e, 3));
  return OkStatus();
}

LOWER(Select) {
  const size_t count = ResultSlots(e);
  const Slots condition = e.TileOperand(0, count);
  const Slots x = e.TileOperand(1, count);
  const Slots y = e.TileOperand(2, count);
  Slots out;
  for (size_t i = 0; i < count; ++i) {
    out.push_back(e.elements().Select(condition[i], x[i], y[i]));
  }
  Finish(e, out);
  return OkStatus();
}

}  // namespace tarsia::compiler
