// Layouts for accesses to memory of which only a part of the lanes follow each other: the others
// lie along another dimension, which a reduction or a second access may want.
#ifndef TARSIA_COMPILER_PASSES_ACCESS_LAYOUTS_H_
#define TARSIA_COMPILER_PASSES_ACCESS_LAYOUTS_H_

#include <cstdint>
#include <vector>

#include "compiler/cost/cost.h"
#include "compiler/tile_layout.h"

namespace tarsia::compiler {

// Runs of neighbours in each thread, and the threads side by side: the layouts in which a tile
// moves from or to memory in the fewest accesses.
std::vector<TileLayout> LayoutsOfRuns(const AccessedMemory& memory, const Extents& shape,
                                      int64_t threads);

// For tiles of elements of `bits` bits, of 8 or more, whose neighbours along `fast` follow each
// other in memory; none if an extent is not a power of two. Each thread has as much of `fast` as
// one access moves.
//
// With the lanes of whole rows, but those of different rows next to each other, so that a phase of
// an access to shared memory goes down the rows.
std::vector<TileLayout> LayoutsDownRows(const Extents& shape, int64_t threads, int bits, int fast);
// With a sector of memory along `fast`, and as many lanes as there are along each other dimension,
// which has a sector, too, if it follows itself in the memory of another access.
std::vector<TileLayout> LayoutsOfSectors(const Extents& shape, int64_t threads, int bits, int fast);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_ACCESS_LAYOUTS_H_
