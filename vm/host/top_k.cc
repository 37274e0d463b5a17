#include "vm/host/top_k.h"

#include <cmath>

#include "dtypes/arith.h"
#include "vm/host/native.h"

namespace tarsia::host {
namespace {

template <typename T>
bool IsLess(T a, T b) {
  if constexpr (arith::Half<T>) {
    return IsLess(arith::ToFloat(a), arith::ToFloat(b));
  } else if constexpr (arith::Float<T>) {
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
  } else {
    return a < b;
  }
}

// The best elements so far of one row of elements that are `inner` apart, in order.
template <typename T>
struct Best {
  T* values;
  int32_t* indices;
  int64_t inner;
  int64_t k;
  bool smallest;
  int64_t count = 0;

  [[nodiscard]] bool IsBetter(T a, T b) const { return smallest ? IsLess(a, b) : IsLess(b, a); }

  void Insert(T value, int64_t index) {
    int64_t at = count;
    while (at > 0 && IsBetter(value, values[(at - 1) * inner])) --at;
    if (at == k) return;
    if (count < k) ++count;
    for (int64_t i = count - 1; i > at; --i) {
      values[i * inner] = values[(i - 1) * inner];
      indices[i * inner] = indices[(i - 1) * inner];
    }
    values[at * inner] = value;
    indices[at * inner] = static_cast<int32_t>(index);
  }

  void Fill() {
    for (int64_t i = count; i < k; ++i) {
      values[i * inner] = Extreme<T>(smallest);
      indices[i * inner] = -1;
    }
  }
};

template <typename T>
bool IsNumber(T value) {
  if constexpr (arith::Float<T>) return !arith::IsNan(value);
  return true;
}

}  // namespace

void TopK(DType type, bool smallest, const void* src, int64_t outer, int64_t axis, int64_t inner,
          int64_t k, void* values, int32_t* indices) {
  VisitNative(type, [&](auto native) {
    using T = decltype(native);
    for (int64_t row = 0; row < outer * inner; ++row) {
      const int64_t o = row / inner, i = row % inner;
      const T* from = static_cast<const T*>(src) + o * axis * inner + i;
      const int64_t to = o * k * inner + i;
      Best<T> best{static_cast<T*>(values) + to, indices + to, inner, k, smallest};
      for (int64_t at = 0; at < axis; ++at) {
        if (IsNumber(from[at * inner])) best.Insert(from[at * inner], at);
      }
      best.Fill();
    }
  });
}

}  // namespace tarsia::host
