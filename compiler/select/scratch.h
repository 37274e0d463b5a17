// How the elements of a tile lie in shared scratch while they change threads.
#ifndef TARSIA_COMPILER_SELECT_SCRATCH_H_
#define TARSIA_COMPILER_SELECT_SCRATCH_H_

#include <cstdint>
#include <optional>

#include "compiler/select/matrices.h"
#include "compiler/target.h"
#include "compiler/tile_layout.h"

namespace tarsia::compiler {

struct ScratchOrder {
  Extents strides;       // elements, by dimension
  int64_t elements = 0;  // of the room that they take, with gaps
};

// How one side of an exchange accesses elements that follow each other along a dimension.
struct ScratchSide {
  int64_t run = 1;                         // neighbouring slots of an access
  std::optional<MatrixAccesses> matrices;  // instead
  int64_t wavefronts = 0;                  // of the first warp for a tile, from PlanScratch

  // What a thread does for a tile.
  [[nodiscard]] int64_t Accesses(const TileLayout& tile) const {
    return matrices ? matrices->InstructionsFor(tile) : tile.slots() / run;
  }
};

// A tile of `bytes` bytes an element from one layout to another; both have one shape, of rank 1 at
// least.
struct ScratchPlan {
  int fast = 0;  // the dimension along which elements follow each other
  ScratchSide put, get;
  // The layouts of the accesses under the shape that `order` has strides for: those of the tile, or
  // with its fast dimension split. Slots are numbered as in the tile, or in the rows of matrices.
  TileLayout put_places, get_places;
  ScratchOrder order;
};

// Neighbouring slots whose elements are neighbours along a dimension.
int64_t ChunkAlong(const TileLayout& layout, int dim);
// Neighbouring slots that one access of at most 16 bytes moves if elements of `bytes` bytes follow
// each other along a dimension.
int64_t RunAlong(const TileLayout& layout, int dim, int bytes);

// Along the dimension with the fewest accesses; the order is not set.
ScratchPlan PlanAccesses(const TileLayout& from, const TileLayout& to, int bytes, Target target);
// Sets the order of such a plan, and what follows from it: the one with the fewest bank conflicts
// among several gaps.
void ChooseOrder(const TileLayout& from, const TileLayout& to, int bytes, ScratchPlan& plan);
// Both. With the gaps between rows, and between the runs of threads in a row, that have the fewest
// bank conflicts.
ScratchPlan PlanScratch(const TileLayout& from, const TileLayout& to, int bytes, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_SCRATCH_H_
