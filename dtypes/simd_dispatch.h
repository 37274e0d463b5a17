// TARSIA_DISPATCH(function) is the function that HWY_EXPORT(function) made for the chosen
// instruction set (dtypes/simd.h). For files that are compiled once for each.
#ifndef TARSIA_DTYPES_SIMD_DISPATCH_H_
#define TARSIA_DTYPES_SIMD_DISPATCH_H_

#include <hwy/targets.h>

namespace tarsia::internal {

// Not Highway's own, which belongs to the whole process.
extern hwy::ChosenTarget chosen_simd;
void ChooseSimd();

inline const hwy::ChosenTarget& ChosenSimdTarget() {
  if (!chosen_simd.IsInitialized()) [[unlikely]] {
    ChooseSimd();
  }
  return chosen_simd;
}

}  // namespace tarsia::internal

#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0  // one instruction set: no table
#define TARSIA_DISPATCH(function) HWY_STATIC_DISPATCH(function)
#else
#define TARSIA_DISPATCH(function) \
  (*(HWY_DISPATCH_TABLE(function)[::tarsia::internal::ChosenSimdTarget().GetIndex()]))
#endif

#endif  // TARSIA_DTYPES_SIMD_DISPATCH_H_
