#include "ptx/exec/wgmma_descriptor.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarsia::ptx {
namespace {

constexpr uint32_t kSwizzles[] = {0, 128, 64, 32};
constexpr uint32_t kAtomRows = 8;  // after which the pattern of a swizzle repeats
constexpr uint32_t kLineBytes = 128;
constexpr uint64_t kFields = 0xC00E'3FFF'3FFF'3FFF;

// A field of 14 bits in units of 16 bytes.
uint32_t BytesAt(uint64_t bits, int first) {
  return static_cast<uint32_t>(bits >> first & 0x3FFF) * kChunkBytes;
}

}  // namespace

WgmmaDescriptor::WgmmaDescriptor(uint64_t bits)
    : start(BytesAt(bits, 0)),
      leading(BytesAt(bits, 16)),
      stride(BytesAt(bits, 32)),
      base_offset(static_cast<uint32_t>(bits >> 49 & 7)),
      swizzle(kSwizzles[bits >> 62]),
      rest(bits & ~kFields) {}

uint32_t WgmmaDescriptor::ChunkAddress(bool mn_major, uint32_t row, uint32_t chunk) const {
  const uint32_t inner = row % kAtomRows;
  const uint32_t outer = row / kAtomRows;
  if (swizzle == 0) {
    return start + kChunkBytes * inner +
           (mn_major ? leading * outer + stride * chunk : stride * outer + leading * chunk);
  }
  const uint32_t width = swizzle / kChunkBytes;  // chunks
  const uint32_t linear =
      start + swizzle * inner + stride * outer +
      (mn_major ? kChunkBytes * (chunk % width) + leading * (chunk / width) : kChunkBytes * chunk);
  const uint32_t line = (linear / kLineBytes - base_offset) % width;
  return linear ^ line * kChunkBytes;
}

std::string WgmmaDescriptor::Fault(bool mn_major, uint32_t chunks) const {
  if (rest != 0) return fmt::format("its bits 0x{:x} mean nothing and must be 0", rest);
  if (swizzle == 0) {
    if (base_offset == 0) return "";
    return fmt::format("its base offset {} needs a swizzle, and it has none", base_offset);
  }
  // It may start in any line of the pattern, which goes by the addresses. (A start further on in a
  // line of several rows is one beyond its own row as a rule.)
  const uint32_t within = start % kLineBytes;
  const uint32_t row = mn_major ? std::min(chunks * kChunkBytes, swizzle) : chunks * kChunkBytes;
  if (within + row <= swizzle) return "";
  return fmt::format("it starts at byte {} of a row of its swizzle of {} bytes, and reads {} there",
                     within, swizzle, row);
}

}  // namespace tarsia::ptx
