#include "vm/host/scan.h"

#include <algorithm>
#include <type_traits>

#include "dtypes/arith.h"
#include "vm/host/native.h"

namespace tarsia::host {
namespace {

// Neighbouring rows that advance side by side.
constexpr int64_t kRows = 64;

// The type in which sums and products accumulate.
template <typename T>
using Wide = std::conditional_t<arith::Half<T>, float, T>;

// What no elements give, and the step.
template <typename Total, typename Join>
struct Operation {
  Total empty;
  Join join;
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
template <typename Total, typename Join, typename T>
void ScanColumns(const Operation<Total, Join>& op, ScanForm form, const T* src, int64_t axis,
                 int64_t inner, int64_t rows, T* out) {
  Total total[kRows];
  std::fill_n(total, rows, op.empty);
  for (int64_t step = 0; step < axis; ++step) {
    const int64_t at = (form.reverse ? axis - 1 - step : step) * inner;
    for (int64_t i = 0; i < rows; ++i) {
      const Total next = op.join(total[i], Converted<Total>(src[at + i]));
      out[at + i] = Converted<T>(form.exclusive ? total[i] : next);
      total[i] = next;
    }
  }
}

}  // namespace

void Scan(Opcode op, DType type, ScanForm form, const void* src, int64_t outer, int64_t axis,
          int64_t inner, void* out) {
  VisitNative(type, [&](auto native) {
    using T = decltype(native);
    const auto scan = [&](auto empty, auto join) {
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t first = 0; first < inner; first += kRows) {
          const int64_t at = o * axis * inner + first;
          ScanColumns(Operation{empty, join}, form, static_cast<const T*>(src) + at, axis, inner,
                      std::min(kRows, inner - first), static_cast<T*>(out) + at);
        }
      }
    };
    if (op == Opcode::kScanSum) {
      scan(Wide<T>(0), [](Wide<T> a, Wide<T> b) { return arith::Add(a, b); });
    } else if (op == Opcode::kScanProd) {
      scan(Wide<T>(1), [](Wide<T> a, Wide<T> b) { return arith::Mul(a, b); });
    } else if (op == Opcode::kScanMin) {
      scan(Extreme<T>(true), [](T a, T b) { return arith::Min(a, b); });
    } else if (op == Opcode::kScanMax) {
      scan(Extreme<T>(false), [](T a, T b) { return arith::Max(a, b); });
    }
  });
}

}  // namespace tarsia::host
