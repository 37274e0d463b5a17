// What a warp does where register tiles have some layouts, and what that costs.
//
// The work of an instruction is counted by kind: a pure function of its layouts. The formula is the
// sum of these counts, each times its price on the target (model.def); of a region it is the sum
// over its instructions, times the iterations. The unit is a cycle of one of the four schedulers of
// a multiprocessor, for one warp. Index arithmetic and masks are not counted.
//
// Pure functions, for choosing layouts; safe from any thread.
#ifndef TARSIA_COMPILER_COST_COST_H_
#define TARSIA_COMPILER_COST_COST_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/select/blocked_dot.h"
#include "compiler/select/mma.h"
#include "compiler/select/parted_offset.h"
#include "compiler/select/scratch.h"
#include "compiler/select/shuffles.h"
#include "compiler/target.h"
#include "compiler/tile_layout.h"
#include "dtypes/dtype.h"
#include "isa/instruction.h"
#include "layout/bit_layout.h"

namespace tarsia::compiler {

using Cost = int64_t;

// What one warp does, by kind.
struct Work {
#define COST_PRICE(field, what, sm80, sm89, sm90a, source) int64_t field = 0;
#include "compiler/cost/model.def"
#undef COST_PRICE

  Work& operator+=(const Work& other);
  friend Work operator+(Work a, const Work& b) { return a += b; }
  friend Work operator*(int64_t times, const Work& work);
  friend bool operator==(const Work&, const Work&) = default;
};

// A row of model.def.
struct CostPrice {
  std::string_view name;  // of the field
  std::string_view what;
  std::string_view source;
  int64_t Work::* field;
  Cost price[3];  // by target
};
std::span<const CostPrice> CostPrices();

// The formula.
Cost CyclesOf(const Work& work, Target target);

// Cycles until the elements of a load of global memory are there.
Cost LatencyOfMemory(Target target);

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
  int64_t together = int64_t{1} << 40;  // the most elements that an access may have
  bool takes_matrices = false;          // by `stmatrix`
  bool is_load = false;                 // of a store, only the first holder of an element does it
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
// Whether a tile of this shape consists of packed tiles, of which each exists as a whole or not at
// all.
bool HasWholePackedTiles(const AccessedMemory& memory, const Extents& shape);
// Whether a tile of this layout is loaded as the words of packed tiles lie.
bool LoadsPackedWords(const AccessedMemory& memory, const TileLayout& layout);
// One load or store of a tile.
Work AccessWork(const AccessedMemory& memory, const TileLayout& layout);
// A copy from one tile to another in the background, whose elements threads share in a layout.
Work CopyWork(const AccessedMemory& to, AccessedMemory from, const TileLayout& layout);
// How elements of a type change their layout by shuffles; empty if they cannot, or if shared memory
// costs less on the target.
std::optional<ShufflePlan> CheapestByShuffles(const TileLayout& from, const TileLayout& to,
                                              DType type, Target target);
// The same elements in another layout. Those who ask about many pairs of layouts make the ends of
// each once.
Work ConversionWork(const TileLayout& from, const TileLayout& to, DType type, Target target);
Work ConversionWork(ScratchEnd& from, ScratchEnd& to, Target target);
ScratchEnd ConversionEnd(const TileLayout& tile, DType type, Target target);
// The same elements under another shape, through shared memory one by one.
Work MovedWork(const TileLayout& from, const TileLayout& to);
// An instruction that computes every slot of a tile by itself; `fast`: by the GPU's own form.
Work ElementwiseWork(Opcode opcode, DType type, const TileLayout& layout, bool fast);
// A reduction of a tile of a type along axes; each result is `words` words of 32 bits in `tiles`
// tiles.
struct ReducedResult {
  int64_t slots = 0;
  int64_t words = 1;
  int64_t tiles = 1;
};
Work ReductionWork(Opcode reduce, DType type, const TileLayout& source,
                   std::span<const int64_t> axes, const ReducedResult& result);
// A scan of elements of `words` words of 32 bits along an axis.
Work ScanWork(const TileLayout& source, int axis, int64_t words, bool exclusive);
// A `topk` of elements of a type along an axis.
Work TopKWork(const TileLayout& source, DType type, int64_t axis, int64_t k);
// A `lookup` of codes in a table, both where `lookup` wants them.
Work LookupWork(DType codes, DType elements, const TileLayout& layout);
// What it costs more to read codes one by one than as the words in which they were loaded.
Work LoneCodesWork(int64_t slots);
// So many products of fragments on tensor cores, in the time of those of 16 by 8 by 16 elements of
// 16 bits; and the work of that.
int64_t MmaProducts(const MmaForm& form, int64_t count);
Work MmaWork(int64_t products);
// A `dot` by scalar arithmetic: each thread computes its elements of the result. Without the
// operands on their way through shared memory.
Work ScalarDotWork(const TileLayout& result, int64_t depth, DType type);
// An operand of such a `dot` on that way, to the reads of both orders
// (compiler/select/blocked_dot.h).
Work ScalarOperandWork(ScratchEnd& operand, std::span<ScratchEnd* const> reads);
Work ScalarOperandWork(const TileLayout& operand, DType type, DotOperand which,
                       const TileLayout& result, Target target);
// Keeping so many registers of each thread in local memory meanwhile: one store and one load.
Work SpillWork(int64_t registers);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_COST_COST_H_
