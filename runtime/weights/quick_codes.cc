// Plain loops, which the compiler turns into vector code for each instruction set.
#include "runtime/weights/quick_codes.h"

#include <cmath>

#include "dtypes/simd_dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/weights/quick_codes.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tarsia::internal {
namespace HWY_NAMESPACE {
namespace {

template <bool kZeros>
HWY_INLINE bool Block(const float* HWY_RESTRICT w, const float* HWY_RESTRICT scales,
                      const float* HWY_RESTRICT zeros, const IntegerRange& range,
                      uint8_t* HWY_RESTRICT out) {
  constexpr float kMagic = 0x1.8p23F;  // + kMagic - kMagic rounds to the nearest even integer
  constexpr float kSure = 0.5F - 0x1p-10F;
  int32_t codes[kQuickCodes];
  int32_t unsure = 0;
  for (int64_t i = 0; i < kQuickCodes; ++i) {
    const float zero = kZeros ? zeros[i] : 0;
    float q = w[i] / scales[i] + zero;
    // Rounding errors are far below 2^-10 where quotients and zero points are of the size of codes;
    // a scale of 0 or near it makes a NaN or a huge quotient, or none of the bits of w counts.
    unsure |= (scales[i] > 0x1p-100F ? 0 : 1) | (zero > -512 ? 0 : 1) | (zero < 512 ? 0 : 1);
    q = q > range.low ? q : range.low;
    q = q < range.high ? q : range.high;
    const float rounded = (q + kMagic) - kMagic;
    unsure |= std::fabs(q - rounded) < kSure ? 0 : 1;
    codes[i] = static_cast<int32_t>(rounded) & range.mask;
  }
  for (int64_t i = 0; i < kQuickCodes; ++i) out[i] = static_cast<uint8_t>(codes[i]);
  return unsure == 0;
}

void Row(const float* w, const float* scales, const float* zeros, int64_t blocks,
         const IntegerRange& range, uint8_t* out, uint8_t* unsure) {
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t at = i * kQuickCodes;
    const bool sure = zeros != nullptr
                          ? Block<true>(w + at, scales + at, zeros + at, range, out + at)
                          : Block<false>(w + at, scales + at, nullptr, range, out + at);
    unsure[i] = sure ? 0 : 1;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tarsia::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tarsia::internal {

HWY_EXPORT(Row);

void RowOfCodes(const float* w, const float* scales, const float* zeros, int64_t blocks,
                const IntegerRange& range, uint8_t* out, uint8_t* unsure) {
  TARSIA_DISPATCH(Row)(w, scales, zeros, blocks, range, out, unsure);
}

}  // namespace tarsia::internal

namespace tarsia {

void QuickCodes(const float* w, const float* scales, const float* zeros, int64_t blocks,
                const IntegerRange& range, uint8_t* out, uint8_t* unsure) {
  internal::RowOfCodes(w, scales, zeros, blocks, range, out, unsure);
}

}  // namespace tarsia
#endif  // HWY_ONCE
