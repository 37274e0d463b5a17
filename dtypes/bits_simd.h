// The vector kernels of bits.h: codes of 1 to 7 bits between a stream and bytes.
#ifndef TARSIA_DTYPES_BITS_SIMD_H_
#define TARSIA_DTYPES_BITS_SIMD_H_

#include <cstddef>
#include <cstdint>

namespace tarsia::internal {

// Converts between eight adjacent codes of N bits in the low 8 N bits of a word and one code per
// byte: each of three steps moves the upper half of every field to its place.
//   step  field of the stream  field of the bytes
//   0     4 N                  32
//   1     2 N                  16
//   2     N                    8
struct Step {
  int shift;      // how far apart the halves move
  uint64_t low;   // the lower halves
  uint64_t high;  // the upper halves, where bytes have them
};

constexpr Step MakeStep(int width, int step) {
  const int stream = width * (4 >> step), bytes = 32 >> step;
  const uint64_t field = (uint64_t{1} << stream) - 1;
  Step out{bytes - stream, 0, 0};
  for (int at = 0; at < 64; at += 2 * bytes) {
    out.low |= field << at;
    out.high |= field << (at + bytes);
  }
  return out;
}

// Reads as many of n codes as fill whole vectors, starting at bit `offset` (0 to 7), and returns
// their number, a multiple of 8. Reads no byte past `bytes`.
size_t UnpackVectors(const uint8_t* src, size_t bytes, int offset, int width, size_t n,
                     uint8_t* dst);
// Writes as many of n codes as fill whole vectors, starting at the first bit of dst, and returns
// their number, a multiple of 8. Later bytes that belong to later groups of 8 codes may change.
size_t PackVectors(const uint8_t* src, int width, size_t n, uint8_t* dst);

}  // namespace tarsia::internal

#endif  // TARSIA_DTYPES_BITS_SIMD_H_
