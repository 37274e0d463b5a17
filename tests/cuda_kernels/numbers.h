// Small floats, by arithmetic on doubles: rounding to nearest, ties to even.
#ifndef TARSIA_TESTS_CUDA_KERNELS_NUMBERS_H_
#define TARSIA_TESTS_CUDA_KERNELS_NUMBERS_H_

#include <cmath>
#include <cstdint>
#include <vector>

namespace tarsia::cuda_kernels {

// The nearest value with `fraction` bits after the point; no overflow, no subnormals.
inline double RoundTo(double value, int fraction) {
  if (value == 0) return value;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);  // 0.5 <= |mantissa| < 1
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, fraction + 1)), exponent - fraction - 1);
}
inline double ToHalf(double value) { return RoundTo(value, 10); }
inline double ToBfloat(double value) { return RoundTo(value, 7); }

// The bits of a value of that type: a sign, `exponent` bits, `fraction` bits.
inline uint32_t BitsOf(double value, int exponent_bits, int fraction) {
  const uint32_t sign = std::signbit(value) ? 1U << (exponent_bits + fraction) : 0;
  if (value == 0) return sign;
  int exponent = 0;
  const double mantissa = std::frexp(std::abs(RoundTo(value, fraction)), &exponent);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto field = static_cast<uint32_t>(exponent - 1 + bias);
  const auto rest = static_cast<uint32_t>(std::ldexp(2 * mantissa - 1, fraction));
  return sign | field << fraction | rest;
}
inline uint16_t HalfBits(double value) { return static_cast<uint16_t>(BitsOf(value, 5, 10)); }
inline uint16_t BfloatBits(double value) { return static_cast<uint16_t>(BitsOf(value, 8, 7)); }

inline std::vector<uint16_t> HalfBits(const std::vector<float>& values) {
  std::vector<uint16_t> bits(values.size());
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = HalfBits(static_cast<double>(values[i]));
  return bits;
}
inline std::vector<uint16_t> BfloatBits(const std::vector<float>& values) {
  std::vector<uint16_t> bits(values.size());
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = BfloatBits(static_cast<double>(values[i]));
  return bits;
}

}  // namespace tarsia::cuda_kernels

#endif  // TARSIA_TESTS_CUDA_KERNELS_NUMBERS_H_
