// The loops of fma and select, compiled for each vector unit.
#include <cmath>

#include "dtypes/arith.h"
#include "dtypes/container.h"
#include "vm/host/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vm/host/ternary.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "dtypes/simd_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace tarsia::host::internal {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
void FmaLoop(const void* a, const void* b, const void* c, void* out, size_t n) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  const T* z = static_cast<const T*>(c);
  T* w = static_cast<T*>(out);
  TARSIA_VECTOR_LOOP
  for (size_t i = 0; i < n; ++i) w[i] = std::fma(x[i], y[i], z[i]);
}

void FmaToOdd(const void* a, const void* b, const void* c, void* out, size_t n) {
  const float* x = static_cast<const float*>(a);
  const float* y = static_cast<const float*>(b);
  const float* z = static_cast<const float*>(c);
  double* w = static_cast<double*>(out);
  for (size_t i = 0; i < n; ++i) {
    const double product = static_cast<double>(x[i]) * static_cast<double>(y[i]);  // exact
    w[i] = arith::AddRoundToOdd(product, static_cast<double>(z[i]));
  }
}

void FmaComplexLoop(const void* a, const void* b, const void* c, void* out, size_t n) {
  const float* x = static_cast<const float*>(a);
  const float* y = static_cast<const float*>(b);
  const float* z = static_cast<const float*>(c);
  float* w = static_cast<float*>(out);
  for (size_t i = 0; i < 2 * n; i += 2) {
    const float re = std::fma(-x[i + 1], y[i + 1], std::fma(x[i], y[i], z[i]));
    const float im = std::fma(x[i + 1], y[i], std::fma(x[i], y[i + 1], z[i + 1]));
    w[i] = re;
    w[i + 1] = im;
  }
}

template <typename T>
void SelectLoop(const void* a, const void* b, const void* c, void* out, size_t n) {
  const uint8_t* condition = static_cast<const uint8_t*>(a);
  const T* x = static_cast<const T*>(b);
  const T* y = static_cast<const T*>(c);
  T* z = static_cast<T*>(out);
  TARSIA_VECTOR_LOOP
  for (size_t i = 0; i < n; ++i) z[i] = condition[i] != 0 ? x[i] : y[i];
}

}  // namespace

TernaryKernel FmaFor(Lane lane) {
  if (lane == Lane::kF32) return &FmaLoop<float>;
  if (lane == Lane::kF64) return &FmaLoop<double>;
  return lane == Lane::kHalf ? &FmaToOdd : nullptr;
}

TernaryKernel FmaComplexFor() { return &FmaComplexLoop; }

TernaryKernel SelectFor(int container_bytes) {
  return VisitContainer(container_bytes, [](auto container) -> TernaryKernel {
    return &SelectLoop<decltype(container)>;
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace tarsia::host::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tarsia::host::internal {

namespace {
HWY_EXPORT(FmaFor);
HWY_EXPORT(FmaComplexFor);
HWY_EXPORT(SelectFor);
}  // namespace

TernaryKernel FindFma(Lane lane) { return TARSIA_DISPATCH(FmaFor)(lane); }
TernaryKernel FindFmaComplex() { return TARSIA_DISPATCH(FmaComplexFor)(); }
TernaryKernel FindSelect(int container_bytes) {
  return TARSIA_DISPATCH(SelectFor)(container_bytes);
}

}  // namespace tarsia::host::internal
#endif  // HWY_ONCE
