// Floating point as PTX rounds it: narrow formats in and out of double, and arithmetic of one
// rounding in any mode.
//
// For formats up to f32 the result is computed in double and rounded to odd, which keeps enough for
// any second rounding to at most 51 bits (S. Boldo, G. Melquiond, "When double rounding is odd").
// Directed modes of f64 work on 128-bit integers.
#ifndef TARSIA_PTX_MACHINE_NUMERIC_H_
#define TARSIA_PTX_MACHINE_NUMERIC_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tarsia::ptx {

enum class RoundMode : uint8_t { kNearest, kZero, kDown, kUp, kAway };  // kAway: ties away

// A binary float of up to 32 bits.
struct FloatFormat {
  int exponent_bits = 8;
  int mantissa_bits = 23;
  bool infinities = true;  // e4m3 has none; its NaN is all ones
  uint32_t nan = 0x7FFFFFFF;
  int unused_low_bits = 0;  // tf32 fills the upper 19 bits of 32

  [[nodiscard]] constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  [[nodiscard]] constexpr uint32_t sign() const {
    return uint32_t{1} << (exponent_bits + mantissa_bits);
  }
  // The code of infinity, or what would be it.
  [[nodiscard]] constexpr uint32_t top() const {
    return ((uint32_t{1} << exponent_bits) - 1) << mantissa_bits;
  }
  [[nodiscard]] constexpr uint32_t largest() const { return infinities ? top() - 1 : sign() - 2; }
};

inline constexpr FloatFormat kFormatF32{8, 23, true, 0x7FFFFFFF, 0};
inline constexpr FloatFormat kFormatF16{5, 10, true, 0x7FFF, 0};
inline constexpr FloatFormat kFormatBF16{8, 7, true, 0x7FFF, 0};
inline constexpr FloatFormat kFormatTF32{8, 10, true, 0x3FFFF, 13};
inline constexpr FloatFormat kFormatE4M3{4, 3, false, 0x7F, 0};
inline constexpr FloatFormat kFormatE5M2{5, 2, true, 0x7F, 0};

// The code nearest to a value in the mode. NaN gives the format's NaN. With `saturate`, what is
// beyond the largest finite value (also infinity) becomes that; otherwise it overflows as the mode
// says, to NaN where there is no infinity.
uint32_t RoundToFormat(double value, const FloatFormat& format, RoundMode mode,
                       bool saturate = false);
// RoundToFormat to nearest, for formats with infinities and without unused bits, without branches.
inline uint32_t NearestCode(double value, const FloatFormat& format) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
  const int cut = 52 - format.mantissa_bits;
  const auto exponent = [](int power) { return static_cast<uint64_t>(power + 1023) << 52; };
  const uint64_t normal =
      ((magnitude + ((uint64_t{1} << (cut - 1)) - 1) + (magnitude >> cut & 1)) >> cut) -
      (static_cast<uint64_t>(1023 - format.bias()) << format.mantissa_bits);
  // Added to a number whose unit is that of the subnormals, the host's addition rounds.
  const uint64_t unit = exponent(1 - format.bias() - format.mantissa_bits + 52);
  const uint64_t subnormal =
      std::bit_cast<uint64_t>(std::bit_cast<double>(magnitude) + std::bit_cast<double>(unit)) -
      unit;
  const uint64_t finite = magnitude < exponent(1 - format.bias()) ? subnormal : normal;
  const uint64_t top = format.top();
  const uint64_t code = finite > top ? top : finite;
  const bool is_nan = magnitude > uint64_t{0x7FF} << 52;
  const uint64_t sign = bits >> 63 << (format.exponent_bits + format.mantissa_bits);
  return static_cast<uint32_t>(is_nan ? format.nan : code | sign);
}

// The value of a code, exactly.
inline double FromFormat(uint32_t code, const FloatFormat& format) {
  code >>= format.unused_low_bits;
  const uint32_t magnitude = code & (format.sign() - 1);
  const uint32_t fraction = magnitude & ((uint32_t{1} << format.mantissa_bits) - 1);
  const auto field = static_cast<int>(magnitude >> format.mantissa_bits);
  // Built from its bits: every value, and the unit of the subnormal ones, is a normal double.
  const auto scale = [](int exponent) { return static_cast<uint64_t>(exponent + 1023) << 52; };
  double value = 0;
  if (magnitude > format.largest()) {
    const bool infinite = format.infinities && magnitude == format.top();
    value = infinite ? std::numeric_limits<double>::infinity()
                     : std::numeric_limits<double>::quiet_NaN();
  } else if (field == 0) {
    value = fraction * std::bit_cast<double>(scale(1 - format.bias() - format.mantissa_bits));
  } else {
    value = std::bit_cast<double>(scale(field - format.bias()) |
                                  uint64_t{fraction} << (52 - format.mantissa_bits));
  }
  return (code & format.sign()) != 0 ? -value : value;
}

// Subnormals become zeros of their sign.
inline float FlushF32(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return (bits & 0x7F800000) == 0 ? std::bit_cast<float>(bits & 0x80000000) : value;
}

inline float CanonicalF32(float value) {
  return std::isnan(value) ? std::bit_cast<float>(0x7FFFFFFFU) : value;
}

// Of two codes of f32, as atomic instructions add them.
inline uint32_t SumOfF32(uint32_t a, uint32_t b, bool flush) {
  const auto operand = [&](uint32_t code) {
    const auto value = std::bit_cast<float>(code);
    return flush ? FlushF32(value) : value;
  };
  const float sum = operand(a) + operand(b);
  return std::bit_cast<uint32_t>(CanonicalF32(flush ? FlushF32(sum) : sum));
}

// The neighbour with an odd last bit, if `value` is not exact; `error` is what is missing.
inline double MakeOdd(double value, double error) {
  if (error == 0 || !std::isfinite(value)) return value;
  const auto bits = std::bit_cast<uint64_t>(value);
  if ((bits & 1) != 0) return value;
  const bool away = (error > 0) == (value > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

// Rounded to odd. Operands have at most 24 bits and an f32's range. `mode` settles the sign of an
// exact zero only.
inline double AddOdd(double a, double b, RoundMode mode) {
  const double sum = a + b;
  if (sum == 0 && (a != 0 || std::signbit(a) != std::signbit(b))) {
    return mode == RoundMode::kDown ? -0.0 : 0.0;
  }
  if (!std::isfinite(sum)) return sum;
  const double part = sum - a;
  return MakeOdd(sum, (a - (sum - part)) + (b - part));
}
inline double FmaOdd(double a, double b, double c, RoundMode mode) {
  return AddOdd(a * b, c, mode);
}
double DivideOdd(double a, double b);
double SqrtOdd(double a);

// f64 in any mode. NaN results are 0x7FF8000000000000 unless an operand is NaN.
double AddF64(double a, double b, RoundMode mode);
double MulF64(double a, double b, RoundMode mode);
double FmaF64(double a, double b, double c, RoundMode mode);
double DivideF64(double a, double b, RoundMode mode);
double SqrtF64(double a, RoundMode mode);

// An integer as f64, rounded in the mode; or rounded to odd.
double IntegerToF64(bool negative, uint64_t magnitude, RoundMode mode);
double IntegerToOdd(bool negative, uint64_t magnitude);

// The integer nearest to a value in the mode, as a double (which may be beyond any integer type).
double RoundToIntegral(double value, RoundMode mode);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_NUMERIC_H_
