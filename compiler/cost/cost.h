// What it costs a warp to do something with register tiles in some layouts: in issue slots, the
// time in which one of the four schedulers of a multiprocessor issues one instruction. A cost of
// shared hardware is converted into it: a shared wavefront takes a cycle of the whole
// multiprocessor, in which its schedulers issue four instructions.
//
// Pure functions, for choosing layouts; no cost is exact.
#ifndef TARSIA_COMPILER_COST_COST_H_
#define TARSIA_COMPILER_COST_COST_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/select/mma.h"
#include "compiler/select/parted_offset.h"
#include "compiler/tile_layout.h"
#include "dtypes/dtype.h"
#include "isa/instruction.h"
#include "layout/bit_layout.h"

namespace tarsia::compiler {

using Cost = int64_t;

// A tile in memory as an access sees it.
struct AccessedMemory {
  Space space = Space::kGlobal;
  DType type;
  // The tile of a packed layout, the bits of a thread in it, and their words.
  std::optional<RegLayout> packed;
  BitLayoutFamily packed_bits;
  int64_t packed_words = 0;
  // Otherwise, by dimension: elements between neighbours, or kFar where that is not known, and then
  // a number that divides it; and which dimension has stride 1, if any.
  std::vector<int64_t> strides;
  std::vector<int64_t> stride_divisors;
  int fast = -1;
  // Of shared memory, for elements of whole bytes: where each one lies.
  std::optional<StridedBytes> places;
  bool is_load = false;
  // By dimension: a number that divides the index of the first element; 0: that index is 0. Empty:
  // it is 0 in each.
  std::vector<int64_t> begins;
  // By dimension: a number that divides the extent of the whole tile. Empty: nothing is known.
  std::vector<int64_t> extents;
  static constexpr int64_t kFar = -1;
};

// The most elements that may move together: what divides the first index, the extent and the
// strides.
int64_t WidestRun(const AccessedMemory& memory);
// Whether a tile of this layout is loaded as the words of packed tiles lie.
bool LoadsPackedWords(const AccessedMemory& memory, const TileLayout& layout);
// One load or store of a tile.
Cost AccessCost(const AccessedMemory& memory, const TileLayout& layout);
// The same elements in another layout.
Cost ConversionCost(const TileLayout& from, const TileLayout& to, DType type);
// An instruction that computes every slot of a tile by itself.
Cost ElementwiseCost(Opcode opcode, DType type, const TileLayout& layout);
// A reduction of a tile along axes.
Cost ReductionCost(const TileLayout& source, std::span<const int64_t> axes, int64_t result_slots);
// What it costs more to read codes one by one than as the words in which they were loaded.
Cost LoneCodesCost(int64_t slots);
// So many products of fragments on tensor cores.
Cost MmaCost(const MmaForm& form, int64_t count);
// Keeping so many registers of each thread in local memory meanwhile: one store and one load.
Cost SpillCost(int64_t registers);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_COST_COST_H_
