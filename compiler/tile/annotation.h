// What the text says after `:` of an instruction that gives a tile.
#ifndef TARSIA_COMPILER_TILE_ANNOTATION_H_
#define TARSIA_COMPILER_TILE_ANNOTATION_H_

#include "isa/module.h"
#include "isa/program.h"
#include "layout/text/expr.h"

namespace tarsia::compiler::tile {

// Sets the shape and the layouts, which have to be constant; an open one is left out.
void AnnotateLayout(const ConcreteType& type, ExprPool& pool, TypeExpr& annotation);
// All of it: also the space of a tile in memory, and the element type.
TypeExpr AnnotationOf(const ConcreteType& type, ExprPool& pool);

}  // namespace tarsia::compiler::tile

#endif  // TARSIA_COMPILER_TILE_ANNOTATION_H_
