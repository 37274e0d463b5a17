#include "dtypes/bits.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tarsia {
namespace {

static_assert(std::endian::native == std::endian::little, "codes are copied as little-endian");

constexpr uint64_t LowMask(int width) {
  return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
}

// The `count` <= 8 bytes at p as an integer.
uint64_t LoadBytes(const uint8_t* p, size_t count) {
  uint64_t value = 0;
  std::memcpy(&value, p, count);
  return value;
}

// Whole groups of 8 elements take kWidth bytes each, so a group's bit offset in its first byte is
// that of the stream, and below 8 * 7 + 8 = 64 bits one load holds it all.
template <int kWidth>
size_t UnpackGroups(const uint8_t* src, int offset, size_t n, uint8_t* dst) {
  static_assert(kWidth >= 1 && kWidth <= 7);
  const size_t bytes = static_cast<size_t>(
      BytesForBits(static_cast<uint64_t>(offset) + n * static_cast<size_t>(kWidth)));
  const size_t group_bytes = kWidth + (offset != 0 ? 1u : 0u);
  const size_t groups = n / 8;
  for (size_t g = 0; g < groups; ++g) {
    const size_t at = g * kWidth;
    const size_t load = bytes - at >= 8 ? 8 : group_bytes;
    uint64_t value = (load == 8 ? LoadBytes(src + at, 8) : LoadBytes(src + at, load)) >> offset;
    uint8_t* out = dst + g * 8;
    for (int i = 0; i < 8; ++i) {
      out[i] = static_cast<uint8_t>(value & LowMask(kWidth));
      value >>= kWidth;
    }
  }
  return groups * 8;
}

template <int kWidth>
size_t PackGroups(const uint8_t* src, size_t n, uint8_t* dst, int offset) {
  static_assert(kWidth >= 1 && kWidth <= 7);
  const size_t groups = n / 8;
  if (groups == 0) return 0;
  uint64_t carry = offset != 0 ? *dst & LowMask(offset) : 0;  // bits before this group's
  for (size_t g = 0; g < groups; ++g) {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) {
      value |= (src[g * 8 + static_cast<size_t>(i)] & LowMask(kWidth)) << (i * kWidth);
    }
    carry |= value << offset;
    std::memcpy(dst + g * kWidth, &carry, kWidth);
    carry >>= 8 * kWidth;
  }
  if (offset != 0) {
    uint8_t& last = dst[groups * kWidth];
    last = static_cast<uint8_t>((last & ~LowMask(offset)) | carry);
  }
  return groups * 8;
}

size_t UnpackSmall(const uint8_t* src, int offset, int width, size_t n, uint8_t* dst) {
  switch (width) {
    case 1:
      return UnpackGroups<1>(src, offset, n, dst);
    case 2:
      return UnpackGroups<2>(src, offset, n, dst);
    case 3:
      return UnpackGroups<3>(src, offset, n, dst);
    case 4:
      return UnpackGroups<4>(src, offset, n, dst);
    case 5:
      return UnpackGroups<5>(src, offset, n, dst);
    case 6:
      return UnpackGroups<6>(src, offset, n, dst);
    case 7:
      return UnpackGroups<7>(src, offset, n, dst);
    default:
      return 0;
  }
}

size_t PackSmall(const uint8_t* src, int width, size_t n, uint8_t* dst, int offset) {
  switch (width) {
    case 1:
      return PackGroups<1>(src, n, dst, offset);
    case 2:
      return PackGroups<2>(src, n, dst, offset);
    case 3:
      return PackGroups<3>(src, n, dst, offset);
    case 4:
      return PackGroups<4>(src, n, dst, offset);
    case 5:
      return PackGroups<5>(src, n, dst, offset);
    case 6:
      return PackGroups<6>(src, n, dst, offset);
    case 7:
      return PackGroups<7>(src, n, dst, offset);
    default:
      return 0;
  }
}

constexpr size_t ContainerOfWidth(int width) {
  return width <= 8 ? 1 : width <= 16 ? 2 : width <= 32 ? 4 : 8;
}

// Whether the stream is an array of containers as it lies.
constexpr bool IsPlainArray(uint64_t bit_offset, int width) {
  return bit_offset % 8 == 0 && (width == 8 || width == 16 || width == 32 || width == 64);
}

}  // namespace

uint64_t ReadBits(const uint8_t* p, uint64_t bit, int width) {
  p += bit / 8;
  const int offset = static_cast<int>(bit % 8);
  const int bytes = (offset + width + 7) / 8;  // 1 to 9
  uint64_t value = LoadBytes(p, static_cast<size_t>(std::min(bytes, 8))) >> offset;
  if (bytes == 9) value |= uint64_t{p[8]} << (64 - offset);
  return value & LowMask(width);
}

void WriteBits(uint8_t* p, uint64_t bit, int width, uint64_t value) {
  p += bit / 8;
  const int offset = static_cast<int>(bit % 8);
  const int bytes = (offset + width + 7) / 8;
  const size_t low_bytes = static_cast<size_t>(std::min(bytes, 8));
  const uint64_t mask = LowMask(width);
  value &= mask;
  const uint64_t low = (LoadBytes(p, low_bytes) & ~(mask << offset)) | value << offset;
  std::memcpy(p, &low, low_bytes);
  if (bytes == 9) {
    const int done = 64 - offset;  // bits of the value that the first 8 bytes took; offset > 0
    p[8] = static_cast<uint8_t>((p[8] & ~(mask >> done)) | value >> done);
  }
}

void UnpackBits(const uint8_t* src, uint64_t bit_offset, int width, size_t n, void* dst) {
  if (n == 0) return;
  const size_t container = ContainerOfWidth(width);
  if (IsPlainArray(bit_offset, width)) {
    std::memcpy(dst, src + bit_offset / 8, n * container);
    return;
  }
  auto* out = static_cast<uint8_t*>(dst);
  size_t done = 0;
  if (width < 8) {
    done = UnpackSmall(src + bit_offset / 8, static_cast<int>(bit_offset % 8), width, n, out);
  }
  for (size_t i = done; i < n; ++i) {
    const uint64_t value = ReadBits(src, bit_offset + i * static_cast<uint64_t>(width), width);
    std::memcpy(out + i * container, &value, container);
  }
}

void PackBits(const void* src, int width, size_t n, uint8_t* dst, uint64_t bit_offset) {
  if (n == 0) return;
  const size_t container = ContainerOfWidth(width);
  if (IsPlainArray(bit_offset, width)) {
    std::memcpy(dst + bit_offset / 8, src, n * container);
    return;
  }
  const auto* in = static_cast<const uint8_t*>(src);
  size_t done = 0;
  if (width < 8) {
    done = PackSmall(in, width, n, dst + bit_offset / 8, static_cast<int>(bit_offset % 8));
  }
  for (size_t i = done; i < n; ++i) {
    const uint64_t value = LoadBytes(in + i * container, container);
    WriteBits(dst, bit_offset + i * static_cast<uint64_t>(width), width, value);
  }
}

}  // namespace tarsia
