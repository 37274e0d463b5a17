#include "dtypes/bits.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "dtypes/bits_simd.h"

namespace tarsia {
namespace {

using internal::MakeStep;
using internal::Step;

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

// Spreads eight adjacent codes in the low bits of a word to one per byte.
uint64_t Spread(const Step* steps, uint64_t word) {
  for (int i = 0; i < 3; ++i) {
    word = (word & steps[i].low) | (word << steps[i].shift & steps[i].high);
  }
  return word;
}

// The inverse; bits of the bytes above the codes are dropped.
uint64_t Gather(const Step* steps, uint64_t word) {
  for (int i = 3; i-- > 0;) {
    word = (word & steps[i].low) | (word & steps[i].high) >> steps[i].shift;
  }
  return word;
}

// Groups of 8 elements take `width` bytes each, so the bit offset of a group in its first byte is
// that of the stream, and one load of 64 bits holds the at most 8 * 7 + 7 bits. Vectors read as
// many groups as possible, words the rest.
size_t UnpackGroups(const uint8_t* src, int offset, int width, size_t n, uint8_t* dst) {
  const auto group = static_cast<size_t>(width);
  const auto bytes = static_cast<size_t>(BytesForBits(static_cast<uint64_t>(offset) + n * group));
  const Step steps[] = {MakeStep(width, 0), MakeStep(width, 1), MakeStep(width, 2)};
  size_t done = internal::UnpackVectors(src, bytes, offset, width, n, dst);
  for (; done + 8 <= n; done += 8) {
    const size_t at = done / 8 * group;
    const uint64_t word = LoadBytes(src + at, std::min<size_t>(bytes - at, 8)) >> offset;
    const uint64_t codes = Spread(steps, word);
    std::memcpy(dst + done, &codes, 8);
  }
  return done;
}

size_t PackGroups(const uint8_t* src, int width, size_t n, uint8_t* dst, int offset) {
  const auto group = static_cast<size_t>(width);
  const Step steps[] = {MakeStep(width, 0), MakeStep(width, 1), MakeStep(width, 2)};
  size_t done = offset == 0 ? internal::PackVectors(src, width, n, dst) : 0;
  if (done + 8 > n) return done;
  uint64_t carry = offset != 0 ? *dst & LowMask(offset) : 0;  // bits before this group's
  for (; done + 8 <= n; done += 8) {
    carry |= Gather(steps, LoadBytes(src + done, 8)) << offset;
    std::memcpy(dst + done / 8 * group, &carry, group);
    carry >>= 8 * width;
  }
  if (offset != 0) {
    uint8_t& last = dst[done / 8 * group];
    last = static_cast<uint8_t>((last & ~LowMask(offset)) | carry);
  }
  return done;
}

constexpr size_t ContainerOfWidth(int width) {
  return width <= 8 ? 1 : width <= 16 ? 2 : width <= 32 ? 4 : 8;
}

// Whether the stream is already an array of containers.
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
    done = UnpackGroups(src + bit_offset / 8, static_cast<int>(bit_offset % 8), width, n, out);
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
    done = PackGroups(in, width, n, dst + bit_offset / 8, static_cast<int>(bit_offset % 8));
  }
  for (size_t i = done; i < n; ++i) {
    const uint64_t value = LoadBytes(in + i * container, container);
    WriteBits(dst, bit_offset + i * static_cast<uint64_t>(width), width, value);
  }
}

}  // namespace tarsia
