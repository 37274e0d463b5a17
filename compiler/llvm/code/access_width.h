// How wide the accesses of a register tile to memory may be.
//
// Wide accesses need proof: that the elements of a vector follow each other in memory, that their
// address is aligned, and that either all or none of them exist. The proofs come from layouts and
// from what is known of indices and extents (compiler/facts/facts.h).
#ifndef TARSIA_COMPILER_LLVM_CODE_ACCESS_WIDTH_H_
#define TARSIA_COMPILER_LLVM_CODE_ACCESS_WIDTH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/facts/program_facts.h"
#include "compiler/layout_plan.h"
#include "compiler/llvm/code/memory_tiles.h"
#include "compiler/llvm/code/words.h"

namespace tarsia::compiler {

// The elements of a memory tile that an access moves from or to a register tile.
struct TileWindow {
  const MemoryTile& memory;
  LayoutId layout = kNoLayout;
  const TileLayout& tile;  // that of `layout`
  // By dimension: the root index of the register tile's element 0.
  std::vector<IndexValue> root = {};
  int axis = -1;  // along it, slot i has the index axis_indices[i] (i64) instead
  Slots axis_indices = {};
  const AccessFacts* proven = nullptr;  // null: only the facts of `root`

  // Whether all indices of the tile along a dimension are known to be at least the first index that
  // exists, or below the end.
  [[nodiscard]] bool IsAboveLow(int dim) const;
  [[nodiscard]] bool IsBelowHigh(int dim) const;
  [[nodiscard]] bool IsInside(int dim) const { return IsAboveLow(dim) && IsBelowHigh(dim); }
};

struct AccessWidth {
  int64_t vector = 1;  // slots that move at once: neighbours in memory and in the order of slots
  int unit = 0;        // bytes of one access of a vector; 0: codes move bit by bit
};
AccessWidth WidthOf(const TileWindow& window);

// The dimension along which elements follow each other in memory; -1: none that is known.
int ContiguousDim(const MemoryTile& memory);

// For a packed memory tile: the layout C with C * T = the register tile's layout, where T is the
// layout of one packed tile. Nothing if there is none, or if the register tile does not begin at a
// multiple of T's shape. With it each thread reads whole words, and the slot of each bit is known.
std::optional<RegLayout> OuterLayout(const TileWindow& window);
// Whether every packed tile either exists as a whole or not at all, and lies within the register
// tile.
bool PackedTilesAreWhole(const TileWindow& window);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_ACCESS_WIDTH_H_
