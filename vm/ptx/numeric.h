// Floating point as PTX rounds it: narrow formats in and out of double, and arithmetic of one
// rounding in any mode.
//
// For formats up to f32 the result is computed in double and rounded to odd, which keeps enough for
// any second rounding to at most 51 bits (S. Boldo, G. Melquiond, "When double rounding is odd").
// Directed modes of f64 work on 128-bit integers.
#ifndef TARSIA_VM_PTX_NUMERIC_H_
#define TARSIA_VM_PTX_NUMERIC_H_

#include <bit>
#include <cmath>
#include <cstdint>

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
// The value of a code, exactly.
double FromFormat(uint32_t code, const FloatFormat& format);

// Subnormals become zeros of their sign.
inline float FlushF32(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return (bits & 0x7F800000) == 0 ? std::bit_cast<float>(bits & 0x80000000) : value;
}

inline float CanonicalF32(float value) {
  return std::isnan(value) ? std::bit_cast<float>(0x7FFFFFFFU) : value;
}

// Rounded to odd. Operands have at most 24 bits and an f32's range. `mode` settles the sign of an
// exact zero only.
double AddOdd(double a, double b, RoundMode mode);
double FmaOdd(double a, double b, double c, RoundMode mode);
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

#endif  // TARSIA_VM_PTX_NUMERIC_H_
