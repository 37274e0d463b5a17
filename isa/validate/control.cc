// Rules of the control family.
#include "isa/validate/rule_context.h"

namespace tarsia {
namespace {

void DefineIndex(RuleContext& check, const Inst& inst) {
  check.results.Define(inst, 0, ScalarType(check.pool.Type(kI32)));
}

bool Uses64Bits(RuleContext& check, ExprId id) {
  if (id.is_value()) {
    const auto dtype = check.pool.AsDType(check.context.type(id.value()).dtype);
    return dtype && dtype->bits == 64;
  }
  for (const ExprId child : check.pool.children(id)) {
    if (Uses64Bits(check, child)) return true;
  }
  return false;
}

}  // namespace

VALIDATE(BlockX) { DefineIndex(check, inst); }
VALIDATE(BlockY) { DefineIndex(check, inst); }
VALIDATE(BlockZ) { DefineIndex(check, inst); }
VALIDATE(GridX) { DefineIndex(check, inst); }
VALIDATE(GridY) { DefineIndex(check, inst); }
VALIDATE(GridZ) { DefineIndex(check, inst); }

// A single value is copied; anything else is a scalar expression, i32, f32 or bool by its kind
// unless the annotation names a type that can hold it.
VALIDATE(Mov) {
  CheckedOperand source = check.operands.Get(inst, 0);
  const TypeExpr note = check.annotations.Get(inst);
  const auto wanted = check.pool.AsDType(note.dtype);
  if (source.type != nullptr) {
    const auto have = check.pool.AsDType(source.type->dtype);
    const bool resize = source.type->kind == ValueKind::kScalar && wanted && have &&
                        wanted->IsInteger() && have->IsInteger();
    ValueType type = *source.type;
    if (resize) type.dtype = note.dtype;
    return check.results.Define(inst, 0, type);
  }
  source.constant = check.expressions.TypeOf(source.id, source.location);
  ExprId dtype = note.dtype;
  if (dtype.none()) {
    dtype = check.pool.Type(source.constant == ExprType::kBool    ? kBoolType
                            : source.constant == ExprType::kFloat ? kF32
                                                                  : kI32);
  }
  if (wanted && !Contains(TypeClass::kScalarType, *wanted)) {
    check.context.Error(diag::kScalarTypeNeeded, check.kernel.TypeLocation(inst),
                        DTypeName(*wanted));
    return;
  }
  if (!check.pool.UsesValues(source.id) && !check.operands.LiteralFits(source, dtype)) return;
  check.results.Define(inst, 0, ScalarType(dtype));
}

VALIDATE(For) {
  const TypeExpr note = check.annotations.Get(inst);
  const ExprId dtype = note.dtype.none() ? check.pool.Type(kI32) : note.dtype;
  const auto type = check.pool.AsDType(dtype);
  if (type && !Contains(TypeClass::kIntegerType, *type)) {
    check.context.Error(diag::kDTypeNotHere, check.kernel.TypeLocation(inst), "for",
                        "a counter of type " + std::string(DTypeName(*type)));
    return;
  }
  const CheckedOperand step = check.operands.Get(inst, 2);
  if (check.expressions.KnownInt(step.id, step.location) == 0) {
    check.context.Error(diag::kStepZero, step.location);
  }
  for (size_t i = 0; i < 3 && type && type->bits < 64; ++i) {
    const CheckedOperand bound = check.operands.Get(inst, i);
    if (!Uses64Bits(check, bound.id)) continue;
    const auto counter = check.kernel.ValueName(check.kernel.Results(inst)[0].value());
    check.context
        .Error(diag::kBoundType, bound.location, check.context.Text(bound.id).substr(1),
               "of 64 bits", DTypeName(*type))
        .help = "write the counter as `%" + std::string(counter) + ": i64`";
    break;
  }
  for (const Attr attr : {Attr::kUnroll, Attr::kPipeline}) {
    const auto value = check.attributes.KnownInt(inst, attr, 1);
    if (value && *value < 1) {
      check.context.Error(diag::kPositiveNeeded, check.kernel.AttrLocation(inst, attr),
                          Row(attr).text, 1, *value);
    }
  }
  check.results.Define(inst, 0, ScalarType(dtype));
}

VALIDATE(While) {}
VALIDATE(If) {}
VALIDATE(Exit) {}

VALIDATE(Assert) {
  const CheckedOperand condition = check.operands.Get(inst, 0);
  if (condition.type != nullptr) return;
  const ExprType kind = check.expressions.TypeOf(condition.id, condition.location);
  if (kind != ExprType::kBool && kind != ExprType::kUnknown) {
    check.context.Error(diag::kConditionType, condition.location, ExprTypeName(kind));
  }
}

VALIDATE(Print) {}

}  // namespace tarsia
