// Scalar arithmetic with the exact meaning of the instructions, on native integers, float, double,
// and the two 16-bit floats F16 and BF16 below.
// - Integers wrap. x / 0 is all ones, the least value / -1 is itself; x % 0 is x, and the least
//   value % -1 is 0. Division and remainder truncate. A shift count is unsigned; if it is the width
//   or more, the result is 0 (arithmetic right shift: the sign).
// - Floats: one rounding per operation, to nearest even, subnormals honoured. If one operand of Min
//   or Max is a NaN, they return the other one; for two NaNs the canonical NaN. -0 is less than +0.
//   Otherwise the code of a NaN result is unspecified.
// F16 and BF16 compute in double: sums and products of F16 are exact there, and for +, -, *, /
// and square root of p-bit operands a first rounding to 2p + 2 bits or more changes nothing
// (53 >= 2 * 11 + 2). That does not hold for fma, which rounds to odd first.
// Float code must be compiled without contraction and without fast-math (the library's target
// carries the flag).
#ifndef TARSIA_DTYPES_ARITH_H_
#define TARSIA_DTYPES_ARITH_H_

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "dtypes/dtype.h"

namespace tarsia::arith {

struct F16 {
  uint16_t bits = 0;
};
struct BF16 {
  uint16_t bits = 0;
};

template <typename T>
concept Half = std::same_as<T, F16> || std::same_as<T, BF16>;
template <typename T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <typename T>
concept Native = std::same_as<T, float> || std::same_as<T, double>;
template <typename T>
concept Float = Half<T> || Native<T>;

// --- F16 and BF16 as values ---

inline float ToFloat(BF16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }

inline float ToFloat(F16 x) {
  const uint32_t sign = uint32_t{x.bits & 0x8000u} << 16;
  const uint32_t magnitude = x.bits & 0x7FFFu;
  if (magnitude >= 0x7C00) {  // infinity, NaN
    return std::bit_cast<float>(sign | 0x7F800000u | (magnitude & 0x3FFu) << 13);
  }
  // With the exponent field of f16 in that of f32, the value is too small by 2^-112; the product is
  // exact, also for subnormals.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | sign);
}

inline double ToDouble(F16 x) { return ToFloat(x); }
inline double ToDouble(BF16 x) { return ToFloat(x); }
inline double ToDouble(float x) { return x; }
inline double ToDouble(double x) { return x; }

// Rounds a double to a float of kExponent and kMantissa bits, IEEE style, nearest even, overflow
// to infinity; NaN becomes quiet and keeps its sign.
template <int kExponent, int kMantissa>
uint16_t RoundToHalf(double value) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  constexpr uint64_t kInfinity = uint64_t{(1 << kExponent) - 1} << kMantissa;
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint64_t sign = bits >> 63 << (kExponent + kMantissa);
  const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
  if (magnitude > 0x7FF0000000000000u) {
    return static_cast<uint16_t>(sign | kInfinity | uint64_t{1} << (kMantissa - 1));
  }
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;  // of the value, if normal
  if (exponent > kBias) return static_cast<uint16_t>(sign | kInfinity);
  if (exponent < -kBias - kMantissa) return static_cast<uint16_t>(sign);  // below half the least
  const uint64_t significand = (magnitude & 0xFFFFFFFFFFFFFu) | uint64_t{1} << 52;
  const int lost_to_subnormal = exponent < 1 - kBias ? 1 - kBias - exponent : 0;
  const int shift = 52 - kMantissa + lost_to_subnormal;
  const uint64_t kept = significand >> shift;
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t rest = significand & (2 * half - 1);
  const uint64_t base =
      lost_to_subnormal != 0 ? 0 : static_cast<uint64_t>(exponent + kBias - 1) << kMantissa;
  const uint64_t up = rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0;
  return static_cast<uint16_t>(sign | (base + kept + up));  // a carry may reach infinity
}

inline void FromDouble(double value, F16& out) { out.bits = RoundToHalf<5, 10>(value); }
inline void FromDouble(double value, BF16& out) { out.bits = RoundToHalf<8, 7>(value); }
inline void FromDouble(double value, float& out) { out = static_cast<float>(value); }
inline void FromDouble(double value, double& out) { out = value; }

