// The first pass: a program in tile form.
#ifndef TARSIA_COMPILER_TILE_BUILD_H_
#define TARSIA_COMPILER_TILE_BUILD_H_

#include "compiler/tile/form.h"
#include "isa/program.h"

namespace tarsia::compiler::tile {

// Each assignment of a variable becomes a value of its own, with the variable's name; only what is
// used later is carried. Decides nothing: ToProgram of the result is the same program. Parameter i
// is value i. The time is that of the program's size times the depth of its blocks.
Form Build(const Program& program);

}  // namespace tarsia::compiler::tile

#endif  // TARSIA_COMPILER_TILE_BUILD_H_
