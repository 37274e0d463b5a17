// tensormap.replace, which changes one field of a tensor map in memory, and
// tensormap.cp_fenceproxy, which brings a map from shared to global memory. What a map says is
// checked when it is used: one that is changed field by field need not make sense in between.
#include <algorithm>
#include <cstring>

#include "ptx/exec/exec.h"
#include "ptx/machine/block.h"
#include "ptx/memory/tensor_map.h"

namespace tarsia::ptx {
namespace {

// The 128 bytes of a map, as two accesses, since its address is a multiple of 64.
struct MapPlace {
  std::array<Place, 2> halves;

  [[nodiscard]] std::array<uint8_t, TensorMap::kBytes> Read() const {
    std::array<uint8_t, TensorMap::kBytes> bytes;
    for (size_t i = 0; i < 2; ++i) {
      std::memcpy(&bytes[i * TensorMap::kAlign], halves[i].data, TensorMap::kAlign);
    }
    return bytes;
  }
  [[nodiscard]] bool defined() const {
    return std::ranges::all_of(halves, [](const Place& half) {
      return std::all_of(half.defined, half.defined + TensorMap::kAlign,
                         [](uint8_t bits) { return bits == 0xFF; });
    });
  }
  void Write(const std::array<uint8_t, TensorMap::kBytes>& bytes) const {
    for (size_t i = 0; i < 2; ++i) {
      std::memcpy(halves[i].data, &bytes[i * TensorMap::kAlign], TensorMap::kAlign);
    }
  }
};

std::optional<MapPlace> FindMap(Warp& warp, const Inst& inst, const Operand& address, Space space,
                                int lane, Access access) {
  MapPlace place;
  for (size_t i = 0; i < 2; ++i) {
    const uint64_t at = warp.Address(address, lane) + i * TensorMap::kAlign;
    if (!warp.memory().Find(inst, space, lane, at, TensorMap::kAlign, access, &place.halves[i])) {
      return std::nullopt;
    }
  }
  return place;
}

// The types in the order of PTX, which is not the driver's.
constexpr MapType kElementTypes[] = {
    MapType::kU8,   MapType::kU16,  MapType::kU32,    MapType::kS32,    MapType::kU64,
    MapType::kS64,  MapType::kF16,  MapType::kF32,    MapType::kF32Ftz, MapType::kF64,
    MapType::kBF16, MapType::kTF32, MapType::kTF32Ftz};

// A field without a number. A rank is one less than the dimensions.
void SetField(const Inst& inst, TensorMap::Tiles* tiles, uint64_t value) {
  if (inst.Has(Mod::kGlobalAddress)) tiles->address = value;
  if (inst.Has(Mod::kRank)) tiles->rank = static_cast<int>(std::min<uint64_t>(value, 254) + 1);
  if (inst.Has(Mod::kElemtype)) tiles->type = kElementTypes[value];
  if (inst.Has(Mod::kInterleaveLayout)) tiles->interleave = static_cast<MapInterleave>(value);
  if (inst.Has(Mod::kSwizzleMode)) tiles->swizzle = static_cast<MapSwizzle>(value);
  if (inst.Has(Mod::kFillMode)) tiles->fill = static_cast<MapFill>(value);
}

// One of a dimension. What is too large for its bits in a map stays too large.
void SetNumbered(const Inst& inst, TensorMap::Tiles* tiles, size_t number, uint64_t value) {
  if (inst.Has(Mod::kBoxDim)) {
    tiles->box[number] = static_cast<uint32_t>(std::min<uint64_t>(value, UINT16_MAX));
  } else if (inst.Has(Mod::kGlobalDim)) {
    tiles->sizes[number] = value;
  } else if (inst.Has(Mod::kElementStride)) {
    tiles->element_strides[number] = static_cast<uint32_t>(std::min<uint64_t>(value, UINT8_MAX));
  } else {
    tiles->strides[number] = value;
  }
}

template <bool kNumbered>
Step Replace(Warp& warp, const Inst& inst) {
  const Operand& value = inst[kNumbered ? 2 : 1];
  warp.undefined().Require(inst, inst[0], "the address");
  warp.undefined().Require(inst, value, "the new value");
  ForLanes(warp.mask(), [&](int lane) {
    const auto place = FindMap(warp, inst, inst[0], inst.space, lane, Access::kWrite);
    if (!place) return;
    if (warp.checking() && !place->defined()) {
      warp.Report(inst, FindingKind::kUninitialised, lane,
                  "the tensor map depends on bits that were never written");
    }
    auto tiles = TensorMap::Peek(place->Read().data());
    if (!tiles) {
      return warp.Report(
          inst, FindingKind::kOutOfBounds, lane,
          fmt::format("the 128 bytes at 0x{:x} are not a tensor map", warp.Address(inst[0], lane)));
    }
    if (kNumbered) {
      SetNumbered(inst, &*tiles, inst[1].immediate, warp.Bits(value, lane));
    } else {
      SetField(inst, &*tiles, warp.Bits(value, lane));
    }
    place->Write(TensorMap::Pack(*tiles));
  });
  return Step::kNext;
}

// How many values an enumeration has; 0 for other fields.
uint64_t CountOf(const Inst& inst) {
  if (inst.Has(Mod::kElemtype)) return std::size(kElementTypes);
  if (inst.Has(Mod::kInterleaveLayout)) return 3;
  if (inst.Has(Mod::kSwizzleMode)) return 4;
  return inst.Has(Mod::kFillMode) ? 2 : 0;
}

// All lanes of a warp execute it together, once, and it ends with a fence of theirs.
Step CopyAndFence(Warp& warp, const Inst& inst) {
  warp.divergence().RequireAligned(inst);
  warp.undefined().Require(inst, inst[0], "the address");
  warp.undefined().Require(inst, inst[1], "the address");
  const int lane = std::countr_zero(warp.mask());
  const auto from = FindMap(warp, inst, inst[1], Space::kShared, lane, Access::kRead);
  const auto to = FindMap(warp, inst, inst[0], Space::kGlobal, lane, Access::kWrite);
  if (!from || !to) return Step::kNext;
  to->Write(from->Read());
  for (size_t i = 0; i < 2; ++i) {
    std::memcpy(to->halves[i].defined, from->halves[i].defined, TensorMap::kAlign);
  }
  if (warp.checking()) warp.races().NoteFence(inst, ScopeOf(inst));
  return Step::kNext;
}

}  // namespace

PTX_BIND(TensormapReplace) {
  const bool wide = inst.Has(Mod::kGlobalAddress);
  if (BytesOf(inst.type[0]) != (wide ? 8 : 4)) return nullptr;
  const uint64_t count = CountOf(inst);
  if (count != 0 && (inst[1].bank == 0 || inst[1].immediate >= count)) return nullptr;
  return &Replace<false>;
}
PTX_BIND(TensormapReplaceNumbered) {
  const bool wide = inst.Has(Mod::kGlobalStride);
  if (BytesOf(inst.type[0]) != (wide ? 8 : 4)) return nullptr;
  if (inst[1].bank == 0 || inst[1].immediate >= (wide ? 4 : 5)) return nullptr;
  return &Replace<true>;
}
PTX_BIND(TensormapCopy) {
  const bool fits = inst[2].bank != 0 && inst[2].immediate == TensorMap::kBytes;
  return fits ? &CopyAndFence : nullptr;
}

}  // namespace tarsia::ptx
