// Rules of the convert family.
#include "isa/validate/checker.h"
#include "layout/diagnostics.h"

namespace tarsia {
namespace {

bool CheckCastTypes(Checker& check, const Inst& inst, const ValueType& source, ExprId to) {
  const auto from = check.DTypeOf(source.dtype);
  const auto dtype = check.DTypeOf(to);
  if (!from || !dtype) return true;
  if (from->IsComplex() && !dtype->IsComplex()) {
    check.Error(diag::kCastComplex, check.AtType(inst), DTypeName(*from), DTypeName(*dtype));
    return false;
  }
  if (source.kind == ValueKind::kScalar && !Contains(TypeClass::kScalarType, *dtype)) {
    check.Error(diag::kScalarTypeNeeded, check.AtType(inst), DTypeName(*dtype));
    return false;
  }
  if (check.Flag(inst, Attr::kWrap) && !(dtype->IsInteger() && from->IsInteger())) {
    check
        .Error(diag::kCastAttributes, check.AtAttr(inst, Attr::kWrap), "wrap",
               "a cast from " + std::string(DTypeName(*from)) + " to " +
                   std::string(DTypeName(*dtype)))
        .help = "it is for casts from integer to integer";
    return false;
  }
  return true;
}

bool CheckCastAttributes(Checker& check, const Inst& inst) {
  const bool sat = check.Flag(inst, Attr::kSat);
  const bool nosat = check.Flag(inst, Attr::kNoSat);
  const bool wrap = check.Flag(inst, Attr::kWrap);
  if (sat && nosat) {
    check.Error(diag::kCastAttributes, check.AtAttr(inst, Attr::kNoSat), "nosat", "`sat`");
  } else if (wrap && (sat || nosat)) {
    check.Error(diag::kCastAttributes, check.AtAttr(inst, Attr::kWrap), "wrap",
                sat ? "`sat`" : "`nosat`");
  } else {
    return true;
  }
  return false;
}

}  // namespace

VALIDATE(Cast) {
  const Checker::Operand source = check.Get(inst, 0);
  const Checker::Operand random = check.Get(inst, 1);
  const TypeExpr note = check.Annotation(inst);
  if (source.type == nullptr) {
    check
        .Error(diag::kOperandKind, source.location, source.name, "cast", "a tile or a scalar",
               "`" + check.Text(source.id) + "`", "a constant")
        .help = "`mov` and `fill` make a constant of any type";
    return;
  }
  const bool stochastic = check.Word(inst, Attr::kRounding) == "stochastic";
  if (stochastic != random.present() || (stochastic && !source.IsTile())) {
    check.Error(diag::kStochasticRandom, check.At(inst));
    return;
  }
  if (random.present() &&
      (!check.SameShape(inst, source, random) || !check.SameLayout(inst, source, random))) {
    return;
  }
  if (!CheckCastAttributes(check, inst) || !CheckCastTypes(check, inst, *source.type, note.dtype)) {
    return;
  }
  ValueType type = *source.type;
  type.dtype = note.dtype;
  type.layout = ExprId();
  type.bits = ExprId();
  check.Define(inst, 0, type);
}

VALIDATE(Unpack) {
  const Checker::Operand codes = check.Get(inst, 0);
  const TypeExpr note = check.Annotation(inst);
  const auto compute = check.DTypeOf(note.dtype);
  const auto type = check.DTypeOf(codes.type->dtype);
  if (codes.type->bits.none()) {
    check.Error(diag::kUnpackBits, codes.location);
    return;
  }
  if (compute && *compute != kF16 && *compute != kBF16) {
    check.Error(diag::kUnpackType, check.AtType(inst), DTypeName(*compute));
    return;
  }
  if (compute && type && *compute == kF16 && type->IsFloat() && type->exponent > 5) {
    check.Error(diag::kUnpackRange, check.AtType(inst), DTypeName(*type), "f16");
    return;
  }
  const EvalValue* bits = check.TryEvaluate(codes.type->bits, codes.location);
  const auto* order = bits != nullptr ? std::get_if<BitLayoutFamily>(bits) : nullptr;
  if (compute && order != nullptr && order->order == BitOrder::kLanes &&
      order->compute != *compute) {
    check.Error(diag::kUnpackCompute, check.AtType(inst), DTypeName(order->compute),
                DTypeName(*compute));
    return;
  }
  ValueType result = *codes.type;
  result.dtype = note.dtype;
  result.layout = ExprId();
  result.bits = ExprId();
  check.Define(inst, 0, result);
  check.Define(inst, 1, result);
}

}  // namespace tarsia
