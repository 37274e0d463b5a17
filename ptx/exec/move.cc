// mov, cvta, selp.
#include "ptx/exec/exec.h"
#include "ptx/machine/block.h"
#include "ptx/machine/numeric.h"

namespace tarsia::ptx {
namespace {

Step MovPredicate(Warp& warp, const Inst& inst) {
  warp.SetPredicate(inst.operands[0], warp.Predicate(inst.operands[1]));
  return Step::kNext;
}

template <typename T>
Step MovOne(Warp& warp, const Inst& inst) {
  return Map<[](T a) { return a; }, T, T>(warp, inst);
}

// A list of registers into a whole or back; the low register comes first.
Step MovConcat(Warp& warp, const Inst& inst) {
  ForLanes(warp.mask(), [&](int lane) {
    uint8_t bytes[16] = {};
    size_t at = 0;
    for (const Operand& source : inst.At(1)) {
      const size_t size = source.bytes;
      std::memcpy(bytes + at, warp.Values(source) + static_cast<size_t>(lane) * size, size);
      at += size;
    }
    at = 0;
    for (const Operand& dest : inst.At(0)) {
      const size_t size = dest.bytes;
      std::memcpy(warp.Dest(dest) + static_cast<size_t>(lane) * size, bytes + at, size);
      at += size;
    }
  });
  return Step::kNext;
}

template <uint64_t kWindow, bool kTo>
Step Cvta(Warp& warp, const Inst& inst) {
  // Into a space: what is not within its window is found when it is used.
  return Map<[](uint64_t a) { return kTo ? a - kWindow : a + kWindow; }, uint64_t, uint64_t>(warp,
                                                                                             inst);
}

template <uint64_t kWindow>
Handler CvtaFor(const Inst& inst) {
  return inst.Has(Mod::kTo) ? &Cvta<kWindow, true> : &Cvta<kWindow, false>;
}

template <typename T>
Step Selp(Warp& warp, const Inst& inst) {
  const uint32_t lanes = warp.Predicate(inst.operands[3]);
  const uint8_t* a = warp.Values(inst.operands[1]);
  const uint8_t* b = warp.Values(inst.operands[2]);
  uint8_t* dest = warp.Dest(inst.operands[0]);
  ForLanes(warp.mask(), [&](int lane) {
    StoreLane(dest, lane, LoadLane<T>((lanes >> lane & 1) != 0 ? a : b, lane));
  });
  return Step::kNext;
}

// a where c is not negative (and not NaN), else b.
template <typename T, typename C>
Step Slct(Warp& warp, const Inst& inst) {
  const bool ftz = inst.Has(Mod::kFtz);
  uint8_t* dest = warp.Dest(inst.operands[0]);
  ForLanes(warp.mask(), [&](int lane) {
    auto c = warp.Get<C>(inst.operands[3], lane);
    if constexpr (std::is_same_v<C, float>) c = ftz ? FlushF32(c) : c;
    StoreLane(dest, lane, warp.Get<T>(inst.operands[c >= 0 ? 1 : 2], lane));
  });
  return Step::kNext;
}

template <typename C>
Handler SlctFor(const Inst& inst) {
  switch (BytesOf(inst.type[0])) {
    case 2:
      return &Slct<uint16_t, C>;
    case 4:
      return &Slct<uint32_t, C>;
    default:
      return &Slct<uint64_t, C>;
  }
}

Step Isspacep(Warp& warp, const Inst& inst) {
  uint32_t lanes = 0;
  ForLanes(warp.mask(), [&](int lane) {
    auto address = warp.Get<uint64_t>(inst.operands[1], lane);
    const uint64_t generic = address;
    Space space = ResolveGeneric(Space::kGeneric, &address);
    const MemoryRange* range = warp.launch().image->memory().Find(generic);
    if (space == Space::kGlobal && range != nullptr && range->read_only) space = Space::kConst;
    const bool own = address < kSharedPeers || address >> kRankShift == warp.block().rank() + 1;
    const bool here = space != Space::kShared || own || inst.Has(Mod::kSharedCluster);
    lanes |= static_cast<uint32_t>(space == inst.space && here) << lane;
  });
  warp.SetPredicate(inst.operands[0], lanes);
  return Step::kNext;
}

}  // namespace

PTX_BIND(Mov) {
  if (inst.operands.size() > 2 || inst.operands[0].bytes == 16) return &MovConcat;
  switch (inst.operands[0].bytes) {
    case 0:
      return &MovPredicate;
    case 2:
      return &MovOne<uint16_t>;
    case 4:
      return &MovOne<uint32_t>;
    default:
      return &MovOne<uint64_t>;
  }
}

PTX_BIND(Cvta) {
  switch (inst.space) {
    case Space::kShared:
      return CvtaFor<kSharedWindow>(inst);
    case Space::kLocal:
      return CvtaFor<kLocalWindow>(inst);
    case Space::kParam:
      return CvtaFor<kParamWindow>(inst);
    case Space::kGeneric:
    case Space::kGlobal:
    case Space::kConst:
      break;
  }
  return CvtaFor<0>(inst);
}

PTX_BIND(Selp) {
  switch (inst.operands[0].bytes) {
    case 2:
      return &Selp<uint16_t>;
    case 4:
      return &Selp<uint32_t>;
    default:
      return &Selp<uint64_t>;
  }
}

PTX_BIND(Slct) { return SlctFor<int32_t>(inst); }
PTX_BIND(SlctF32) { return SlctFor<float>(inst); }
PTX_BIND(Isspacep) { return &Isspacep; }

}  // namespace tarsia::ptx
