// Checks that a tile form keeps its rules. A fault is one of a pass, never of an author.
#ifndef TARSIA_COMPILER_TILE_VERIFY_H_
#define TARSIA_COMPILER_TILE_VERIFY_H_

#include <string>

#include "compiler/tile/form.h"

namespace tarsia::compiler::tile {

// The first fault; empty if there is none. Checked are: every value has one definition, which is
// visible at each use; operations, operands, attributes and results fit their row of isa.def;
// regions stand where their owner says; carried values agree in number and type.
std::string FindFault(const Form& form);

}  // namespace tarsia::compiler::tile

#endif  // TARSIA_COMPILER_TILE_VERIFY_H_
