// From the tile form back to the language.
#ifndef TARSIA_COMPILER_TILE_TO_PROGRAM_H_
#define TARSIA_COMPILER_TILE_TO_PROGRAM_H_

#include "compiler/tile/form.h"
#include "isa/program.h"
#include "isa/specialise.h"
#include "support/result.h"

namespace tarsia::compiler::tile {

// A module of one kernel without constants, with the names and locations that the form has. The
// form must have no fault (verify.h).
Module ToModule(const Form& form);

// The same, validated and specialised. An error means that a pass made something that the language
// does not allow, or that it does not fit the limits.
Result<Program> ToProgram(const Form& form, const TargetLimits& limits);

}  // namespace tarsia::compiler::tile

#endif  // TARSIA_COMPILER_TILE_TO_PROGRAM_H_
