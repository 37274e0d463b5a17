// Rules of the elementwise family: one element type, one shape, one written layout; scalars and
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

// Checks operands [first, count) against each other. Returns the type they share, as a tile if one
// of them is a tile; empty after an error.
std::optional<ValueType> Join(RuleContext& check, const Inst& inst, size_t first, size_t count) {
  std::optional<CheckedOperand> typed, tile;
  bool ok = true;
  for (size_t i = first; i < count; ++i) {
    const CheckedOperand operand = check.operands.Get(inst, i);
    if (operand.type == nullptr) continue;
    if (typed) ok &= check.operands.SameDType(inst, *typed, operand);
    if (!typed) typed = operand;
    if (!operand.IsTile()) continue;
    if (tile) {
      ok &= check.operands.SameShape(inst, *tile, operand) &&
            check.operands.SameLayout(inst, *tile, operand);
    } else {
      tile = operand;
    }
  }
  if (!ok) return std::nullopt;
  const ExprId dtype =
      typed ? typed->type->dtype : TypeOfConstant(check, check.operands.Get(inst, first));
  for (size_t i = first; i < count; ++i) {
    CheckedOperand operand = check.operands.Get(inst, i);
    if (operand.type != nullptr) continue;
    operand.constant = check.expressions.TypeOf(operand.id, operand.location);
    const auto type = check.pool.AsDType(dtype);
    const TypeClass types = Row(inst.opcode).operands[i].types;
    if (type && !Contains(types, *type)) {
      check.context.Error(diag::kOperandType, operand.location, operand.name,
                          Row(inst.opcode).mnemonic, Describe(types), DTypeName(*type));
      return std::nullopt;
    }
    if (!check.operands.LiteralFits(operand, dtype)) return std::nullopt;
  }
  ValueType out = tile ? *tile->type : ScalarType(dtype);
  out.bits = ExprId();
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

void Elementwise(RuleContext& check, const Inst& inst) {
  const InstRow& row = Row(inst.opcode);
  const auto type = Join(check, inst, 0, row.operands.size());
  if (!type) return;
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
  auto type = Join(check, inst, 1, 3);
  if (!type) return;
  if (condition.IsTile()) {
    for (size_t i = 1; i < 3; ++i) {
      const CheckedOperand operand = check.operands.Get(inst, i);
      if (!check.operands.SameShape(inst, condition, operand) ||
          !check.operands.SameLayout(inst, condition, operand)) {
        return;
      }
    }
    if (type->kind == ValueKind::kScalar) {
      const ExprId dtype = type->dtype;
      type = *condition.type;
      type->dtype = dtype;
    }
  }
  DefineLike(check, inst, *type, type->dtype);
}

}  // namespace tarsia
