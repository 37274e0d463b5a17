// Integer arithmetic that detects overflow.
#ifndef TARSIA_LAYOUT_CHECKED_H_
#define TARSIA_LAYOUT_CHECKED_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tarsia {

inline std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

inline std::optional<int64_t> CheckedSub(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_sub_overflow(a, b, &out)) return std::nullopt;
  return out;
}

inline std::optional<int64_t> CheckedMul(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

inline bool HasZero(std::span<const int64_t> values) {
  return std::ranges::find(values, 0) != values.end();
}

// The product of values that are not negative, if it is at most `limit`; 0 if one of them is 0.
inline std::optional<int64_t> BoundedProduct(std::span<const int64_t> values, int64_t limit) {
  if (HasZero(values)) return 0;
  int64_t out = 1;
  for (const int64_t value : values) {
    if (__builtin_mul_overflow(out, value, &out) || out > limit) return std::nullopt;
  }
  return out;
}

// "2 * 3 * 4", for messages about products that are too large to be computed.
std::string ProductText(std::span<const int64_t> values);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_CHECKED_H_
