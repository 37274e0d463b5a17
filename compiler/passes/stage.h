// The pass `stage`.
#ifndef TARSIA_COMPILER_PASSES_STAGE_H_
#define TARSIA_COMPILER_PASSES_STAGE_H_

#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// Replaces each layout conversion that moves elements between threads by a tile in shared memory: a
// store, a barrier, and a load where the elements are first used. The tile's layout keeps accesses
// wide and free of bank conflicts (compiler/select/scratch.h). Conversions of codes that are no
// whole bytes stay, and those for which there is no room.
void Stage(tile::Form& form, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_STAGE_H_
