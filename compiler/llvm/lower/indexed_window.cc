#include "compiler/llvm/lower/indexed_window.h"

#include <map>

#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// For each slot of a tile its index along the axis, as i64, from the operand that gives them.
Slots AxisIndices(Emitter& e, LayoutId tile, int axis) {
  Layouts& layouts = e.layouts();
  const DType type = e.inst().operand[1].type;
  const LayoutId vector = e.OperandLayout(1);
  const Slots indices = e.TileOperand(1);
  std::map<int64_t, size_t> slot_of;
  for (size_t slot = 0; slot < indices.size(); ++slot) {
    slot_of[layouts[vector].SlotOffset(static_cast<int64_t>(slot))[0]] = slot;
  }
  Slots out;
  for (int64_t slot = 0; slot < layouts[tile].slots(); ++slot) {
    llvm::Value* index = indices[slot_of[layouts[tile].SlotOffset(slot)[Size(axis)]]];
    const IndexValue extended = {e.index().Extend(index, type), Facts::OfType(type)};
    out.push_back(e.index().Saturate(extended).value);
  }
  return out;
}

}  // namespace

TileWindow IndexedWindow(Emitter& e, LayoutId layout) {
  const MemoryTile& memory = e.memory_tiles()[e.inst().operand[0].value];
  const std::vector<IndexValue> zeros(memory.dims.size(), e.index().Constant(0));
  TileWindow window = e.Window(memory, layout, zeros);
  window.axis = static_cast<int>(e.inst().axis);
  window.axis_indices = AxisIndices(e, layout, window.axis);
  return window;
}

}  // namespace tarsia::compiler
