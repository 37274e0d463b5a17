// The shape family: elements move and none changes. Where the layouts say that no element moves,
// the slots stay; else the elements pass through shared scratch.
#include <map>

#include "compiler/llvm/lower/lower.h"

namespace tarsia::compiler {
namespace {

// The row-major number of each element stays.
Status SameElements(Emitter& e) {
  const LayoutId from = e.OperandLayout(0);
  const LayoutId to = e.ResultLayout(0);
  Slots slots = e.TileOperand(0);
  const auto moved = ReshapedLayout(e.layouts()[from], e.layouts()[to].shape());
  if (!moved || *moved != e.layouts()[to]) {
    slots = e.exchange().Convert(slots, e.inst().operand[0].type, from, to);
  }
  e.SetResult(0, slots);
  return OkStatus();
}

}  // namespace

LOWER(Reshape) { return SameElements(e); }
LOWER(Squeeze) { return SameElements(e); }
LOWER(Unsqueeze) { return SameElements(e); }

// The dimensions of the layout are permuted; the slots stay.
LOWER(Permute) {
  e.SetResult(0, e.TileOperand(0));
  return OkStatus();
}

// The source has the layout of the result without the repeated axes.
LOWER(Broadcast) {
  const TileLayout& from = e.layouts()[e.OperandLayout(0)];
  const TileLayout& to = e.layouts()[e.ResultLayout(0)];
  const Slots source = e.TileOperand(0);
  std::map<Extents, size_t> slot_of;
  for (size_t slot = 0; slot < source.size(); ++slot) {
    slot_of[from.SlotOffset(static_cast<int64_t>(slot))] = slot;
  }
  Slots out;
  for (int64_t slot = 0; slot < to.slots(); ++slot) {
    Extents offset = to.SlotOffset(slot);
    for (size_t d = 0; d < offset.size(); ++d) {
      if (from.shape()[d] != to.shape()[d]) offset[d] = 0;
    }
    out.push_back(source[slot_of[offset]]);
  }
  e.SetResult(0, out);
  return OkStatus();
}

LOWER(ConvertLayout) {
  e.SetResult(0, e.register_tiles().Convert(e.TileOperand(0), e.inst().operand[0].type,
                                            e.OperandLayout(0), e.ResultLayout(0)));
  return OkStatus();
}

}  // namespace tarsia::compiler
