#include "isa/validate/value_types.h"

#include <algorithm>
#include <vector>

#include "isa/limits.h"

namespace tarsia {

ValueType ScalarType(ExprId dtype) {
  ValueType type;
  type.known = true;
  type.kind = ValueKind::kScalar;
  type.dtype = dtype;
  return type;
}

ValueType RegisterTile(ExprId dtype, ExprId shape) {
  return MemoryTile(Space::kRegister, dtype, shape);
}

ValueType MemoryTile(Space space, ExprId dtype, ExprId shape) {
  ValueType type = ScalarType(dtype);
  type.kind = ValueKind::kTile;
  type.space = space;
  type.shape = shape;
  return type;
}

std::optional<int64_t> Elements(const ExprPool& pool, ExprId shape) {
  int64_t n = 1;
  for (const ExprId extent : pool.children(shape)) {
    const auto e = pool.AsInt(extent);
    if (!e || *e < 0 || *e > kMaxExtent || __builtin_mul_overflow(n, *e, &n)) return std::nullopt;
  }
  return n;
}

bool Differ(const ExprPool& pool, ExprId a, ExprId b) {
  if (a == b) return false;
  const bool numbers = pool.AsInt(a) && pool.AsInt(b);
  const bool types = pool.AsDType(a) && pool.AsDType(b);
  return numbers || types;
}

bool ShapesDiffer(const ExprPool& pool, ExprId a, ExprId b) {
  if (a == b) return false;
  const auto x = pool.children(a);
  const auto y = pool.children(b);
  if (x.size() != y.size()) return true;
  for (size_t i = 0; i < x.size(); ++i) {
    if (Differ(pool, x[i], y[i])) return true;
  }
  return false;
}

bool SurelySameShape(const ExprPool& pool, ExprId a, ExprId b) {
  const auto x = pool.children(a);
  const auto y = pool.children(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

// ---- extents of 1 ----------------------------------------------------------------------------

namespace {

// The extent of the axis that has `after` axes behind it.
ExprId ExtentFromEnd(const ExprPool& pool, ExprId shape, size_t after) {
  const size_t rank = Rank(pool, shape);
  return after < rank ? Extent(pool, shape, rank - 1 - after) : ExprId::Small(1);
}

bool IsOne(const ExprPool& pool, ExprId extent) { return pool.AsInt(extent) == 1; }

}  // namespace

ExtentPair ExtentsInConflict(const ExprPool& pool, ExprId a, ExprId b) {
  if (a == b) return {};
  for (size_t after = std::max(Rank(pool, a), Rank(pool, b)); after-- > 0;) {
    const ExprId x = ExtentFromEnd(pool, a, after);
    const ExprId y = ExtentFromEnd(pool, b, after);
    if (!IsOne(pool, x) && !IsOne(pool, y) && Differ(pool, x, y)) return {x, y};
  }
  return {};
}

ExprId BroadcastShape(ExprPool& pool, ExprId a, ExprId b) {
  if (a == b) return a;
  std::vector<ExprId> extents;
  for (size_t after = std::max(Rank(pool, a), Rank(pool, b)); after-- > 0;) {
    const ExprId x = ExtentFromEnd(pool, a, after);
    const ExprId y = ExtentFromEnd(pool, b, after);
    // An extent that is open is 1 or the number.
    const bool takes_y = IsOne(pool, x) || (!pool.AsInt(x) && pool.AsInt(y) && !IsOne(pool, y));
    extents.push_back(takes_y ? y : x);
  }
  return pool.List(extents);
}

// ---- layouts ---------------------------------------------------------------------------------

bool SurelyExceeds(const ExprPool& pool, ExprId shape, const Extents& layout) {
  const auto extents = pool.children(shape);
  if (extents.size() != layout.size()) return true;
  for (size_t d = 0; d < layout.size(); ++d) {
    const auto extent = pool.AsInt(extents[d]);
    if (extent && *extent > layout[d]) return true;
  }
  return false;
}

bool SurelyPadded(const ExprPool& pool, ExprId shape, const Extents& layout) {
  const auto extents = pool.children(shape);
  for (size_t d = 0; d < layout.size(); ++d) {
    const auto extent = pool.AsInt(extents[d]);
    if (extent && *extent < layout[d]) return true;
  }
  return false;
}

}  // namespace tarsia
