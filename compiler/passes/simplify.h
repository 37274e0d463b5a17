// The pass `simplify`.
#ifndef TARSIA_COMPILER_PASSES_SIMPLIFY_H_
#define TARSIA_COMPILER_PASSES_SIMPLIFY_H_

#include "compiler/tile/form.h"

namespace tarsia::compiler {

// Removes what need not be computed, and moves what need not be computed here: copies, results that
// are already there, constants in indices, bounds and conditions, results that nothing uses, and
// operations that are the same in every turn of a loop. Touches no memory and no effect.
void Simplify(tile::Form& form);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_SIMPLIFY_H_
