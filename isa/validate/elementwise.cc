// Rules of the elementwise family: one element type; shapes that are one where extents of 1 are
// repeated; one written layout of the tiles that have the shape of the result. Scalars and
// constants are combined with every element.
#include "isa/validate/rule_context.h"

namespace tarsia {
namespace {

ExprId TypeOfConstant(RuleContext& check, const CheckedOperand& operand) {
  const ExprType kind = check.expressions.TypeOf(operand.id, operand.location);
  return check.pool.Type(kind == ExprType::kBool    ? kBoolType
                         : kind == ExprType::kFloat ? kF32
                                                    : kI32);
}

// False after an error: an operand that is a constant is no value of the element type.
bool ConstantFits(RuleContext& check, const Inst& inst, size_t i, ExprId dtype) {
  CheckedOperand operand = check.operands.Get(inst, i);
  if (operand.type != nullptr) return true;
  operand.constant = check.expressions.TypeOf(operand.id, operand.location);
  const auto type = check.pool.AsDType(dtype);
  const TypeClass types = Row(inst.opcode).operands[i].types;
  if (type && !Contains(types, *type)) {
    check.context.Error(diag::kOperandType, operand.location, operand.name,
                        Row(inst.opcode).mnemonic, Describe(types), DTypeName(*type));
    return false;
  }
  return check.operands.LiteralFits(operand, dtype);
}

// The tiles among the operands of an instruction as one.
struct Combined {
  ExprId shape;   // none: no operand is a tile
  ExprId layout;  // of the first tile that has this shape; none where not written
};

// Empty after an error.
std::optional<Combined> CombineTiles(RuleContext& check, const Inst& inst) {
  FixedList<CheckedOperand, kMaxOperands> tiles;
  for (size_t i = 0; i < Row(inst.opcode).operands.size(); ++i) {
    const CheckedOperand operand = check.operands.Get(inst, i);
    if (operand.IsTile()) tiles.items[tiles.count++] = operand;
  }
  Combined out;
  for (size_t i = 0; i < tiles.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!check.operands.ShapesCombine(inst, tiles[j], tiles[i])) return std::nullopt;
    }
    const ExprId shape = tiles[i].type->shape;
    out.shape = i == 0 ? shape : BroadcastShape(check.pool, out.shape, shape);
  }
  const CheckedOperand* first = nullptr;
  for (const CheckedOperand& tile : tiles) {
    if (!SurelySameShape(check.pool, tile.type->shape, out.shape)) continue;
    if (first == nullptr) first = &tile;
    if (!check.operands.SameLayout(inst, *first, tile)) return std::nullopt;
  }
  if (first != nullptr) out.layout = first->type->layout;
  return out;
}

// Checks the element types of operands [first, count) against each other, and the shapes of all.
// Returns the type they share, as a tile if an operand is one; empty after an error.
std::optional<ValueType> Join(RuleContext& check, const Inst& inst, size_t first) {
  const size_t count = Row(inst.opcode).operands.size();
  std::optional<CheckedOperand> typed;
  bool ok = true;
  for (size_t i = first; i < count; ++i) {
    const CheckedOperand operand = check.operands.Get(inst, i);
    if (operand.type == nullptr) continue;
    if (typed) ok &= check.operands.SameDType(inst, *typed, operand);
    if (!typed) typed = operand;
  }
  const std::optional<Combined> combined = CombineTiles(check, inst);
  if (!ok || !combined) return std::nullopt;
  const ExprId dtype =
      typed ? typed->type->dtype : TypeOfConstant(check, check.operands.Get(inst, first));
  for (size_t i = first; i < count; ++i) {
    if (!ConstantFits(check, inst, i, dtype)) return std::nullopt;
  }
  if (combined->shape.none()) return ScalarType(dtype);
  ValueType out = RegisterTile(dtype, combined->shape);
  out.layout = combined->layout;
  return out;
}

// The result has the written layout of the operands unless it has its own, which must agree.
void DefineLike(RuleContext& check, const Inst& inst, ValueType type, ExprId dtype) {
  const ExprId operand_layout = type.layout;
  type.dtype = dtype;
  type.layout = ExprId();
  const ExprId own = check.annotations.Get(inst).layout;
  if (!check.layouts.Agree(inst, operand_layout, "the operands", own, "the result",
                           check.kernel.TypeLocation(inst))) {
    return;
  }
  check.results.Define(inst, 0, type);
}

// The GPU's own forms are of f32, and of halves by way of it.
bool FastFits(RuleContext& check, const Inst& inst, ExprId dtype) {
  const auto type = check.pool.AsDType(dtype);
  if (!type || HasFastForms(*type) || !check.kernel.HasAttr(inst, Attr::kFast)) return true;
  check.context.Error(diag::kFastType, check.kernel.AttrLocation(inst, Attr::kFast),
                      Row(inst.opcode).mnemonic, DTypeName(*type));
  return false;
}

