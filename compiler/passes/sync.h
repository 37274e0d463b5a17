// The pass `sync`.
#ifndef TARSIA_COMPILER_PASSES_SYNC_H_
#define TARSIA_COMPILER_PASSES_SYNC_H_

#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// For the places that the pass `shared` gives the tiles: puts a `sync` in front of each access to
// shared memory that another thread's earlier one must not meet: where a tile takes bytes over from
// another one, or from itself in the iteration before, and between the store and the load of a tile
// that a pass allocated. As few as that needs, in front of a loop rather than inside, and as late
// as possible. A tile whose asynchronous copies may still be in flight is waited for, too. Those
// that the text has stay.
void Synchronise(tile::Form& form, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_SYNC_H_
