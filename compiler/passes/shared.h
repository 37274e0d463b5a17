// The pass `shared`.
#ifndef TARSIA_COMPILER_PASSES_SHARED_H_
#define TARSIA_COMPILER_PASSES_SHARED_H_

#include <string>
#include <vector>

#include "compiler/passes/shared_tiles.h"
#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// The tiles in shared memory with their places: those of the text, and chosen ones. Tiles that are
// not live at the same time may share bytes. Those of one iteration of a loop do so only if they
// take too much otherwise, since each change of hands costs a barrier. Barriers do not change it.
std::vector<SharedAllocation> PlacesOfShared(const tile::Form& form);

// Writes these places down: the attribute `at`.
void PlaceShared(tile::Form& form, Target target);

// The first tile that has no place, or one that it must not have; for tests.
std::string FindSharedFault(const tile::Form& form);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_SHARED_H_
