// The pass `simplify`.
#ifndef TARSIA_COMPILER_SIMPLIFY_SIMPLIFY_H_
#define TARSIA_COMPILER_SIMPLIFY_SIMPLIFY_H_

#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// Replaces copies, repeated operations on the same operands, and constants in indices, bounds and
// conditions; puts the arm that is taken in the place of each `if` whose condition is constant;
// moves operations that do not change within a loop in front of it; removes results that nothing
// uses. Leaves accesses to memory and operations with effects as they are. The same for all
// targets.
void Simplify(tile::Form& form, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SIMPLIFY_SIMPLIFY_H_
