// Types and shapes of values while constants may be open: making and comparing them. Comparisons
// have three outcomes then: what is not certainly different may still turn out equal.
#ifndef TARSIA_ISA_VALIDATE_VALUE_TYPES_H_
#define TARSIA_ISA_VALIDATE_VALUE_TYPES_H_

#include <optional>

#include "isa/validate.h"
#include "layout/reg_layout.h"

namespace tarsia {

ValueType ScalarType(ExprId dtype);
ValueType RegisterTile(ExprId dtype, ExprId shape);
ValueType MemoryTile(Space space, ExprId dtype, ExprId shape);

// A shape is a list of extents.
inline size_t Rank(const ExprPool& pool, ExprId shape) { return pool.children(shape).size(); }
inline ExprId Extent(const ExprPool& pool, ExprId shape, size_t dim) {
  return pool.children(shape)[dim];
}
// The number of elements; nothing while it is open.
std::optional<int64_t> Elements(const ExprPool& pool, ExprId shape);

// Two numbers or element types are certainly different.
bool Differ(const ExprPool& pool, ExprId a, ExprId b);
// The same of ranks or of an extent.
bool ShapesDiffer(const ExprPool& pool, ExprId a, ExprId b);
// The same of every extent: certainly one shape.
bool SurelySameShape(const ExprPool& pool, ExprId a, ExprId b);

// Two shapes are one where extents of 1 are repeated: axes are counted from the last one, and the
// axes that the shorter shape lacks have extent 1. This is the rule for elementwise operands.
//
// The first extents that certainly cannot be one; none, none if there are no such extents.
struct ExtentPair {
  ExprId a, b;
};
ExtentPair ExtentsInConflict(const ExprPool& pool, ExprId a, ExprId b);
// The shape that two shapes without conflict have in common.
ExprId BroadcastShape(ExprPool& pool, ExprId a, ExprId b);

// Whether a register layout of shape `layout` surely does not contain a tile's shape: another rank,
// or an extent that is known and larger than the layout's.
bool SurelyExceeds(const ExprPool& pool, ExprId shape, const Extents& layout);
// Whether it surely has more elements than the tile.
bool SurelyPadded(const ExprPool& pool, ExprId shape, const Extents& layout);

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_VALUE_TYPES_H_
