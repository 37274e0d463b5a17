// Elements of matrices in tests: small integers, which are exact in every type.
#ifndef TARSIA_TESTS_UNIT_PTX_ELEMENT_TESTING_H_
#define TARSIA_TESTS_UNIT_PTX_ELEMENT_TESTING_H_

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace tarsia::ptx::elements {

// A float of so many bits of exponent and mantissa, or an integer (no exponent).
struct Element {
  std::string_view name;
  int bits = 0;
  int exponent = 0;
  int mantissa = 0;
  [[nodiscard]] int bytes() const { return bits / 8; }
};

inline constexpr Element kF16{"f16", 16, 5, 10};
inline constexpr Element kBF16{"bf16", 16, 8, 7};
inline constexpr Element kTF32{"tf32", 32, 8, 23};  // the low 13 bits are not looked at
inline constexpr Element kF32{"f32", 32, 8, 23};
inline constexpr Element kF64{"f64", 64, 11, 52};
inline constexpr Element kE4M3{"e4m3", 8, 4, 3};
inline constexpr Element kE5M2{"e5m2", 8, 5, 2};
inline constexpr Element kS8{"s8", 8, 0, 0};
inline constexpr Element kU8{"u8", 8, 0, 0};
inline constexpr Element kS32{"s32", 32, 0, 0};

// The code of a small integer.
inline uint64_t CodeOf(int value, const Element& type) {
  const uint64_t mask = type.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << type.bits) - 1;
  if (type.exponent == 0) return static_cast<uint64_t>(static_cast<int64_t>(value)) & mask;
  const int magnitude = std::abs(value);
  uint64_t code = 0;
  if (magnitude != 0) {
    int power = 0;
    while (magnitude >> (power + 1) != 0) ++power;
    const int bias = (1 << (type.exponent - 1)) - 1;
    code = static_cast<uint64_t>(power + bias) << type.mantissa;
    code |= static_cast<uint64_t>(magnitude - (1 << power)) << (type.mantissa - power);
  }
  return value < 0 ? code | uint64_t{1} << (type.exponent + type.mantissa) : code;
}

}  // namespace tarsia::ptx::elements

#endif  // TARSIA_TESTS_UNIT_PTX_ELEMENT_TESTING_H_
