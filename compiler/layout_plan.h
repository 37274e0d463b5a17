// The layouts of the register tiles of a program after the passes, by number. Every tile has one
// (the pass `layouts` writes them all), in which the instructions that use it take it.
#ifndef TARSIA_COMPILER_LAYOUT_PLAN_H_
#define TARSIA_COMPILER_LAYOUT_PLAN_H_

#include <cstdint>
#include <vector>

#include "compiler/tile_layout.h"
#include "isa/program.h"
#include "support/result.h"

namespace tarsia::compiler {

// A number of LayoutPlan::layouts; equal layouts have equal numbers.
using LayoutId = uint32_t;
inline constexpr LayoutId kNoLayout = UINT32_MAX;

// The most elements of one tile per thread, and of a box that is copied or prefetched, which takes
// no registers: code is made for each of the first, and for each access of the second.
inline constexpr int64_t kMaxSlots = 1024;
inline constexpr int64_t kMaxBoxSlots = 4096;

struct LayoutPlan {
  std::vector<TileLayout> layouts;
  std::vector<LayoutId> values;  // by value; kNoLayout: not a register tile
  // By instruction: how its threads share the elements of an access without a register tile.
  std::vector<LayoutId> accesses;
};

// Errors: more than kMaxSlots elements of a tile, or kMaxBoxSlots of a box, in a thread.
Result<LayoutPlan> PlanLayouts(const Program& program);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LAYOUT_PLAN_H_
