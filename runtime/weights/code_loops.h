// The loops of packing that touch each code, for the instruction set that dtypes/simd.h chooses.
// All give the same bytes.
#ifndef TARSIA_RUNTIME_WEIGHTS_CODE_LOOPS_H_
#define TARSIA_RUNTIME_WEIGHTS_CODE_LOOPS_H_

#include <cstdint>
#include <span>

namespace tarsia {

// The codes of the threads of a warp for a slot lie together: codes[slot * kCodeLanes + thread].
inline constexpr int64_t kCodeLanes = 32;

// Bits of a code that move together: `mask` of the code, then left by `shift` (right if it is
// negative), are bits of the word.
struct CodeMove {
  uint32_t slot = 0;
  uint32_t mask = 0;
  int shift = 0;
};

// The word of each thread of a warp that `moves` make: lanes[thread].
void MakeWords(const uint8_t* codes, std::span<const CodeMove> moves, uint32_t* lanes);

// Slots whose thread t has the code of row t % 4, column t / 4: four rows of 8 codes, `step` bytes
// apart, from codes[first[i]] on for slot i.
void GatherQuads(const uint8_t* codes, std::span<const uint32_t> first, int64_t step, uint8_t* out);

// out[i * out_stride + j] = in[j * in_stride + i] for all i below `rows`, a multiple of
// kTransposedCodes, and all j below kTransposedCodes.
inline constexpr int64_t kTransposedCodes = 16;
void TransposeCodes(const uint8_t* in, int64_t in_stride, int64_t rows, uint8_t* out,
                    int64_t out_stride);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_CODE_LOOPS_H_
