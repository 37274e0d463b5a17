// ld and st.
#include <atomic>

#include "vm/ptx/access.h"
#include "vm/ptx/exec.h"

namespace tarsia::ptx {
namespace {

void Fence(const Inst& inst, bool before) {
  if (before && inst.Has(Mod::kRelease)) std::atomic_thread_fence(std::memory_order_release);
  if (!before && inst.Has(Mod::kAcquire)) std::atomic_thread_fence(std::memory_order_acquire);
}

// A narrow type in a wider register is extended by its sign or with zeros.
uint64_t Extend(uint64_t bits, Type type) {
  const int width = InfoOf(type).bits;
  if (!IsSigned(type) || width >= 64) return bits;
  const int shift = 64 - width;
  return static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift);
}

// Undefined bits: those of the value, and its sign in what it extends to.
uint64_t ExtendUndef(uint64_t undef, Type type) { return Extend(undef, type); }

void LoadElement(Warp& warp, const Operand& dest, Type type, int lane, const Place& place) {
  const int size = BytesOf(type);
  if (size == 16) {
    uint8_t* at = warp.Dest(dest) + lane * 16;
    bool defined = true;
    for (int half = 0; half < 2; ++half) {
      const uint64_t bits = ReadBytes(place.data + half * 8, 8);
      std::memcpy(at + half * 8, &bits, 8);
      defined = defined && ReadBytes(place.defined + half * 8, 8) == ~uint64_t{0};
    }
    return warp.SetUndef(dest, lane, defined ? 0 : ~uint64_t{0});
  }
  const uint64_t bits = ReadBytes(place.data, size);
  const uint64_t undef = ~ReadBytes(place.defined, size) & AllBits(size);
  warp.SetBits(dest, lane, Extend(bits, type));
  if (undef != 0 || (warp.UndefLanes(dest) >> lane & 1) != 0) {
    warp.SetUndef(dest, lane, ExtendUndef(undef, type) & AllBits(dest.bytes));
  }
}

Step Load(Warp& warp, const Inst& inst) {
  const Operand& address = inst[1];
  const auto dests = inst.At(0);
  const Type type = inst.type[0];
  const auto size = static_cast<uint32_t>(BytesOf(type));
  const auto whole = size * static_cast<uint32_t>(dests.size());
  const Space space = warp.SpaceFor(inst, address);
  warp.NeedDefined(inst, address, "the address");
  ForLanes(warp.mask(), [&](int lane) {
    Place place;
    if (!warp.Find(inst, space, lane, warp.Address(address, lane), whole, Access::kRead, &place)) {
      for (const Operand& dest : dests) {
        warp.SetBits(dest, lane, 0);
        warp.SetUndef(dest, lane, AllBits(dest.bytes));
      }
      return;
    }
    for (const Operand& dest : dests) {
      LoadElement(warp, dest, type, lane, place);
      place.data += size;
      place.defined += size;
    }
  });
  Fence(inst, false);
  return Step::kNext;
}

void StoreElement(Warp& warp, const Operand& source, Type type, int lane, const Place& place) {
  const int size = BytesOf(type);
  if (size == 16) {
    const uint8_t* at = warp.Values(source) + lane * 16;
    const uint64_t defined = warp.Undef(source, lane) == 0 ? ~uint64_t{0} : 0;
    for (int half = 0; half < 2; ++half) {
      WriteBytes(place.data + half * 8, 8, LoadLane<uint64_t>(at, half));
      WriteBytes(place.defined + half * 8, 8, defined);
    }
    return;
  }
  WriteBytes(place.data, size, warp.Bits(source, lane));
  WriteBytes(place.defined, size, ~warp.Undef(source, lane));
}

Step Store(Warp& warp, const Inst& inst) {
  const Operand& address = inst[0];
  const auto sources = inst.At(1);
  const Type type = inst.type[0];
  const auto size = static_cast<uint32_t>(BytesOf(type));
  const auto whole = size * static_cast<uint32_t>(sources.size());
  const Space space = warp.SpaceFor(inst, address);
  warp.NeedDefined(inst, address, "the address");
  Fence(inst, true);
  ForLanes(warp.mask(), [&](int lane) {
    Place place;
    uint64_t at = warp.Address(address, lane);
    if (!warp.Find(inst, space, lane, at, whole, Access::kWrite, &place)) return;
    const bool global = Warp::Narrow(space, &at) == Space::kGlobal;
    for (const Operand& source : sources) {
      if (global && (warp.Undef(source, lane) & AllBits(static_cast<int>(size))) != 0) {
        warp.Report(inst, FindingKind::kUninitialised, lane,
                    "stores bits to global memory that were never written");
      }
      StoreElement(warp, source, type, lane, place);
      place.data += size;
      place.defined += size;
    }
  });
  return Step::kNext;
}

}  // namespace

PTX_BIND(Ldu) { return inst.CountAt(0) * BytesOf(inst.type[0]) <= 16 ? &Load : nullptr; }
PTX_BIND(Prefetch) {
  return [](Warp&, const Inst&) { return Step::kNext; };
}
PTX_BIND(Prefetchu) {
  return [](Warp&, const Inst&) { return Step::kNext; };
}
// A policy is a hint: any value does.
PTX_BIND(Createpolicy) {
  return [](Warp& warp, const Inst& i) {
    ForLanes(warp.mask(), [&](int lane) { warp.SetBits(i[0], lane, 0); });
    warp.SetDefined(i[0]);
    return Step::kNext;
  };
}
PTX_BIND(Ld) { return inst.CountAt(0) * BytesOf(inst.type[0]) <= 32 ? &Load : nullptr; }
PTX_BIND(St) { return inst.CountAt(1) * BytesOf(inst.type[0]) <= 32 ? &Store : nullptr; }

}  // namespace tarsia::ptx
