// How the elements of a tile lie in shared scratch while they change threads.
#ifndef TARSIA_COMPILER_SELECT_SCRATCH_H_
#define TARSIA_COMPILER_SELECT_SCRATCH_H_

#include <cstdint>

#include "compiler/tile_layout.h"

namespace tarsia::compiler {

struct ScratchOrder {
  Extents strides;       // elements, by dimension
  int64_t elements = 0;  // of the room that they take, with gaps
};

// Neighbouring slots that one access of at most 16 bytes moves if elements of `bytes` bytes follow
// each other along a dimension.
int64_t RunAlong(const TileLayout& layout, int dim, int bytes);

// The dimension along which elements follow each other so that the fewest accesses write a tile in
// `from` and read it in `to`; both have one shape, of rank 1 at least.
int FastDimension(const TileLayout& from, const TileLayout& to, int bytes);

// Along that dimension, with the gap between rows that has the fewest bank conflicts.
ScratchOrder OrderOfScratch(const TileLayout& from, const TileLayout& to, int bytes);
// Row by row, without gaps.
ScratchOrder RowMajorScratch(const Extents& shape);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_SCRATCH_H_
