// The loops of Repeat, compiled for each vector unit.
#include "vm/host/repeat.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "dtypes/container.h"
#include "vm/host/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vm/host/repeat.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "dtypes/simd_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace tarsia::host {
namespace HWY_NAMESPACE {
namespace {

// Runs of `inner` equal elements.
template <typename T>
void RepeatElements(const T* src, size_t inner, size_t period, size_t first, T* out, size_t n) {
  size_t at = first / inner % period;
  size_t left = inner - first % inner;  // of the run
  while (n > 0) {
    const size_t count = std::min(left, n);
    const T value = src[at];
    TARSIA_VECTOR_LOOP
    for (size_t i = 0; i < count; ++i) out[i] = value;
    out += count;
    n -= count;
    left = inner;
    at = at + 1 == period ? 0 : at + 1;
  }
}

template <typename T>
void RepeatRow(const T* src, size_t period, size_t first, T* out, size_t n) {
  size_t at = first % period;
  while (n > 0) {
    const size_t count = std::min(period - at, n);
    std::memcpy(out, src + at, count * sizeof(T));
    out += count;
    n -= count;
    at = 0;
  }
}

}  // namespace

void RepeatLoop(int container_bytes, const void* src, size_t inner, size_t period, size_t first,
                void* out, size_t n) {
  VisitContainer(container_bytes, [&](auto container) {
    using T = decltype(container);
    const T* from = static_cast<const T*>(src);
    T* to = static_cast<T*>(out);
    if (inner == 1) return RepeatRow(from, period, first, to, n);
    RepeatElements(from, inner, period, first, to, n);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace tarsia::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tarsia::host {

namespace {
HWY_EXPORT(RepeatLoop);
}  // namespace

void Repeat(int container_bytes, const void* src, size_t inner, size_t period, size_t first,
            void* out, size_t n) {
  TARSIA_DISPATCH(RepeatLoop)(container_bytes, src, inner, period, first, out, n);
}

}  // namespace tarsia::host
#endif  // HWY_ONCE
