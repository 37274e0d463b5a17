// The tiles that the grid of a kernel cuts its results into. Internal to planner/.
#ifndef TARSIA_PLANNER_GRID_TILES_H_
#define TARSIA_PLANNER_GRID_TILES_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "planner/kernel.h"

namespace tarsia {

// The extents of a block's tile, by axis of the request. `wanted`: the reductions that the kernel
// may need.
std::vector<int64_t> TilesOfGrid(const Meaning& meaning, const KernelRequest& request,
                                 const std::set<size_t>& wanted);

// The elements that `topk` chooses in the kernel; 0 if there is none.
int64_t MostChosen(const Meaning& meaning, const KernelRequest& request,
                   const std::set<size_t>& wanted);

}  // namespace tarsia

#endif  // TARSIA_PLANNER_GRID_TILES_H_
