// The codes of nearest integers by products in f32, for the instruction set that dtypes/simd.h
// chooses. All give the same codes.
#ifndef TARSIA_RUNTIME_WEIGHTS_QUICK_CODES_H_
#define TARSIA_RUNTIME_WEIGHTS_QUICK_CODES_H_

#include <cmath>
#include <cstdint>
#include <limits>

namespace tarsia {

struct IntegerRange {
  float low, high;
  int32_t mask;  // of the bits of a code
};

// Weights whose codes are decided together.
inline constexpr int64_t kQuickCodes = 16;

// What a weight is multiplied with: 1 / scale, or NaN where the arithmetic below is not sure.
inline float InverseOf(float scale, float zero) {
  const bool usable = scale > 0x1p-100F && scale < 0x1p100F && zero > -512 && zero < 512;
  return usable ? 1 / scale : std::numeric_limits<float>::quiet_NaN();
}

// The code of the integer nearest to w * inverse + zero. False if it may be wrong, because the
// quotient is near the middle of two integers. Where it is of the size of codes, the quotient is
// below 770 and has an error of two roundings, so that all errors together are below 2^-13.
inline bool QuickCode(float w, float inverse, float zero, const IntegerRange& range,
                      int32_t* code) {
  constexpr float kMagic = 0x1.8p23F;  // + kMagic - kMagic rounds to the nearest even integer
  constexpr float kSure = 0.5F - 0x1p-12F;
  const float exact = w * inverse + zero;
  float q = exact > range.low ? exact : range.low;
  q = q < range.high ? q : range.high;
  const float rounded = (q + kMagic) - kMagic;
  *code = static_cast<int32_t>(rounded) & range.mask;
  return (exact == exact) & (std::fabs(q - rounded) < kSure);
}

// Codes of the weights of `blocks` blocks of a row. unsure[i] is not 0 if a code of block i may be
// wrong. `zeros` is null without zero points.
void QuickCodes(const float* w, const float* inverses, const float* zeros, int64_t blocks,
                const IntegerRange& range, uint8_t* out, uint8_t* unsure);

// Numbers of a sign, an exponent and a mantissa in 16 bits as integers in the same order (-0 below
// 0), and back.
constexpr int16_t Sortable16(uint16_t code) {
  return static_cast<int16_t>(code ^ (code >> 15) * 0x7FFF);
}
constexpr uint16_t Unsortable16(int16_t number) {
  return static_cast<uint16_t>(Sortable16(static_cast<uint16_t>(number)));
}

// The least and the largest of each column, as Sortable16, of rows `stride` bytes apart that need
// not be aligned, together with what `least` and `most` hold already.
void AddRanges16(const uint8_t* data, int64_t stride, int64_t rows, int64_t columns, int16_t* least,
                 int16_t* most);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_QUICK_CODES_H_
