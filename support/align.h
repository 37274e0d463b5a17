// Sizes rounded to whole units.
#ifndef TARSIA_SUPPORT_ALIGN_H_
#define TARSIA_SUPPORT_ALIGN_H_

#include <concepts>
#include <type_traits>

namespace tarsia {

// How many units of `unit` hold `x`, neither of them negative, `unit` not 0.
template <std::integral T>
constexpr T CeilDiv(T x, std::type_identity_t<T> unit) {
  return (x + unit - 1) / unit;
}

// The least multiple of `unit` that is not below `x`.
template <std::integral T>
constexpr T AlignUp(T x, std::type_identity_t<T> unit) {
  return CeilDiv(x, unit) * unit;
}

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_ALIGN_H_