// One rounding from a double.
template <Float T>
T RoundTo(double value) {
  T out{};
  FromDouble(value, out);
  return out;
}

template <Float T>
bool IsNan(T x) {
  if constexpr (std::same_as<T, F16>) {
    return (x.bits & 0x7FFF) > 0x7C00;
  } else if constexpr (std::same_as<T, BF16>) {
    return (x.bits & 0x7FFF) > 0x7F80;
  } else {
    return x != x;
  }
}

// The positive quiet NaN without payload.
template <Float T>
T CanonicalNan() {
  if constexpr (std::same_as<T, F16>) {
    return F16{0x7E00};
  } else if constexpr (std::same_as<T, BF16>) {
    return BF16{0x7FC0};
  } else {
    return std::numeric_limits<T>::quiet_NaN();
  }
}

template <Float T>
bool SignBit(T x) {
  if constexpr (Half<T>) {
    return x.bits >> 15 != 0;
  } else {
    return std::signbit(x);
  }
}

// --- integers ---

template <Integer T>
constexpr T Add(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
}

template <Integer T>
constexpr T Sub(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(static_cast<U>(a) - static_cast<U>(b)));
}

template <Integer T>
constexpr T Mul(T a, T b) {
  // In 64 bits: a product of two 16-bit numbers would overflow the int they promote to.
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <Integer T>
constexpr T Fma(T a, T b, T c) {
  return Add(Mul(a, b), c);
}

template <Integer T>
constexpr T Neg(T a) {
  return Sub(T{0}, a);
}

template <Integer T>
constexpr T Abs(T a) {
  return a < T{0} ? Neg(a) : a;  // the least value is its own
}

template <Integer T>
constexpr T Div(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return Neg(a);
  }
  return static_cast<T>(a / b);
}

template <Integer T>
constexpr T Rem(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

template <Integer T>
constexpr T Min(T a, T b) {
  return b < a ? b : a;
}

template <Integer T>
constexpr T Max(T a, T b) {
  return a < b ? b : a;
}

template <Integer T>
constexpr T Shl(T a, T count) {
  using U = std::make_unsigned_t<T>;
  const U n = static_cast<U>(count);
  if (n >= std::numeric_limits<U>::digits) return 0;
  return static_cast<T>(static_cast<uint64_t>(a) << n);
}

// Arithmetic for signed types, logical for unsigned ones.
template <Integer T>
constexpr T Shr(T a, T count) {
  using U = std::make_unsigned_t<T>;
  const U n = static_cast<U>(count);
  if (n >= std::numeric_limits<U>::digits) return a < T{0} ? static_cast<T>(~T{0}) : T{0};
  return static_cast<T>(a >> n);
}

template <Integer T>
constexpr T And(T a, T b) {
  return static_cast<T>(a & b);
}

template <Integer T>
constexpr T Or(T a, T b) {
  return static_cast<T>(a | b);
}

template <Integer T>
constexpr T Xor(T a, T b) {
  return static_cast<T>(a ^ b);
}

template <Integer T>
constexpr T Not(T a) {
  return static_cast<T>(~a);
}

// --- floats ---

template <Float T>
T Add(T a, T b) {
  if constexpr (Native<T>) {
    return a + b;
  } else {
    return RoundTo<T>(ToDouble(a) + ToDouble(b));
  }
}

template <Float T>
T Sub(T a, T b) {
  if constexpr (Native<T>) {
    return a - b;
  } else {
    return RoundTo<T>(ToDouble(a) - ToDouble(b));
  }
}

template <Float T>
T Mul(T a, T b) {
  if constexpr (Native<T>) {
    return a * b;
  } else {
    return RoundTo<T>(ToDouble(a) * ToDouble(b));
  }
}

template <Float T>
T Div(T a, T b) {
  if constexpr (Native<T>) {
    return a / b;
  } else {
    return RoundTo<T>(ToDouble(a) / ToDouble(b));
  }
}

// a - b * trunc(a / b), exact (C's fmod). NaN for infinite a or zero b.
template <Float T>
T Rem(T a, T b) {
  if constexpr (Native<T>) {
    return std::fmod(a, b);
  } else {
    return RoundTo<T>(std::fmod(ToDouble(a), ToDouble(b)));
  }
}

template <Float T>
T Sqrt(T a) {
  if constexpr (Native<T>) {
    return std::sqrt(a);
  } else {
    return RoundTo<T>(std::sqrt(ToDouble(a)));
  }
}

// a + b rounded to odd: exact, or the neighbour whose last bit is one, so that a further rounding
// to at least two bits fewer is as if from the exact sum (Boldo and Melquiond 2008). The error
// term is Knuth's; nothing overflows or underflows for the operands used here.
inline double AddRoundToOdd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (error == 0 || (bits & 1) != 0) return sum;
  // Even and inexact: one step toward the exact value, whose last bit is odd. (sum is not 0.)
  bits += (error > 0) == (sum > 0) ? uint64_t{1} : ~uint64_t{0};
  return std::bit_cast<double>(bits);
}

