// Gives every register tile of a program a layout over the threads of a block.
//
// A layout that the text fixes is kept as it is. The others are solved for: tiles that elementwise
// instructions take and give together share one layout, chosen from what is done with them (tensor
// core fragments, wide accesses to memory), else from where the first of them comes from. Where an
// instruction wants a tile otherwise than its value has it, the difference is written down here
// and becomes a conversion. Deterministic, and right for every shape; layouts change speed, never
// a result.
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

// The most elements a thread may hold of one tile: code is made for each.
inline constexpr int64_t kMaxSlots = 1024;

struct ValueLayout {
  LayoutId layout = kNoLayout;  // none: no register tile
  std::string why;
};

// How an instruction itself takes its operands and gives its results; where that is not how the
// value lies, there is a conversion before or after it.
struct InstLayouts {
  LayoutId operand[kMaxOperands] = {kNoLayout, kNoLayout, kNoLayout};
  LayoutId result[kMaxResults] = {kNoLayout, kNoLayout};
  LayoutId moved = kNoLayout;  // elements that go through no register tile: who takes which
  bool tensor_core = false;    // of dot: fragments of m16n8k16
};

struct LayoutPlan {
  std::vector<TileLayout> layouts;
  std::vector<ValueLayout> values;  // by value
  std::vector<InstLayouts> insts;   // by instruction
};

Result<LayoutPlan> InferLayouts(const Program& program);

// One line a register tile: its layout and why; and one a conversion.
std::string ToString(const Program& program, const LayoutPlan& plan);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_INFER_LAYOUTS_H_
