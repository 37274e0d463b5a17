// Bit operations of PTX as plain functions: instructions compute with them, and undefined bits move
// by them.
#ifndef TARSIA_PTX_MACHINE_BITOPS_H_
#define TARSIA_PTX_MACHINE_BITOPS_H_

#include <algorithm>
#include <cstdint>

namespace tarsia::ptx {

// A 32-bit word of {high, low} shifted left, or right. `by` is at most 32.
inline uint32_t FunnelLeft(uint32_t low, uint32_t high, uint32_t by) {
  return static_cast<uint32_t>((((uint64_t{high} << 32) | low) << by) >> 32);
}
inline uint32_t FunnelRight(uint32_t low, uint32_t high, uint32_t by) {
  return static_cast<uint32_t>(((uint64_t{high} << 32) | low) >> by);
}

// Byte i of the result is that byte of {b, a} which nibble i of the selector names, or, where the
// nibble's high bit is set, its sign eight times.
inline uint32_t PermuteBytes(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t pool = (uint64_t{b} << 32) | a;
  uint32_t out = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t nibble = selector >> (4 * i) & 0xF;
    uint32_t byte = static_cast<uint32_t>(pool >> (8 * (nibble & 7)) & 0xFF);
    if ((nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
    out |= byte << (8 * i);
  }
  return out;
}

// Bits [position, position + length) of a `width`-bit value, extended with zeros, or with the
// field's highest bit (the value's, where the field goes beyond it).
inline uint64_t ExtractField(uint64_t value, uint32_t position, uint32_t length, uint32_t width,
                             bool is_signed) {
  position &= 0xFF;
  length &= 0xFF;
  const uint32_t highest = std::min(position + length, width) - 1;
  const bool fill = is_signed && length != 0 && (value >> highest & 1) != 0;
  uint64_t out = 0;
  for (uint32_t i = 0; i < width; ++i) {
    const bool inside = i < length && position + i < width;
    const bool bit = inside ? (value >> (position + i) & 1) != 0 : fill;
    out |= uint64_t{bit} << i;
  }
  return out;
}

// `base` with its bits [position, position + length) from the low bits of `value`.
inline uint64_t InsertField(uint64_t value, uint64_t base, uint32_t position, uint32_t length,
                            uint32_t width) {
  position &= 0xFF;
  length &= 0xFF;
  for (uint32_t i = 0; i < length && position + i < width; ++i) {
    const uint64_t bit = uint64_t{1} << (position + i);
    base = (value >> i & 1) != 0 ? base | bit : base & ~bit;
  }
  return base;
}

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_BITOPS_H_
