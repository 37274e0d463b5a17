// Bit streams: element k of width N occupies bits [k*N, (k+1)*N), least significant bit first,
// bytes in ascending order. No function accesses a byte that holds none of the given bits. The
// caller must order writers of different bits of one byte. Widths are 1 to 64; ranges are not
// checked.
#ifndef TARSIA_DTYPES_BITS_H_
#define TARSIA_DTYPES_BITS_H_

#include <cstddef>
#include <cstdint>

namespace tarsia {

// Bytes of a stream of `bits` bits that starts on a byte.
constexpr uint64_t BytesForBits(uint64_t bits) { return bits / 8 + (bits % 8 != 0 ? 1 : 0); }

// Bits [bit, bit + width) counted from p, in the low bits of the result.
uint64_t ReadBits(const uint8_t* p, uint64_t bit, int width);

// Replaces bits [bit, bit + width); higher bits of `value` are ignored, other bits are kept.
void WriteBits(uint8_t* p, uint64_t bit, int width, uint64_t value);

// Reads n elements of `width` bits from bit `bit_offset` on into native containers (1 byte for
// widths up to 8, 2 up to 16, 4 up to 32, 8 up to 64), zero-extended.
void UnpackBits(const uint8_t* src, uint64_t bit_offset, int width, size_t n, void* dst);

// The inverse: writes the low `width` bits of n containers; other bits of the stream are kept.
void PackBits(const void* src, int width, size_t n, uint8_t* dst, uint64_t bit_offset);

}  // namespace tarsia

#endif  // TARSIA_DTYPES_BITS_H_
