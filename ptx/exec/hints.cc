// What only hints at caches or counts for a profiler: addresses are checked, nothing else happens.
#include "ptx/exec/exec.h"

namespace tarsia::ptx {
namespace {

constexpr uint32_t kHintBytes = 128;

// The only size that there is.
bool IsLine(const Operand& size) { return size.bank != 0 && size.immediate == kHintBytes; }

// The 128 bytes at each address; kWrite: they are not defined any more.
template <Access kAccess>
Step OnLine(Warp& warp, const Inst& inst) {
  const Operand& address = inst[0];
  warp.undefined().Require(inst, address, "the address");
  ForLanes(warp.mask(), [&](int lane) {
    Place place;
    if (!warp.memory().Find(inst, inst.space, lane, warp.Address(address, lane), kHintBytes,
                            kAccess, &place)) {
      return;
    }
    if (kAccess == Access::kWrite) std::memset(place.defined, 0, kHintBytes);
  });
  return Step::kNext;
}

}  // namespace

PTX_BIND(Discard) { return IsLine(inst[1]) ? &OnLine<Access::kWrite> : nullptr; }
PTX_BIND(Applypriority) { return IsLine(inst[1]) ? &OnLine<Access::kRead> : nullptr; }
PTX_BIND(Pmevent) {
  const bool fits = inst[0].bank != 0 &&
                    (inst.Has(Mod::kMask) ? inst[0].immediate < 0x10000 : inst[0].immediate < 16);
  if (!fits) return nullptr;
  return [](Warp&, const Inst&) { return Step::kNext; };
}

}  // namespace tarsia::ptx
