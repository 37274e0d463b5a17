// Rules of the mma family.
#include "isa/validate/rule_context.h"

namespace tarsia {
namespace {

// The accumulator type of products of the two types; empty if they cannot be combined.
std::optional<DType> AccumulatorOf(DType a, DType b) {
  const bool small = a.IsFloat() && b.IsFloat() && a.bits == 8 && b.bits == 8;
  const bool integers = a.IsInteger() && b.IsInteger();
  if (integers) return kI32;
  if (small) return kF32;
  if (a != b) return std::nullopt;
  if (a.IsComplex()) return kC64;
  return a == kF64 ? kF64 : kF32;
}

// Whether a [m, k], b [k, n] and c [m, n] have these shapes; or all of them a batch of such, as an
// axis in front.
bool AreProduct(const ExprPool& pool, ExprId a, ExprId b, ExprId c) {
  const size_t rank = Rank(pool, c);
  if ((rank != 2 && rank != 3) || Rank(pool, a) != rank || Rank(pool, b) != rank) return false;
  const size_t row = rank - 2, column = rank - 1;
  const auto same = [&](ExprId x, size_t i, ExprId y, size_t j) {
    return !Differ(pool, Extent(pool, x, i), Extent(pool, y, j));
  };
  const bool batches = rank == 2 || (same(a, 0, c, 0) && same(b, 0, c, 0));
  return batches && same(a, row, c, row) && same(a, column, b, row) && same(b, column, c, column);
}

}  // namespace

VALIDATE(Dot) {
  const CheckedOperand a = check.operands.Get(inst, 0);
  const CheckedOperand b = check.operands.Get(inst, 1);
  const CheckedOperand c = check.operands.Get(inst, 2);
  const ExprId sa = a.type->shape, sb = b.type->shape, sc = c.type->shape;
  const ExprPool& pool = check.pool;
  if (!AreProduct(pool, sa, sb, sc)) {
    check.context.Error(diag::kDotShapes, check.kernel.LocationOf(inst), check.context.Text(sa),
                        check.context.Text(sb), check.context.Text(sc));
    return;
  }
  const auto ta = pool.AsDType(a.type->dtype);
  const auto tb = pool.AsDType(b.type->dtype);
  const auto tc = pool.AsDType(c.type->dtype);
  if (ta && tb && tc && AccumulatorOf(*ta, *tb) != *tc) {
    Diagnostic& error = check.context.Error(diag::kDotTypes, check.kernel.LocationOf(inst),
                                            DTypeName(*ta), DTypeName(*tb), DTypeName(*tc));
    const auto right = AccumulatorOf(*ta, *tb);
    error.help = right ? "they accumulate in " + std::string(DTypeName(*right))
                       : "`cast` one of them to the type of the other";
    return;
  }
  check.results.Define(inst, 0, RegisterTile(c.type->dtype, sc));
}

}  // namespace tarsia
