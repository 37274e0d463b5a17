// setmaxnreg: warps give registers back to their block and take them. It is checked where the
// number at the start is known, by .maxnreg.
#include "ptx/exec/exec.h"
#include "ptx/machine/block.h"
#include "ptx/machine/warpgroup.h"

namespace tarsia::ptx {
namespace {

Step SetMaxRegisters(Warp& warp, const Inst& inst) {
  warp.divergence().RequireAligned(inst);
  const auto wanted = static_cast<uint32_t>(inst[0].immediate);
  NoteWarpgroup(warp, {&inst, {}});
  RegisterPool& pool = warp.block().registers();
  if (!pool.known()) return Step::kNext;
  const uint32_t held = pool.HeldBy(warp.number());
  const bool more = inst.Has(Mod::kInc);
  if (more ? wanted < held : wanted > held) {
    warp.Report(inst, FindingKind::kLimit, std::countr_zero(warp.mask()),
                fmt::format("it would {} a thread's {} registers to {}",
                            more ? "increase" : "decrease", held, wanted));
    return Step::kNext;
  }
  if (!pool.Resize(warp.number(), wanted)) {
    Split& split = warp.divergence().split();
    split.state = Split::State::kRegisters;
    pool.Wait(&warp, &split, wanted);
    return Step::kMoved;
  }
  pool.Serve();
  return Step::kNext;
}

}  // namespace

PTX_BIND(Setmaxnreg) {
  constexpr uint64_t kLeast = 24;
  constexpr uint64_t kMost = 256;
  const uint64_t wanted = inst[0].immediate;
  const bool fits = inst[0].bank != 0 && wanted % 8 == 0 && wanted >= kLeast && wanted <= kMost;
  return fits ? &SetMaxRegisters : nullptr;
}

}  // namespace tarsia::ptx
