// Rules of the mma family.
#include "isa/validate/checker.h"

namespace tarsia {
namespace {

// What products of the two types accumulate in; nothing where they do not go together.
std::optional<DType> AccumulatorOf(DType a, DType b) {
  const bool small = a.IsFloat() && b.IsFloat() && a.bits == 8 && b.bits == 8;
  const bool integers = a.IsInteger() && b.IsInteger();
  if (integers) return kI32;
  if (small) return kF32;
  if (a != b) return std::nullopt;
  if (a.IsComplex()) return kC64;
  return a == kF64 ? kF64 : kF32;
}

}  // namespace

VALIDATE(Dot) {
  const Checker::Operand a = check.Get(inst, 0);
  const Checker::Operand b = check.Get(inst, 1);
  const Checker::Operand c = check.Get(inst, 2);
  const ExprId sa = a.type->shape, sb = b.type->shape, sc = c.type->shape;
  const bool fits = check.Rank(sa) == 2 && check.Rank(sb) == 2 && check.Rank(sc) == 2 &&
                    !check.Differ(check.Extent(sa, 0), check.Extent(sc, 0)) &&
                    !check.Differ(check.Extent(sa, 1), check.Extent(sb, 0)) &&
                    !check.Differ(check.Extent(sb, 1), check.Extent(sc, 1));
  if (!fits) {
    check.Error(diag::kDotShapes, check.At(inst), check.Text(sa), check.Text(sb), check.Text(sc));
    return;
  }
  const auto ta = check.DTypeOf(a.type->dtype);
  const auto tb = check.DTypeOf(b.type->dtype);
  const auto tc = check.DTypeOf(c.type->dtype);
  if (ta && tb && tc && AccumulatorOf(*ta, *tb) != *tc) {
    Diagnostic& error = check.Error(diag::kDotTypes, check.At(inst), DTypeName(*ta), DTypeName(*tb),
                                    DTypeName(*tc));
    const auto right = AccumulatorOf(*ta, *tb);
    error.help = right ? "they accumulate in " + std::string(DTypeName(*right))
                       : "`cast` one of them to the type of the other";
    return;
  }
  check.Define(inst, 0, check.RegisterTile(c.type->dtype, sc));
}

}  // namespace tarsia
