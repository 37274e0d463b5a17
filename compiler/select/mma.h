// Which tensor-core instructions compute a `dot`, by the layouts of its tiles.
#ifndef TARSIA_COMPILER_SELECT_MMA_H_
#define TARSIA_COMPILER_SELECT_MMA_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/tile_layout.h"
#include "dtypes/dtype.h"

namespace tarsia::compiler {

// One m16n8k16 of each warp: the first slots of its fragments.
struct MmaStep {
  int64_t left = 0;   // of the operand with 16 rows: 8 slots
  int64_t right = 0;  // of the operand with 8 columns: 4 slots
  int64_t sum = 0;    // 4 slots
};

struct MmaSelection {
  // c' = b' * a' is computed, where ' swaps rows and columns: `left` is b.
  bool transposed = false;
  std::vector<MmaStep> steps;  // every product once, by ascending k
};

// Whether tensor cores multiply these element types.
bool HasMma(DType a, DType b, DType c);

// For tiles a [m, k], b [k, n] and c [m, n] in these layouts. Empty if they are no fragments, or if
// some warp has not both operands of its part of c at the same slots as the other warps.
std::optional<MmaSelection> SelectMma(const TileLayout& a, const TileLayout& b,
                                      const TileLayout& c);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_MMA_H_
