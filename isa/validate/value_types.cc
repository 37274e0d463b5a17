#include "isa/validate/value_types.h"

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
