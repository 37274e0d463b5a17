// A `dot` that tensor cores do not compute. Each thread computes a block of the result: it reads
// the rows and the columns of its block from scratch in shared memory, where the whole block of
// threads has put both operands, in accesses as wide as their places allow.
#ifndef TARSIA_COMPILER_SELECT_BLOCKED_DOT_H_
#define TARSIA_COMPILER_SELECT_BLOCKED_DOT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/select/mma.h"
#include "compiler/select/scratch.h"
#include "compiler/target.h"
#include "compiler/tile_layout.h"
#include "dtypes/dtype.h"

namespace tarsia::compiler {

// The lines of an operand are the rows of a and the columns of b.
enum class DotOperand : uint8_t { kA, kB };
// The dimension of an operand of this rank along which products are summed.
int DepthDimension(DotOperand operand, int rank);

// What a thread reads of an operand for its elements of c, as a layout of the operand: its lines,
// and all of k. Slots follow each other along k, or along the lines.
struct DotReads {
  TileLayout layout;
  bool along_k = true;
};
// Both orders; none for a c without such a layout, or without elements.
std::vector<DotReads> ReadsOfDot(const TileLayout& c, DotOperand operand, int64_t depth);

// The way of an operand through scratch to those reads.
struct DotOperandPlan {
  DotReads reads;
  ScratchPlan scratch;
  int64_t unit = 1;  // of k: places of the elements so much further on lie equally far away
};
struct BlockedDotPlan {
  DotOperandPlan a, b;
  // The steps of k that a thread reads at once: a multiple of both units, which divides `depth`.
  int64_t step = 1;
  int64_t b_first = 0;  // bytes of scratch in front of b
  int64_t bytes = 0;    // of scratch
};
// Nothing where an operand has no elements, or c no layout for reads.
std::optional<BlockedDotPlan> PlanBlockedDot(const DotTypes& types, const TileLayout& a,
                                             const TileLayout& b, const TileLayout& c,
                                             Target target);

// The end of the reads: threads read runs of elements, and no matrices.
ScratchEnd EndOfReads(const DotReads& reads, int bytes);
// The cheaper of the ways to the reads of both orders: accesses of a thread, wavefronts of a warp.
struct DotOperandWay {
  size_t reads = 0;  // in the order of the ends
  int64_t accesses = 0;
  int64_t wavefronts = 0;
};
DotOperandWay CheapestReads(ScratchEnd& from, std::span<ScratchEnd* const> reads);

// Layouts of c for which threads read least: as square blocks as the warps and their lanes allow,
// with runs of 16 bytes along the rows, and in some also along the columns. The best first; none
// where the extents are not multiples of what the threads share.
std::vector<TileLayout> LayoutsOfBlockedDot(const DotShape& shape, int bytes, int64_t warps);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_BLOCKED_DOT_H_