void Elementwise(RuleContext& check, const Inst& inst) {
  const InstRow& row = Row(inst.opcode);
  const auto type = Join(check, inst, 0);
  if (!type || !FastFits(check, inst, type->dtype)) return;
  DefineLike(check, inst, *type, row.Has(kCompares) ? check.pool.Type(kBoolType) : type->dtype);
}

void Made(RuleContext& check, const Inst& inst, TypeClass types) {
  const TypeExpr note = check.annotations.Get(inst);
  const auto dtype = check.pool.AsDType(note.dtype);
  if (dtype && !Contains(types, *dtype)) {
    check.context
        .Error(diag::kDTypeNotHere, check.kernel.TypeLocation(inst), Row(inst.opcode).mnemonic,
               DTypeName(*dtype))
        .help = "it gives " + std::string(Describe(types));
    return;
  }
  check.results.Define(inst, 0, RegisterTile(note.dtype, note.shape));
}

}  // namespace

VALIDATE(Iota) {
  const size_t rank = Rank(check.pool, check.annotations.Get(inst).shape);
  if (!check.attributes.Axis(inst, std::max<size_t>(1, rank))) return;
  Made(check, inst, TypeClass::kArithmeticType);
}

VALIDATE(Fill) {
  CheckedOperand element = check.operands.Get(inst, 0);
  const TypeExpr note = check.annotations.Get(inst);
  if (element.type == nullptr) {
    element.constant = check.expressions.TypeOf(element.id, element.location);
    if (!check.operands.LiteralFits(element, note.dtype)) return;
  }
  Made(check, inst, TypeClass::kAnyType);
}

VALIDATE(Rand) { Made(check, inst, TypeClass::kRandomType); }

VALIDATE(Neg) { Elementwise(check, inst); }
VALIDATE(Abs) { Elementwise(check, inst); }
VALIDATE(Not) { Elementwise(check, inst); }
VALIDATE(Sqrt) { Elementwise(check, inst); }
VALIDATE(Rsqrt) { Elementwise(check, inst); }
VALIDATE(Rcp) { Elementwise(check, inst); }
VALIDATE(Exp) { Elementwise(check, inst); }
VALIDATE(Exp2) { Elementwise(check, inst); }
VALIDATE(Log) { Elementwise(check, inst); }
VALIDATE(Log2) { Elementwise(check, inst); }
VALIDATE(Sin) { Elementwise(check, inst); }
VALIDATE(Cos) { Elementwise(check, inst); }
VALIDATE(Tanh) { Elementwise(check, inst); }
VALIDATE(Erf) { Elementwise(check, inst); }
VALIDATE(Floor) { Elementwise(check, inst); }
VALIDATE(Ceil) { Elementwise(check, inst); }
VALIDATE(Round) { Elementwise(check, inst); }
VALIDATE(Trunc) { Elementwise(check, inst); }
VALIDATE(Popc) { Elementwise(check, inst); }
VALIDATE(Clz) { Elementwise(check, inst); }
VALIDATE(Add) { Elementwise(check, inst); }
VALIDATE(Sub) { Elementwise(check, inst); }
VALIDATE(Mul) { Elementwise(check, inst); }
VALIDATE(Div) { Elementwise(check, inst); }
VALIDATE(Rem) { Elementwise(check, inst); }
VALIDATE(Min) { Elementwise(check, inst); }
VALIDATE(Max) { Elementwise(check, inst); }
VALIDATE(And) { Elementwise(check, inst); }
VALIDATE(Or) { Elementwise(check, inst); }
VALIDATE(Xor) { Elementwise(check, inst); }
VALIDATE(Shl) { Elementwise(check, inst); }
VALIDATE(Shr) { Elementwise(check, inst); }
VALIDATE(Eq) { Elementwise(check, inst); }
VALIDATE(Ne) { Elementwise(check, inst); }
VALIDATE(Lt) { Elementwise(check, inst); }
VALIDATE(Le) { Elementwise(check, inst); }
VALIDATE(Gt) { Elementwise(check, inst); }
VALIDATE(Ge) { Elementwise(check, inst); }
VALIDATE(Fma) { Elementwise(check, inst); }

VALIDATE(Select) {
  const CheckedOperand condition = check.operands.Get(inst, 0);
  if (condition.type == nullptr) {
    const ExprType kind = check.expressions.TypeOf(condition.id, condition.location);
    if (kind != ExprType::kBool && kind != ExprType::kUnknown) {
      check.context.Error(diag::kConditionType, condition.location, ExprTypeName(kind));
      return;
    }
  }
  const auto type = Join(check, inst, 1);
  if (!type) return;
  DefineLike(check, inst, *type, type->dtype);
}

}  // namespace tarsia
