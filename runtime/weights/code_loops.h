// The loops of packing that touch each code, for the instruction set that dtypes/simd.h chooses.
// All give the same bytes.
#ifndef TARSIA_RUNTIME_WEIGHTS_CODE_LOOPS_H_
#define TARSIA_RUNTIME_WEIGHTS_CODE_LOOPS_H_

#include <cstdint>
#include <span>

namespace tarsia {

inline constexpr int64_t kCacheLine = 64;  // bytes

// The codes of the threads of a warp for a slot lie together: codes[slot * kCodeLanes + thread].
inline constexpr int64_t kCodeLanes = 32;

// Bits of a code that move together: the code, shifted left by `shift` (right if it is negative),
// has the bits `mask` of a byte, of those that a shifted code can have.
struct CodeMove {
  uint32_t slot = 0;
  uint8_t mask = 0;
  int8_t shift = 0;
};

// Words of each thread of a warp that lie together: 1, 2 or 4. Byte b of word w is made by the
// moves from first[4 * w + b] to first[4 * w + b + 1] of `moves`; word w of thread t is word t *
// words + w of `out`.
void MakeWords(const uint8_t* codes, const CodeMove* moves, const uint32_t* first, int64_t words,
               uint8_t* out);

// Slots whose thread t has the code of row t % 4, column t / 4: four rows of 8 codes, `step` bytes
// apart, from codes[first[i]] on for slot i.
void GatherQuads(const uint8_t* codes, std::span<const uint32_t> first, int64_t step, uint8_t* out);

// out[i * out_stride + j] = in[j * in_stride + i] for all i below `rows`, a multiple of
// kTransposedCodes, and all j below kTransposedCodes.
inline constexpr int64_t kTransposedCodes = 16;
void TransposeCodes(const uint8_t* in, int64_t in_stride, int64_t rows, uint8_t* out,
                    int64_t out_stride);

// The same for numbers, with `rows` a multiple of 4 and j below kTransposedFloats. Strides are in
// numbers.
inline constexpr int64_t kTransposedFloats = 16;
void TransposeFloats(const float* in, int64_t in_stride, int64_t rows, float* out,
                     int64_t out_stride);

// Code j of word i of `count` words, a multiple of kSplitWords: out[j * out_stride + i]. The codes
// of a word lie the lowest first, and have 1, 2, 4 or 8 bits.
inline constexpr int64_t kSplitWords = 16;
void SplitWords(const uint8_t* words, int64_t count, int bits, uint8_t* out, int64_t out_stride);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_CODE_LOOPS_H_
