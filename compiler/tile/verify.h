// Checks that a tile form keeps its rules, and what no pass may change. A fault is one of a pass,
// never of an author.
#ifndef TARSIA_COMPILER_TILE_VERIFY_H_
#define TARSIA_COMPILER_TILE_VERIFY_H_

#include <string>

#include "compiler/tile/form.h"
#include "isa/program.h"

namespace tarsia::compiler::tile {

// The first fault; empty if there is none. Checked are: every value has one definition, which is
// visible at each use; operations, operands, attributes and results fit their row of isa.def;
// regions stand where their owner says; carried values agree in number and type.
std::string FindFault(const Form& form);

// What no pass may change, and the form has otherwise than the program of which Build made it: the
// name of the kernel, its parameters, the grid, the number of warps, what launches guarantee, and
// whether contraction is allowed. Empty if there is nothing.
std::string FindChange(const Form& form, const Program& program);

}  // namespace tarsia::compiler::tile

#endif  // TARSIA_COMPILER_TILE_VERIFY_H_
