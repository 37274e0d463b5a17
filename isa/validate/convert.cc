// Rules of the convert family.
#include <utility>

#include "isa/validate/rule_context.h"
#include "layout/diagnostics.h"

namespace tarsia {
namespace {

bool CheckCastTypes(RuleContext& check, const Inst& inst, const ValueType& source, ExprId to) {
  const auto from = check.pool.AsDType(source.dtype);
  const auto dtype = check.pool.AsDType(to);
  if (!from || !dtype) return true;
  if (from->IsComplex() && !dtype->IsComplex()) {
    check.context.Error(diag::kCastComplex, check.kernel.TypeLocation(inst), DTypeName(*from),
                        DTypeName(*dtype));
    return false;
  }
  if (source.kind == ValueKind::kScalar && !Contains(TypeClass::kScalarType, *dtype)) {
    check.context.Error(diag::kScalarTypeNeeded, check.kernel.TypeLocation(inst),
                        DTypeName(*dtype));
    return false;
  }
  if (check.kernel.HasAttr(inst, Attr::kWrap) && !(dtype->IsInteger() && from->IsInteger())) {
    check.context
        .Error(diag::kCastAttributes, check.kernel.AttrLocation(inst, Attr::kWrap), "wrap",
               "a cast from " + std::string(DTypeName(*from)) + " to " +
                   std::string(DTypeName(*dtype)))
        .help = "it is for casts from integer to integer";
    return false;
  }
  return true;
}

bool CheckFinite(RuleContext& check, const Inst& inst, const ValueType& source) {
  const auto from = check.pool.AsDType(source.dtype);
  if (!from || !check.kernel.HasAttr(inst, Attr::kFinite)) return true;
  if (from->IsFloat() || from->IsExponent()) return true;
  check.context
      .Error(diag::kCastAttributes, check.kernel.AttrLocation(inst, Attr::kFinite), "finite",
             "a cast from " + std::string(DTypeName(*from)))
      .help = "it is for casts from floating-point types";
  return false;
}

bool CheckCastAttributes(RuleContext& check, const Inst& inst) {
  const bool sat = check.kernel.HasAttr(inst, Attr::kSat);
  const bool nosat = check.kernel.HasAttr(inst, Attr::kNoSat);
  const bool wrap = check.kernel.HasAttr(inst, Attr::kWrap);
  if (sat && nosat) {
    check.context.Error(diag::kCastAttributes, check.kernel.AttrLocation(inst, Attr::kNoSat),
                        "nosat", "`sat`");
  } else if (wrap && (sat || nosat)) {
    check.context.Error(diag::kCastAttributes, check.kernel.AttrLocation(inst, Attr::kWrap), "wrap",
                        sat ? "`sat`" : "`nosat`");
  } else {
    return true;
  }
  return false;
}

// Defines the result: the source with another type of elements, whose layouts are open.
void DefineOfType(RuleContext& check, const Inst& inst, ValueType source, ExprId dtype) {
  source.dtype = dtype;
  source.layout = ExprId();
  source.bits = ExprId();
  check.results.Define(inst, 0, source);
}

// Defines the result, whose type follows from that of the operands.
void GiveType(RuleContext& check, const Inst& inst, DType (*type_of)(DType)) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  const TypeExpr note = check.annotations.Get(inst);
  const auto from = check.pool.AsDType(source.type->dtype);
  const auto to = check.pool.AsDType(note.dtype);
  if (from && to && *to != type_of(*from)) {
    check.context.Error(diag::kPartsType, check.kernel.TypeLocation(inst),
                        Row(inst.opcode).mnemonic, DTypeName(*from), DTypeName(type_of(*from)),
                        DTypeName(*to));
    return;
  }
  DefineOfType(check, inst, *source.type, note.dtype);
}

}  // namespace

VALIDATE(Cast) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  const CheckedOperand random = check.operands.Get(inst, 1);
  const TypeExpr note = check.annotations.Get(inst);
  if (source.type == nullptr) {
    check.context
        .Error(diag::kOperandKind, source.location, source.name, "cast", "a tile or a scalar",
               "`" + check.context.Text(source.id) + "`", check.operands.Describe(source))
        .help = "`mov` makes a scalar of any type from an expression, `fill` a tile";
    return;
  }
  const bool stochastic = check.attributes.Word(inst, Attr::kRounding) == "stochastic";
  if (stochastic != random.present() || (stochastic && !source.IsTile())) {
    check.context.Error(diag::kStochasticRandom, check.kernel.LocationOf(inst));
    return;
  }
  if (random.present() && (!check.operands.SameShape(inst, source, random) ||
                           !check.operands.SameLayout(inst, source, random))) {
    return;
  }
  if (!CheckCastAttributes(check, inst) || !CheckFinite(check, inst, *source.type) ||
      !CheckCastTypes(check, inst, *source.type, note.dtype)) {
    return;
  }
  DefineOfType(check, inst, *source.type, note.dtype);
}

VALIDATE(Unpack) {
  const CheckedOperand codes = check.operands.Get(inst, 0);
  const TypeExpr note = check.annotations.Get(inst);
  const auto compute = check.pool.AsDType(note.dtype);
  const auto type = check.pool.AsDType(codes.type->dtype);
  if (codes.type->bits.none()) {
    check.context.Error(diag::kUnpackBits, codes.location);
    return;
  }
  if (compute && type) {
    if (Status possible = CheckUnpack(*type, *compute); !possible.ok()) {
      Diagnostic error = possible.TakeError();
      error.location = check.kernel.TypeLocation(inst);
      check.context.Add(std::move(error));
      return;
    }
  }
  const EvalValue* bits = check.expressions.TryEvaluate(codes.type->bits, codes.location);
  const auto* order = bits != nullptr ? std::get_if<BitLayoutFamily>(bits) : nullptr;
  if (compute && order != nullptr && order->order == BitOrder::kLanes &&
      order->compute != *compute) {
    check.context.Error(diag::kUnpackCompute, check.kernel.TypeLocation(inst),
                        DTypeName(order->compute), DTypeName(*compute));
    return;
  }
  ValueType result = *codes.type;
  result.dtype = note.dtype;
  result.layout = ExprId();
  result.bits = ExprId();
  check.results.Define(inst, 0, result);
  check.results.Define(inst, 1, result);
}

VALIDATE(Real) { GiveType(check, inst, &ComponentOf); }
VALIDATE(Imag) { GiveType(check, inst, &ComponentOf); }
VALIDATE(Complex) {
  const CheckedOperand re = check.operands.Get(inst, 0);
  const CheckedOperand im = check.operands.Get(inst, 1);
  if (!check.operands.SameDType(inst, re, im) || !check.operands.SameShape(inst, re, im) ||
      !check.operands.SameLayout(inst, re, im)) {
    return;
  }
  GiveType(check, inst, &ComplexOf);
}

VALIDATE(Lookup) {
  const CheckedOperand codes = check.operands.Get(inst, 0);
  const CheckedOperand table = check.operands.Get(inst, 1);
  if (const auto type = check.pool.AsDType(codes.type->dtype)) {
    const std::vector<ExprId> extent = {ExprId::Small(1 << type->bits)};
    const ExprId wanted = check.pool.List(extent);
    if (ShapesDiffer(check.pool, wanted, table.type->shape)) {
      check.context.Error(diag::kTableShape, table.location, 1 << type->bits, DTypeName(*type),
                          check.context.Text(table.type->shape));
      return;
    }
  }
  check.results.Define(inst, 0, RegisterTile(table.type->dtype, codes.type->shape));
}

}  // namespace tarsia
