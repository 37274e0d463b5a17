// Which tensor-core instructions compute a `dot`: by the types of its tiles and their layouts. The
// forms are those of compiler/select/mma_forms.def.
#ifndef TARSIA_COMPILER_SELECT_MMA_H_
#define TARSIA_COMPILER_SELECT_MMA_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/target.h"
#include "compiler/tile_layout.h"
#include "dtypes/dtype.h"
#include "layout/reg_layout.h"
#include "support/result.h"

namespace tarsia::compiler {

// What the product of two elements takes.
enum class MmaProduct : uint8_t {
  kReal,  // one product of the instruction
  // Elements are pairs of a real and an imaginary part, which are neighbours along the k of the
  // instruction. It is used twice: for the real parts, and for the imaginary parts.
  kComplex,
};

// The tiles of a `dot`: a [m, k], b [k, n], c [m, n] and the result; a batch of such has an axis in
// front.
struct DotTypes {
  DType a, b, c;
};

struct DotShape {
  std::optional<int64_t> batches;  // the extent of that axis
  int64_t m = 0, n = 0, k = 0;
};
// Of a `dot` whose operands have these shapes.
DotShape ShapeOfDot(const Extents& a, const Extents& b);
// c' = b' * a', where ' swaps rows and columns.
DotShape Transposed(const DotShape& shape);
// The order of the axes of a tile of a `dot`, with or without a batch axis, that swaps them.
std::span<const int64_t> SwappedAxes(int rank);

struct MmaForm {
  DotTypes types;
  std::string_view fragments;    // the names of the layouts, without .a, .b and .c
  std::string_view instruction;  // PTX, after `mma.sync.aligned.`
  DType sum;                     // of the instruction
  MmaProduct product = MmaProduct::kReal;
  int since = 0, until = 0;  // compute capabilities
  int64_t rate = 1;          // multiply-adds of the instruction a cycle

  // Layouts of elements of a warp: [m, k], [k, n] and [m, n].
  [[nodiscard]] const RegLayout& a() const;
  [[nodiscard]] const RegLayout& b() const;
  [[nodiscard]] const RegLayout& c() const;
  // Instructions for one product of fragments.
  [[nodiscard]] int64_t parts() const { return product == MmaProduct::kComplex ? 2 : 1; }
  // Multiply-adds of all of them.
  [[nodiscard]] int64_t MultiplyAdds() const;
};

std::span<const MmaForm> AllMmaForms();
// Those that tensor cores of the target have for these types; empty if they have none.
std::vector<const MmaForm*> MmaFormsOf(const DotTypes& types, Target target);

// One product of fragments in each warp: their first slots.
struct MmaStep {
  int64_t left = 0;  // of the operand with the rows of the instruction
  int64_t right = 0;
  int64_t sum = 0;
};

struct MmaSelection {
  const MmaForm* form = nullptr;
  // c' = b' * a' is computed, where ' swaps rows and columns: `left` is b, and the types of `form`
  // are those of b, a and c.
  bool transposed = false;
  std::vector<MmaStep> steps;  // every product once, by ascending k
};

// For tiles in these layouts: the first form that fits. Empty if they are no fragments, or if some
// warp has not both operands of its part of c at the same slots as the other warps.
std::optional<MmaSelection> SelectMma(const DotTypes& types, Target target, const TileLayout& a,
                                      const TileLayout& b, const TileLayout& c);

// Fragments tiled over the warps, for c [m, n] += a [m, k] * b [k, n].
struct MmaLayouts {
  TileLayout a, b, c;
  int64_t steps = 1;  // of a warp
};
// So many warps along each axis; those along the batch axis outermost.
struct WarpSplit {
  int64_t batches = 1, m = 1, n = 1;
};
Result<MmaLayouts> LayoutsOfMma(const MmaForm& form, const DotShape& shape, const WarpSplit& warps);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_MMA_H_