template <Float T>
T Fma(T a, T b, T c) {
  if constexpr (Native<T>) {
    return std::fma(a, b, c);
  } else {
    return RoundTo<T>(AddRoundToOdd(ToDouble(a) * ToDouble(b), ToDouble(c)));  // product exact
  }
}

template <Float T>
T Neg(T a) {
  if constexpr (Half<T>) {
    return T{static_cast<uint16_t>(a.bits ^ 0x8000)};
  } else {
    return -a;
  }
}

template <Float T>
T Abs(T a) {
  if constexpr (Half<T>) {
    return T{static_cast<uint16_t>(a.bits & 0x7FFF)};
  } else {
    return std::fabs(a);
  }
}

template <Float T>
bool Eq(T a, T b) {
  return ToDouble(a) == ToDouble(b);
}

template <Float T>
bool Lt(T a, T b) {
  return ToDouble(a) < ToDouble(b);
}

template <Float T>
bool Le(T a, T b) {
  return ToDouble(a) <= ToDouble(b);
}

template <Integer T>
constexpr bool Eq(T a, T b) {
  return a == b;
}

template <Integer T>
constexpr bool Lt(T a, T b) {
  return a < b;
}

template <Integer T>
constexpr bool Le(T a, T b) {
  return a <= b;
}

template <Float T>
T Min(T a, T b) {
  if (IsNan(a)) return IsNan(b) ? CanonicalNan<T>() : b;
  if (IsNan(b)) return a;
  if (Eq(a, b)) return SignBit(a) ? a : b;
  return Lt(a, b) ? a : b;
}

template <Float T>
T Max(T a, T b) {
  if (IsNan(a)) return IsNan(b) ? CanonicalNan<T>() : b;
  if (IsNan(b)) return a;
  if (Eq(a, b)) return SignBit(a) ? b : a;
  return Lt(a, b) ? b : a;
}

// --- conversions, as CastCode with default options does them for types of more than 8 bits ---

// Toward zero, saturating, NaN to 0.
template <Integer To>
To FloatToInteger(double value) {
  constexpr To kLeast = std::numeric_limits<To>::min();
  constexpr To kMost = std::numeric_limits<To>::max();
  // 2^digits is exact in double, the largest value of a 64-bit type is not.
  constexpr double kBound =
      2.0 * static_cast<double>(uint64_t{1} << (std::numeric_limits<To>::digits - 1));
  if (value != value) return 0;
  if (value >= kBound) return kMost;
  if (value <= (std::is_signed_v<To> ? -kBound : 0.0)) return kLeast;
  return static_cast<To>(value);
}

// --- units in the last place ---

// |value(code) - truth| in units of the step away from zero of the type's first number that is not
// below |truth| (below the smallest normal number, the spacing there). 0 when both are NaN, when
// both are the same infinity, or when the code is the infinity that truth overflows to; infinite
// when only one is NaN or the infinities differ.
double UlpError(DType type, uint64_t code, long double truth);

}  // namespace tarsia::arith

#endif  // TARSIA_DTYPES_ARITH_H_
