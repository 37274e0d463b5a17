// ld and st.
#include <atomic>

#include "ptx/exec/exec.h"
#include "ptx/machine/block.h"
#include "ptx/machine/cluster.h"
#include "ptx/memory/access.h"

namespace tarsia::ptx {
namespace {

// Whether a shared address names a block that is there.
bool IsOfCluster(Warp& warp, uint64_t address) {
  return address >> kRankShift <= warp.block().cluster().size();
}

// A strong access releases to other threads, or acquires from them. Host threads do the same.
void NoteStrong(Warp& warp, const Inst& inst, const Operand& address, Space space, bool write) {
  if ((inst.semantics & kStrengthBits) == 0) return;
  if (write) std::atomic_thread_fence(std::memory_order_release);
  if (!write) std::atomic_thread_fence(std::memory_order_acquire);
  if (!warp.checking()) return;
  ForLanes(warp.mask(), [&](int lane) {
    uint64_t at = warp.Address(address, lane);
    const Space narrow = ResolveGeneric(space, &at);
    if (narrow == Space::kShared && !IsOfCluster(warp, at)) return;  // the access is reported
    if (write) {
      warp.races().NoteStrongWrite(inst, lane, narrow, at);
    } else {
      warp.races().NoteStrongRead(inst, lane, narrow, at);
    }
  });
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

// Whether bits that were loaded from a space can be stored there again, for others to see.
bool IsSharedOrGlobal(Space narrow) { return narrow == Space::kShared || narrow == Space::kGlobal; }

// An element of what a lane loads, at an address within its space.
struct Element {
  const Inst& inst;
  Space space;
  int lane;
  uint64_t address;
};

// Undefined bits of a register that come from an element.
void SetLoadedUndef(Warp& warp, const Operand& dest, const Element& element, uint64_t undef,
                    int size) {
  warp.undefined().Set(dest, element.lane, undef,
                       warp.undefined().OriginOfLoad(element.inst, element.space, element.lane,
                                                     element.address, static_cast<uint64_t>(size)));
  if (size <= 8 && IsSharedOrGlobal(element.space)) {
    warp.undefined().SetLoadSource(dest, element.lane, {element.address * 8});
  }
}

void LoadElement(Warp& warp, const Operand& dest, Type type, const Element& element,
                 const Place& place) {
  const int lane = element.lane;
  const int size = BytesOf(type);
  if (size == 16) {
    uint8_t* at = warp.Dest(dest) + lane * 16;
    bool defined = true;
    for (int half = 0; half < 2; ++half) {
      const uint64_t bits = ReadBytes(place.data + half * 8, 8);
      std::memcpy(at + half * 8, &bits, 8);
      defined = defined && ReadBytes(place.defined + half * 8, 8) == ~uint64_t{0};
    }
    if (defined) return warp.undefined().Set(dest, lane, 0);
    return SetLoadedUndef(warp, dest, element, ~uint64_t{0}, size);
  }
  const uint64_t bits = ReadBytes(place.data, size);
  const uint64_t undef = ~ReadBytes(place.defined, size) & AllBits(size);
  warp.SetBits(dest, lane, Extend(bits, type));
  if (undef != 0) {
    SetLoadedUndef(warp, dest, element, ExtendUndef(undef, type) & AllBits(dest.bytes), size);
  } else if ((warp.undefined().Lanes(dest) >> lane & 1) != 0) {
    warp.undefined().Set(dest, lane, 0);
  }
}

// Lane by lane, with a finding wherever one is due.
void LoadLanes(Warp& warp, const Inst& inst, Space space) {
  const Operand& address = inst[1];
  const auto dests = inst.At(0);
  const Type type = inst.type[0];
  const auto size = static_cast<uint32_t>(BytesOf(type));
  const auto whole = size * static_cast<uint32_t>(dests.size());
  ForLanes(warp.mask(), [&](int lane) {
    Place place;
    uint64_t at = warp.Address(address, lane);
    if (!warp.memory().Find(inst, space, lane, at, whole, Access::kRead, &place)) {
      for (const Operand& dest : dests) {  // that is reported: its bits are no further fault
        warp.SetBits(dest, lane, 0);
        warp.undefined().Set(dest, lane, 0);
      }
      return;
    }
    const Space narrow = ResolveGeneric(space, &at);
    Element element{inst, narrow, lane, at};
    for (const Operand& dest : dests) {
      LoadElement(warp, dest, type, element, place);
      element.address += size;
      place.data += size;
      place.defined += size;
    }
  });
}

// One register of all executing lanes, of elements T `skip` bytes into each lane's.
template <typename T, typename Register>
void LoadRegister(Warp& warp, const Inst& inst, const Operand& dest, const MemoryRange& base,
                  const uint64_t* offsets, uint64_t skip) {
  uint8_t* const into = warp.Dest(dest);
  using U = std::make_unsigned_t<T>;
  if (!warp.checking()) {
    ForLanes(warp.mask(), [&](int lane) {
      const auto value = static_cast<T>(ReadAtomic<U>(base.data + offsets[lane] + skip));
      StoreLane(into, lane, static_cast<Register>(value));
    });
    return;
  }
  U missing = 0;
  ForLanes(warp.mask(), [&](int lane) {
    const uint64_t at = offsets[lane] + skip;
    missing |= static_cast<U>(~ReadAtomic<U>(base.defined + at));
    const auto value = static_cast<T>(ReadAtomic<U>(base.data + at));
    StoreLane(into, lane, static_cast<Register>(value));
  });
  if (missing == 0) return warp.undefined().Clear(dest, warp.mask());
  const Space space = &base == &warp.block().shared()           ? Space::kShared
                      : &base == &warp.launch().parameter_range ? Space::kParam
                                                                : Space::kGlobal;
  ForLanes(warp.mask(), [&](int lane) {
    const uint64_t at = offsets[lane] + skip;
    const auto undef = static_cast<T>(~ReadAtomic<U>(base.defined + at));
    if (undef == 0) return warp.undefined().Set(dest, lane, 0);
    SetLoadedUndef(warp, dest, {inst, space, lane, base.address + at},
                   static_cast<uint64_t>(undef) & AllBits(dest.bytes), sizeof(T));
  });
}

template <typename T>
void LoadMerged(Warp& warp, const Inst& inst, const MemoryRange& base, const uint64_t* offsets) {
  uint64_t skip = 0;
  for (const Operand& dest : inst.At(0)) {
    if (dest.bytes == sizeof(T)) {
      LoadRegister<T, T>(warp, inst, dest, base, offsets, skip);
    } else if (dest.bytes == 2) {
      LoadRegister<T, int16_t>(warp, inst, dest, base, offsets, skip);
    } else if (dest.bytes == 4) {
      LoadRegister<T, int32_t>(warp, inst, dest, base, offsets, skip);
    } else {
      LoadRegister<T, int64_t>(warp, inst, dest, base, offsets, skip);
    }
    skip += sizeof(T);
  }
}

template <typename T>
Step Load(Warp& warp, const Inst& inst) {
  const Operand& address = inst[1];
  const Space space = WarpMemory::SpaceFor(inst, address);
  const auto bytes = static_cast<uint32_t>(sizeof(T)) * static_cast<uint32_t>(inst.CountAt(0));
  warp.undefined().Require(inst, address, "the address");
  uint64_t offsets[kLanes];
  const MemoryRange* range =
      warp.memory().FindMerged(space, address, bytes, Access::kRead, offsets);
  if (range != nullptr) {
    if (warp.checking()) warp.races().NoteMerged(inst, *range, offsets, bytes, Access::kRead);
    LoadMerged<T>(warp, inst, *range, offsets);
  } else {
    LoadLanes(warp, inst, space);
  }
  if ((inst.semantics & kStrengthBits) != 0) warp.divergence().NotePoll(1);
  NoteStrong(warp, inst, address, space, false);
  return Step::kNext;
}

// Loads of 128-bit elements.
Step LoadWide(Warp& warp, const Inst& inst) {
  warp.undefined().Require(inst, inst[1], "the address");
  LoadLanes(warp, inst, WarpMemory::SpaceFor(inst, inst[1]));
  NoteStrong(warp, inst, inst[1], WarpMemory::SpaceFor(inst, inst[1]), false);
  return Step::kNext;
}

void StoreElement(Warp& warp, const Operand& source, Type type, int lane, const Place& place) {
  const int size = BytesOf(type);
  if (size == 16) {
    const uint8_t* at = warp.Values(source) + lane * 16;
    const uint64_t defined = warp.undefined().Bits(source, lane) == 0 ? ~uint64_t{0} : 0;
    for (int half = 0; half < 2; ++half) {
      WriteBytes(place.data + half * 8, 8, LoadLane<uint64_t>(at, half));
      WriteBytes(place.defined + half * 8, 8, defined);
    }
    return;
  }
  WriteBytes(place.data, size, warp.Bits(source, lane));
  WriteBytes(place.defined, size, ~warp.undefined().Bits(source, lane));
}

// Whether an element has bits that nobody has ever written and that this store would hand on. Those
// that it brings back to where they were loaded from, beside bits that are written, it does not.
bool HandsOnUndef(Warp& warp, const Operand& source, int lane, uint64_t address, int size,
                  const Place& place) {
  const uint64_t all = AllBits(size);
  const uint64_t undef = warp.undefined().Bits(source, lane) & all;
  if (undef == 0) return false;
  const bool returns = size <= 8 && undef != all &&
                       warp.undefined().AreThoseAt(source, lane, address) &&
                       (undef & ReadBytes(place.defined, size)) == 0;
  return !returns;
}

// All of a lane's, at an address within its space.
void StoreElements(Warp& warp, const Inst& inst, Space space, int lane, uint64_t address,
                   Place place) {
  const auto size = static_cast<uint32_t>(BytesOf(inst.type[0]));
  for (const Operand& source : inst.At(1)) {
    if (space != Space::kGlobal) {
      warp.undefined().NoteStore(inst, source, space, lane, address, size);
    } else if (HandsOnUndef(warp, source, lane, address, static_cast<int>(size), place)) {
      warp.undefined().RequireStored(inst, source, lane, static_cast<int>(size));
    }
    StoreElement(warp, source, inst.type[0], lane, place);
    place.data += size;
    place.defined += size;
    address += size;
  }
}

// Lane by lane, with a finding wherever one is due.
void StoreLanes(Warp& warp, const Inst& inst, Space space) {
  const Operand& address = inst[0];
  const auto whole = static_cast<uint32_t>(BytesOf(inst.type[0]) * inst.CountAt(1));
  ForLanes(warp.mask(), [&](int lane) {
    Place place;
    uint64_t at = warp.Address(address, lane);
    if (!warp.memory().Locate(inst, space, lane, at, whole, Access::kWrite, &place)) return;
    const Space narrow = ResolveGeneric(space, &at);
    const auto store = [&] { StoreElements(warp, inst, narrow, lane, at, place); };
    if (!warp.checking()) return store();
    warp.races().NoteStore(inst, lane, narrow, at, whole, store);
  });
}

// A lane's registers, all of them defined.
template <typename T>
void StoreDefined(Warp& warp, std::span<const Operand> sources, int lane, Place place) {
  for (const Operand& source : sources) {
    T value;  // the low bytes of a wider register
    std::memcpy(&value, warp.Values(source) + static_cast<size_t>(lane) * source.bytes,
                sizeof value);
    WriteAtomic<T>(place.data, value);
    WriteAtomic<T>(place.defined, static_cast<T>(~T{0}));
    place.data += sizeof(T);
    place.defined += sizeof(T);
  }
}

// One register of all executing lanes, all of it defined.
template <typename T>
void StoreRegister(Warp& warp, const Operand& source, const Place& base, const uint64_t* offsets,
                   uint64_t skip) {
  const uint8_t* const from = warp.Values(source);
  const size_t stride = source.bytes;
  ForLanes(warp.mask(), [&](int lane) {
    const uint64_t at = offsets[lane] + skip;
    T value;  // the low bytes of a wider register
    std::memcpy(&value, from + static_cast<size_t>(lane) * stride, sizeof value);
    WriteAtomic<T>(base.data + at, value);
    WriteAtomic<T>(base.defined + at, static_cast<T>(~T{0}));
  });
}

template <typename T>
Step Store(Warp& warp, const Inst& inst) {
  const Operand& address = inst[0];
  const Space space = WarpMemory::SpaceFor(inst, address);
  const auto sources = inst.At(1);
  const auto bytes = static_cast<uint32_t>(sizeof(T) * sources.size());
  warp.undefined().Require(inst, address, "the address");
  NoteStrong(warp, inst, address, space, true);
  uint32_t undef = 0;
  for (const Operand& source : sources) undef |= warp.undefined().Lanes(source);
  uint64_t offsets[kLanes];
  const MemoryRange* range = nullptr;
  if ((undef & warp.mask()) == 0) {
    range = warp.memory().FindMerged(space, address, bytes, Access::kWrite, offsets);
  }
  if (range == nullptr) {
    StoreLanes(warp, inst, space);
    return Step::kNext;
  }
  if (warp.races().NeedsNotesByLane(*range)) {
    warp.races().NoteStores(inst, warp.mask(), *range, offsets, bytes, [&](int lane) {
      StoreDefined<T>(warp, sources, lane,
                      {range->data + offsets[lane], range->defined + offsets[lane]});
    });
    return Step::kNext;
  }
  if (warp.checking()) warp.races().NoteMerged(inst, *range, offsets, bytes, Access::kWrite);
  uint64_t skip = 0;
  for (const Operand& source : sources) {
    StoreRegister<T>(warp, source, {range->data, range->defined}, offsets, skip);
    skip += sizeof(T);
  }
  return Step::kNext;
}

Step StoreWide(Warp& warp, const Inst& inst) {
  warp.undefined().Require(inst, inst[0], "the address");
  NoteStrong(warp, inst, inst[0], WarpMemory::SpaceFor(inst, inst[0]), true);
  StoreLanes(warp, inst, WarpMemory::SpaceFor(inst, inst[0]));
  return Step::kNext;
}

// Elements are extended by their sign where their type has one.
Handler LoadFor(const Inst& inst, int most) {
  const int size = BytesOf(inst.type[0]);
  if (inst.CountAt(0) * size > most) return nullptr;
  const bool is_signed = IsSigned(inst.type[0]);
  switch (size) {
    case 1:
      return is_signed ? &Load<int8_t> : &Load<uint8_t>;
    case 2:
      return is_signed ? &Load<int16_t> : &Load<uint16_t>;
    case 4:
      return is_signed ? &Load<int32_t> : &Load<uint32_t>;
    case 8:
      return &Load<uint64_t>;
    default:
      return &LoadWide;
  }
}

Handler StoreFor(const Inst& inst) {
  const int size = BytesOf(inst.type[0]);
  if (inst.CountAt(1) * size > 32) return nullptr;
  switch (size) {
    case 1:
      return &Store<uint8_t>;
    case 2:
      return &Store<uint16_t>;
    case 4:
      return &Store<uint32_t>;
    case 8:
      return &Store<uint64_t>;
    default:
      return &StoreWide;
  }
}

}  // namespace

PTX_BIND(Ldu) { return LoadFor(inst, 16); }
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
    warp.undefined().Clear(i[0], warp.mask());
    return Step::kNext;
  };
}
PTX_BIND(Ld) { return LoadFor(inst, 32); }
PTX_BIND(St) { return StoreFor(inst); }

}  // namespace tarsia::ptx
