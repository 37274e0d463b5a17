// Plain loops, which the compiler turns into vector code for each instruction set.
#include "runtime/weights/quick_codes.h"

#include <algorithm>
#include <cstring>

#include "dtypes/simd_dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/weights/quick_codes.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tarsia {
namespace HWY_NAMESPACE {
namespace {

template <bool kZeros>
HWY_INLINE bool Block(const float* HWY_RESTRICT w, const float* HWY_RESTRICT inverses,
                      const float* HWY_RESTRICT zeros, const IntegerRange& range,
                      uint8_t* HWY_RESTRICT out) {
  int32_t codes[kQuickCodes];
  int32_t unsure = 0;
  for (int64_t i = 0; i < kQuickCodes; ++i) {
    unsure |= QuickCode(w[i], inverses[i], kZeros ? zeros[i] : 0, range, &codes[i]) ? 0 : 1;
  }
  for (int64_t i = 0; i < kQuickCodes; ++i) out[i] = static_cast<uint8_t>(codes[i]);
  return unsure == 0;
}

void Row(const float* w, const float* inverses, const float* zeros, int64_t blocks,
         const IntegerRange& range, uint8_t* out, uint8_t* unsure) {
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t at = i * kQuickCodes;
    const bool sure = zeros != nullptr
                          ? Block<true>(w + at, inverses + at, zeros + at, range, out + at)
                          : Block<false>(w + at, inverses + at, nullptr, range, out + at);
    unsure[i] = sure ? 0 : 1;
  }
}

void Ranges16(const uint8_t* HWY_RESTRICT data, int64_t stride, int64_t rows, int64_t columns,
              int16_t* HWY_RESTRICT least, int16_t* HWY_RESTRICT most) {
  for (int64_t i = 0; i < rows; ++i) {
    // Rows lie apart: the next but one is asked for in time.
    const uint8_t* const ahead = data + std::min(i + 2, rows - 1) * stride;
    for (int64_t line = 0; line < 2 * columns; line += 64) __builtin_prefetch(ahead + line);
    for (int64_t j = 0; j < columns; ++j) {
      uint16_t code = 0;
      std::memcpy(&code, data + i * stride + 2 * j, 2);
      const int16_t number = Sortable16(code);
      least[j] = number < least[j] ? number : least[j];
      most[j] = number > most[j] ? number : most[j];
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tarsia
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tarsia {

HWY_EXPORT(Row);
HWY_EXPORT(Ranges16);

void QuickCodes(const float* w, const float* inverses, const float* zeros, int64_t blocks,
                const IntegerRange& range, uint8_t* out, uint8_t* unsure) {
  TARSIA_DISPATCH(Row)(w, inverses, zeros, blocks, range, out, unsure);
}

void AddRanges16(const uint8_t* data, int64_t stride, int64_t rows, int64_t columns, int16_t* least,
                 int16_t* most) {
  TARSIA_DISPATCH(Ranges16)(data, stride, rows, columns, least, most);
}

}  // namespace tarsia
#endif  // HWY_ONCE
