// Equality of types.
#ifndef TARSIA_COMPILER_TILE_SAME_TYPE_H_
#define TARSIA_COMPILER_TILE_SAME_TYPE_H_

#include "isa/program.h"

namespace tarsia::compiler::tile {

// Of scalars and register tiles: whether one variable can hold values of both types.
inline bool SameType(const ConcreteType& a, const ConcreteType& b) {
  return a.kind == b.kind && a.space == b.space && a.dtype == b.dtype && a.shape == b.shape &&
         a.reg_layout == b.reg_layout && a.bit_layout == b.bit_layout;
}

// Whether a variable may be assigned again.
inline bool CanBeCarried(const ConcreteType& type) {
  return type.kind == ValueKind::kScalar || IsRegisterTile(type);
}

}  // namespace tarsia::compiler::tile

#endif  // TARSIA_COMPILER_TILE_SAME_TYPE_H_
