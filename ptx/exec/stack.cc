// alloca, stacksave and stackrestore: memory of a thread after its frame, until the
// function returns or the stack is restored.
#include <bit>

#include "ptx/exec/exec.h"
#include "ptx/machine/block.h"

namespace tarsia::ptx {
namespace {

constexpr uint64_t kDefaultAlign = 8;
constexpr uint64_t kMostAlign = uint64_t{1} << 23;

Step Alloca(Warp& warp, const Inst& inst) {
  warp.undefined().Require(inst, inst[1], "the size");
  const uint64_t align = inst.CountAt(2) != 0 ? inst[2].immediate : kDefaultAlign;
  ForLanes(warp.mask(), [&](int lane) {
    const uint64_t at = (warp.frame().TopOf(lane) + align - 1) / align * align;
    warp.SetBits(inst[0], lane, at);
    const uint64_t bytes = warp.Bits(inst[1], lane);
    if (warp.frames().MoveTop(&warp.frame(), lane, at, bytes))
      return warp.undefined().NoteAlloca(inst, lane, at, bytes);
    warp.Report(inst, FindingKind::kLimit, lane, "the stack is too deep");
    warp.launch().stop.store(true);
  });
  warp.undefined().Clear(inst[0], warp.mask());
  return Step::kNext;
}

Step StackSave(Warp& warp, const Inst& inst) {
  ForLanes(warp.mask(), [&](int lane) { warp.SetBits(inst[0], lane, warp.frame().TopOf(lane)); });
  warp.undefined().Clear(inst[0], warp.mask());
  return Step::kNext;
}

Step StackRestore(Warp& warp, const Inst& inst) {
  warp.undefined().Require(inst, inst[0], "the stack that was saved");
  ForLanes(warp.mask(), [&](int lane) {
    const Frame& frame = warp.frame();
    const uint64_t top = warp.Bits(inst[0], lane);
    if (top >= frame.StaticEnd() && top <= frame.TopOf(lane)) {
      (void)warp.frames().MoveTop(&warp.frame(), lane, top, 0);
      return;
    }
    warp.Report(inst, FindingKind::kOutOfBounds, lane,
                fmt::format("restores the stack to 0x{:x}, and the function's is 0x{:x} to 0x{:x}",
                            top, frame.StaticEnd(), frame.TopOf(lane)));
  });
  return Step::kNext;
}

}  // namespace

PTX_BIND(Alloca) {
  if (inst.CountAt(2) == 0) return &Alloca;
  const Operand& align = inst[2];
  const bool good =
      align.bank == 1 && std::has_single_bit(align.immediate) && align.immediate <= kMostAlign;
  return good ? &Alloca : nullptr;
}
PTX_BIND(StackSave) { return &StackSave; }
PTX_BIND(StackRestore) { return &StackRestore; }

}  // namespace tarsia::ptx
