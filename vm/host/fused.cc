// Fused loops, compiled for each vector unit.
#include "vm/host/fused.h"

#include <algorithm>

#include "vm/host/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vm/host/fused.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "dtypes/simd_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace tarsia::host {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
void Compensated(const void* term, const void* error, const void* sum, void* new_sum,
                 void* new_error, size_t n) {
  const T* x = static_cast<const T*>(term);
  const T* c = static_cast<const T*>(error);
  const T* s = static_cast<const T*>(sum);
  T* out = static_cast<T*>(new_sum);
  T* rest = static_cast<T*>(new_error);
  TARSIA_VECTOR_LOOP
  for (size_t i = 0; i < n; ++i) {
    const T before = s[i];
    const T t = x[i] - c[i];
    const T after = before + t;
    rest[i] = (after - before) - t;
    out[i] = after;
  }
}

struct Add {
  template <typename T>
  static T Run(T a, T b) {
    return a + b;
  }
};
struct Sub {
  template <typename T>
  static T Run(T a, T b) {
    return a - b;
  }
};
struct Mul {
  template <typename T>
  static T Run(T a, T b) {
    return a * b;
  }
};

template <typename T, typename Op, bool row_first>
void Outer(const void* column, const void* row, size_t inner, size_t period, size_t first,
           void* out, size_t n) {
  const T* y = static_cast<const T*>(row);
  T* z = static_cast<T*>(out);
  size_t at = first / inner % period;
  size_t from = first % inner;
  while (n > 0) {
    const size_t count = std::min(inner - from, n);
    const T x = static_cast<const T*>(column)[at];
    TARSIA_VECTOR_LOOP
    for (size_t i = 0; i < count; ++i) {
      z[i] = row_first ? Op::Run(y[from + i], x) : Op::Run(x, y[from + i]);
    }
    z += count;
    n -= count;
    from = 0;
    at = at + 1 == period ? 0 : at + 1;
  }
}

template <typename T, typename Op>
OuterKernel OuterOf(bool row_first) {
  return row_first ? &Outer<T, Op, true> : &Outer<T, Op, false>;
}

template <typename T>
OuterKernel OuterOf(Opcode op, bool row_first) {
  if (op == Opcode::kAdd) return OuterOf<T, Add>(row_first);
  if (op == Opcode::kSub) return OuterOf<T, Sub>(row_first);
  return op == Opcode::kMul ? OuterOf<T, Mul>(row_first) : nullptr;
}

}  // namespace

OuterKernel OuterFor(Opcode op, DType type, bool row_first) {
  if (type == kF32) return OuterOf<float>(op, row_first);
  return type == kF64 ? OuterOf<double>(op, row_first) : nullptr;
}

CompensatedKernel CompensatedFor(DType type) {
  if (type == kF32) return &Compensated<float>;
  return type == kF64 ? &Compensated<double> : nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace tarsia::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tarsia::host {

namespace {
HWY_EXPORT(OuterFor);
HWY_EXPORT(CompensatedFor);
}  // namespace

OuterKernel FindOuter(Opcode op, DType type, bool row_first) {
  return TARSIA_DISPATCH(OuterFor)(op, type, row_first);
}

CompensatedKernel FindCompensated(DType type) { return TARSIA_DISPATCH(CompensatedFor)(type); }

}  // namespace tarsia::host
#endif  // HWY_ONCE
