#include "vm/host/scan.h"

#include <algorithm>
#include <type_traits>

#include "dtypes/arith.h"
#include "vm/host/native.h"

namespace tarsia::host {
namespace {

// Neighbouring rows that advance side by side.
constexpr int64_t kRows = 64;

// Each operation: the type in which it accumulates, what no elements give, and the step.
template <typename T>
using Wide = std::conditional_t<arith::Half<T>, float, T>;

struct SumOf {
  template <typename T>
  using Total = Wide<T>;
  template <typename T>
  static T Empty() {
    return T(0);
  }
  template <typename T>
  static T Join(T a, T b) {
    return arith::Add(a, b);
  }
};
struct ProdOf {
  template <typename T>
  using Total = Wide<T>;
  template <typename T>
  static T Empty() {
    return T(1);
  }
  template <typename T>
  static T Join(T a, T b) {
    return arith::Mul(a, b);
  }
};
struct MinOf {
  template <typename T>
  using Total = T;
  template <typename T>
  static T Empty() {
    return Extreme<T>(true);
  }
  template <typename T>
  static T Join(T a, T b) {
    return arith::Min(a, b);
  }
};
struct MaxOf {
  template <typename T>
  using Total = T;
  template <typename T>
  static T Empty() {
    return Extreme<T>(false);
  }
  template <typename T>
  static T Join(T a, T b) {
    return arith::Max(a, b);
  }
};

// Between an element and a total. Which of two NaNs an addition keeps is unspecified, so all become
// one.
template <typename To, typename T>
To Converted(T x) {
  if constexpr (std::is_same_v<To, T>) {
    if constexpr (arith::Float<T>) {
      if (arith::IsNan(x)) return arith::CanonicalNan<T>();
    }
    return x;
  } else if constexpr (arith::Half<T>) {
    return arith::ToFloat(x);
  } else {
    return arith::IsNan(x) ? arith::CanonicalNan<To>() : arith::RoundTo<To>(x);
  }
}

// [axis, inner], of which `rows` (at most kRows) columns from the pointers on.
template <typename Op, typename T>
void ScanColumns(ScanForm form, const T* src, int64_t axis, int64_t inner, int64_t rows, T* out) {
  using Total = typename Op::template Total<T>;
  Total total[kRows];
  std::fill_n(total, rows, Op::template Empty<Total>());
  for (int64_t step = 0; step < axis; ++step) {
    const int64_t at = (form.reverse ? axis - 1 - step : step) * inner;
    for (int64_t i = 0; i < rows; ++i) {
      const Total next = Op::Join(total[i], Converted<Total>(src[at + i]));
      out[at + i] = Converted<T>(form.exclusive ? total[i] : next);
      total[i] = next;
    }
  }
}

template <typename Op, typename T>
void ScanAll(ScanForm form, const void* src, int64_t outer, int64_t axis, int64_t inner,
             void* out) {
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t first = 0; first < inner; first += kRows) {
      const int64_t at = o * axis * inner + first;
      ScanColumns<Op>(form, static_cast<const T*>(src) + at, axis, inner,
                      std::min(kRows, inner - first), static_cast<T*>(out) + at);
    }
  }
}

}  // namespace

void Scan(Opcode op, DType type, ScanForm form, const void* src, int64_t outer, int64_t axis,
          int64_t inner, void* out) {
  VisitNative(type, [&](auto native) {
    using T = decltype(native);
    if (op == Opcode::kScanSum) return ScanAll<SumOf, T>(form, src, outer, axis, inner, out);
    if (op == Opcode::kScanProd) return ScanAll<ProdOf, T>(form, src, outer, axis, inner, out);
    if (op == Opcode::kScanMin) return ScanAll<MinOf, T>(form, src, outer, axis, inner, out);
    if (op == Opcode::kScanMax) return ScanAll<MaxOf, T>(form, src, outer, axis, inner, out);
  });
}

}  // namespace tarsia::host
