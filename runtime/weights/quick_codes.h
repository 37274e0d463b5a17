// The codes of nearest integers by quotients in f32, for the instruction set that dtypes/simd.h
// chooses. All give the same codes.
#ifndef TARSIA_RUNTIME_WEIGHTS_QUICK_CODES_H_
#define TARSIA_RUNTIME_WEIGHTS_QUICK_CODES_H_

#include <cstdint>

namespace tarsia {

struct IntegerRange {
  float low, high;
  int32_t mask;  // of the bits of a code
};

// Weights whose codes are decided together.
inline constexpr int64_t kQuickCodes = 16;

// Codes of the weights of `blocks` blocks of a row. unsure[i] is not 0 if a code of block i may be
// wrong, because a quotient is near the middle of two integers or too large for the arithmetic.
// `zeros` is null without zero points.
void QuickCodes(const float* w, const float* scales, const float* zeros, int64_t blocks,
                const IntegerRange& range, uint8_t* out, uint8_t* unsure);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_QUICK_CODES_H_
