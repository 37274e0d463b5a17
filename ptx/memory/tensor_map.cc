#include "ptx/memory/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ptx/table/diagnostics.h"

namespace tarsia::ptx {
namespace {

constexpr char kMagic[] = {'T', 'M', 'A', 'P'};
constexpr size_t kSumAt = TensorMap::kBytes - 4;

constexpr MapTypeInfo kTypes[] = {
#define PTX_MAP_TYPE(constant, name, type, flushes) {name, type, flushes},
#include "ptx/table/tensor_types.def"
#undef PTX_MAP_TYPE
};

Diagnostic Bad(std::string_view why) { return MakeDiagnostic(diag::kBadTensorMap, {}, why); }

uint64_t SpanOf(MapSwizzle swizzle) {
  constexpr uint64_t kSpans[] = {0, 32, 64, 128};
  return kSpans[static_cast<size_t>(swizzle)];
}

Status CheckGlobal(const TensorMap::Tiles& tiles) {
  const uint64_t align = tiles.interleave == MapInterleave::k32B ? 32 : 16;
  if (tiles.address % align != 0) {
    return Bad(fmt::format("the address 0x{:x} is not a multiple of {}", tiles.address, align));
  }
  for (int i = 0; i < tiles.rank; ++i) {
    const uint64_t size = tiles.sizes[static_cast<size_t>(i)];
    if (size == 0 || size > uint64_t{1} << 32) {
      return Bad(fmt::format("size {} of dimension {} is not in 1 to 2^32", size, i));
    }
  }
  for (int i = 1; i < tiles.rank; ++i) {
    const uint64_t stride = tiles.strides[static_cast<size_t>(i - 1)];
    if (stride % align != 0 || stride >= uint64_t{1} << 40) {
      return Bad(fmt::format("stride {} of dimension {} is not a multiple of {} below 2^40", stride,
                             i, align));
    }
  }
  return OkStatus();
}

Status CheckBox(const TensorMap::Tiles& tiles) {
  for (int i = 0; i < tiles.rank; ++i) {
    const uint32_t box = tiles.box[static_cast<size_t>(i)];
    const uint32_t step = tiles.element_strides[static_cast<size_t>(i)];
    if (box == 0 || box > 256) {
      return Bad(fmt::format("box {} of dimension {} is not in 1 to 256", box, i));
    }
    if (step == 0 || step > 8) {
      return Bad(fmt::format("element stride {} of dimension {} is not in 1 to 8", step, i));
    }
  }
  if (tiles.interleave != MapInterleave::kNone) return OkStatus();
  const uint64_t inner =
      uint64_t{tiles.box[0]} * static_cast<uint64_t>(BytesOf(InfoOf(tiles.type).type));
  if (inner % 16 != 0) {
    return Bad(fmt::format("the box's {} bytes of dimension 0 are not a multiple of 16", inner));
  }
  const uint64_t span = SpanOf(tiles.swizzle);
  if (span != 0 && inner > span) {
    return Bad(fmt::format("the box's {} bytes of dimension 0 are more than the swizzle's {}",
                           inner, span));
  }
  return OkStatus();
}

template <typename T>
void Put(uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <typename T>
T Take(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

uint32_t SumOf(const uint8_t* bytes) {
  uint32_t sum = 2166136261U;
  for (size_t i = 0; i < kSumAt; ++i) sum = (sum ^ bytes[i]) * 16777619U;
  return sum;
}

}  // namespace

const MapTypeInfo& InfoOf(MapType type) { return kTypes[static_cast<size_t>(type)]; }

Result<TensorMap> TensorMap::Tiled(const Tiles& tiles) {
  if (tiles.rank < 1 || tiles.rank > kMaxRank) {
    return Bad(fmt::format("rank {} is not in 1 to 5", tiles.rank));
  }
  if (tiles.interleave != MapInterleave::kNone && tiles.rank < 3) {
    return Bad("an interleaved tensor has at least 3 dimensions");
  }
  if (tiles.interleave == MapInterleave::k32B && tiles.swizzle != MapSwizzle::k32B) {
    return Bad("an interleave of 32 bytes goes with a swizzle of 32 bytes");
  }
  const Type type = InfoOf(tiles.type).type;
  if (tiles.fill == MapFill::kNaN && !IsFloat(type)) {
    return Bad(fmt::format("{} has no NaN to fill with", InfoOf(tiles.type).name));
  }
  TARSIA_CHECK(CheckGlobal(tiles));
  TARSIA_CHECK(CheckBox(tiles));
  return TensorMap(tiles);
}

std::array<uint8_t, TensorMap::kBytes> TensorMap::Pack(const Tiles& tiles) {
  std::array<uint8_t, kBytes> bytes{};
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  bytes[4] = static_cast<uint8_t>(tiles.type);
  bytes[5] = static_cast<uint8_t>(tiles.rank);
  bytes[6] = static_cast<uint8_t>(tiles.interleave);
  bytes[7] = static_cast<uint8_t>(tiles.swizzle);
  bytes[8] = static_cast<uint8_t>(tiles.promotion);
  bytes[9] = static_cast<uint8_t>(tiles.fill);
  for (size_t i = 0; i < 5; ++i) {
    Put(&bytes[10 + 2 * i], static_cast<uint16_t>(tiles.box[i]));
    bytes[20 + i] = static_cast<uint8_t>(tiles.element_strides[i]);
    Put(&bytes[40 + 4 * i], static_cast<uint32_t>(tiles.sizes[i] - 1));
  }
  Put(&bytes[32], tiles.address);
  for (size_t i = 0; i < 4; ++i) Put(&bytes[64 + 8 * i], tiles.strides[i]);
  Put(&bytes[kSumAt], SumOf(bytes.data()));
  return bytes;
}

std::array<uint8_t, TensorMap::kBytes> TensorMap::Encode() const { return Pack(tiles_); }

std::optional<TensorMap::Tiles> TensorMap::Peek(const uint8_t* bytes) {
  if (std::all_of(bytes, bytes + kBytes, [](uint8_t byte) { return byte == 0; })) {
    Tiles blank;
    blank.rank = 0;
    blank.box.fill(0);
    blank.element_strides.fill(0);
    return blank;
  }
  const bool known = std::memcmp(bytes, kMagic, sizeof kMagic) == 0 &&
                     Take<uint32_t>(bytes + kSumAt) == SumOf(bytes) &&
                     bytes[4] < std::size(kTypes) && bytes[6] <= 2 && bytes[7] <= 3 &&
                     bytes[8] <= 3 && bytes[9] <= 1;
  if (!known) return std::nullopt;
  Tiles tiles;
  tiles.type = static_cast<MapType>(bytes[4]);
  tiles.rank = bytes[5];
  tiles.interleave = static_cast<MapInterleave>(bytes[6]);
  tiles.swizzle = static_cast<MapSwizzle>(bytes[7]);
  tiles.promotion = static_cast<MapPromotion>(bytes[8]);
  tiles.fill = static_cast<MapFill>(bytes[9]);
  for (size_t i = 0; i < 5; ++i) {
    tiles.box[i] = Take<uint16_t>(bytes + 10 + 2 * i);
    tiles.element_strides[i] = bytes[20 + i];
    tiles.sizes[i] = uint64_t{Take<uint32_t>(bytes + 40 + 4 * i)} + 1;
  }
  tiles.address = Take<uint64_t>(bytes + 32);
  for (size_t i = 0; i < 4; ++i) tiles.strides[i] = Take<uint64_t>(bytes + 64 + 8 * i);
  return tiles;
}

std::optional<TensorMap> TensorMap::Decode(const uint8_t* bytes) {
  const auto tiles = Peek(bytes);
  if (!tiles) return std::nullopt;
  auto map = Tiled(*tiles);
  if (!map.ok()) return std::nullopt;
  return *map;
}

uint32_t TensorMap::ElementBytes() const {
  return static_cast<uint32_t>(BytesOf(InfoOf(tiles_.type).type));
}

// Without an interleave the innermost dimension has no stride.
uint32_t TensorMap::Step(int dimension) const {
  if (dimension == 0 && tiles_.interleave == MapInterleave::kNone) return 1;
  return tiles_.element_strides[static_cast<size_t>(dimension)];
}

uint32_t TensorMap::Extent(int dimension) const {
  if (dimension >= tiles_.rank) return 1;
  const uint32_t step = Step(dimension);
  return (tiles_.box[static_cast<size_t>(dimension)] + step - 1) / step;
}

uint64_t TensorMap::BoxBytes() const {
  uint64_t bytes = ElementBytes();
  for (int i = 0; i < tiles_.rank; ++i) bytes *= Extent(i);
  return bytes;
}

uint64_t TensorMap::RowPitch() const {
  return std::max<uint64_t>(uint64_t{Extent(0)} * ElementBytes(), SpanOf(tiles_.swizzle));
}

uint64_t TensorMap::Swizzled(uint64_t address) const {
  constexpr uint64_t kMasks[] = {0, 1, 3, 7};
  return address ^ (address >> 7 & kMasks[static_cast<size_t>(tiles_.swizzle)]) << 4;
}

uint64_t TensorMap::FillBits() const {
  if (tiles_.fill == MapFill::kZeros) return 0;
  return (uint64_t{1} << (ElementBytes() * 8 - 1)) - 1;  // PTX's NaN: all but the sign
}

}  // namespace tarsia::ptx
