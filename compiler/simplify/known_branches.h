// Branches that constants decide.
#ifndef TARSIA_COMPILER_SIMPLIFY_KNOWN_BRANCHES_H_
#define TARSIA_COMPILER_SIMPLIFY_KNOWN_BRANCHES_H_

#include "compiler/tile/form.h"

namespace tarsia::compiler {

// The operations of the branch that is taken stand in the place of the `if`, so that passes see
// them beside the others. One that allocates stays, because tiles live as long as their block.
void TakeKnownBranches(tile::Form& form);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SIMPLIFY_KNOWN_BRANCHES_H_
