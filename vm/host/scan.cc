#include "vm/host/scan.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "dtypes/arith.h"

namespace tarsia::host {
namespace {

using arith::BF16;
using arith::F16;

// Neighbouring rows that advance side by side.
constexpr int64_t kRows = 64;

template <typename T>
constexpr bool kIsHalf = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;

// The value of the greatest (or least) element there can be.
template <typename T>
T Extreme(bool greatest) {
  if constexpr (arith::Float<T>) {
    const double infinity = std::numeric_limits<double>::infinity();
    return arith::RoundTo<T>(greatest ? infinity : -infinity);
  } else {
    return greatest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
  }
}

// Each operation: the type in which it accumulates, what no elements give, and the step.
template <typename T>
using Wide = std::conditional_t<kIsHalf<T>, float, T>;

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
  } else if constexpr (kIsHalf<T>) {
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

// Calls visit(T{}) for the native type of an arithmetic type.
template <typename Visit>
void VisitNative(DType type, const Visit& visit) {
  if (type == kF16) return visit(F16{});
  if (type == kBF16) return visit(BF16{});
  if (type == kF32) return visit(float{});
  if (type == kF64) return visit(double{});
  if (type == kI8) return visit(int8_t{});
  if (type == kU8) return visit(uint8_t{});
  if (type == kI16) return visit(int16_t{});
  if (type == kU16) return visit(uint16_t{});
  if (type == kI32) return visit(int32_t{});
  if (type == kU32) return visit(uint32_t{});
  if (type == kI64) return visit(int64_t{});
  if (type == kU64) return visit(uint64_t{});
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
