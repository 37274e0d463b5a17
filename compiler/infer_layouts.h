// Gives every register tile of a program a layout over the threads of a block.
//
// A layout that the text fixes is kept as it is. The others are inferred: the tiles of elementwise
// instructions share one layout, chosen by their uses (tensor core fragments, wide accesses to
// memory), else by the source of the first one. If an instruction needs a tile in another layout
// than that of its value, the difference is recorded here and becomes a conversion. Deterministic,
// and correct for every shape; layouts change speed, never a result.
#ifndef TARSIA_COMPILER_INFER_LAYOUTS_H_
#define TARSIA_COMPILER_INFER_LAYOUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/tile_layout.h"
#include "isa/program.h"
#include "support/result.h"

namespace tarsia::compiler {

// A number of LayoutPlan::layouts; equal layouts have equal numbers.
using LayoutId = uint32_t;
inline constexpr LayoutId kNoLayout = UINT32_MAX;

// The most elements of one tile per thread: code is made for each.
inline constexpr int64_t kMaxSlots = 1024;

struct ValueLayout {
  LayoutId layout = kNoLayout;  // none: not a register tile
  std::string why;
};

// The layouts in which an instruction itself needs its operands and makes its results; if the value
// has another one, there is a conversion before or after it.
struct InstLayouts {
  LayoutId operand[kMaxOperands] = {kNoLayout, kNoLayout, kNoLayout};
  LayoutId result[kMaxResults] = {kNoLayout, kNoLayout};
  LayoutId access = kNoLayout;  // of accesses without a register tile: threads of the elements
};

struct LayoutPlan {
  std::vector<TileLayout> layouts;
  std::vector<ValueLayout> values;  // by value
  std::vector<InstLayouts> insts;   // by instruction
};

Result<LayoutPlan> InferLayouts(const Program& program);

// One line per register tile: its layout and the reason; and one per conversion.
std::string ToString(const Program& program, const LayoutPlan& plan);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_INFER_LAYOUTS_H_
