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
#include "compiler/infer_layouts.h"
#include "compiler/llvm/code/memory_tiles.h"
#include "compiler/llvm/code/words.h"

namespace tarsia::compiler {

// The elements of a memory tile that a register tile stands for.
struct TileWindow {
  const MemoryTile& memory;
  LayoutId layout = kNoLayout;
  const TileLayout& tile;  // that of the number
  // By dimension: the root index of the register tile's element 0.
  std::vector<IndexValue> root = {};
  int axis = -1;  // along it, slot i has the index axis_indices[i] (i64) instead
  Slots axis_indices = {};
  const AccessFacts* proven = nullptr;  // null: nothing besides the facts of indices

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

// Of a packed memory tile. The layout C with C * T = the register tile's layout, where T is that of
// a packed tile and the register tile begins at a multiple of T's shape: then each thread reads
// whole words as they lie, and the slot of each bit is known.
std::optional<RegLayout> OuterLayout(const TileWindow& window);
// Whether of each packed tile all elements exist or none, and all belong to the register tile.
bool PackedTilesAreWhole(const TileWindow& window);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_ACCESS_WIDTH_H_
