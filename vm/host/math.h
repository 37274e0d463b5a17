// Elementary functions of f32, written so that a loop over them becomes vector code: no calls, no
// tables, no branches. Each computes in f64 with an error far below the last place of f32 and
// rounds once, so that its error stays below 0.51 ulp (tests/unit/vm/host_math_test.cc sweeps them)
// and results do not depend on the vector unit. Each function has its derivation.
#ifndef TARSIA_VM_HOST_MATH_H_
#define TARSIA_VM_HOST_MATH_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#define TARSIA_MATH_INLINE [[gnu::always_inline]] inline

namespace tarsia::host::internal {

// Adding and subtracting it rounds a double of magnitude below 2^51 to an integer, which is in the
// low bits of the sum.
inline constexpr double kRoundMagic = 0x1.8p52;

// exp(r) for |r| <= ln(2) / 2: the polynomial of degree 7 with p(0) = 1 whose largest relative
// error is least, 4.7e-11 (found by iteratively reweighted least squares on 4,001 Chebyshev
// points).
TARSIA_MATH_INLINE double ExpReduced(double r) {
  double p = 0x1.9e8ee1fbd830dp-13;
  p = std::fma(p, r, 0x1.6d9555eb56097p-10);
  p = std::fma(p, r, 0x1.11130aefc4969p-7);
  p = std::fma(p, r, 0x1.555481be93195p-5);
  p = std::fma(p, r, 0x1.55555350f420cp-3);
  p = std::fma(p, r, 0x1.00000042449fdp-1);
  p = std::fma(p, r, 0x1.00000000e55a2p+0);
  return std::fma(p, r, 1.0);
}

// x 2^k for the integer k that was rounded by adding kRoundMagic, if x and the product are normal:
// k is added to the exponent. Of a NaN and a sum that is one, whose low 12 bits are 0 because both
// come from an f32, the NaN.
TARSIA_MATH_INLINE double ScaleByPower(double x, double rounded_sum) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(x) +
                               (std::bit_cast<uint64_t>(rounded_sum) << 52));
}

// exp(x) for |x| <= 700, NaN kept: x = k ln 2 + r. The error of the constant makes one of 1e-14 in
// r.
TARSIA_MATH_INLINE double ExpDouble(double x) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  const double sum = std::fma(x, kLog2E, kRoundMagic);
  const double k = sum - kRoundMagic;
  // The constant is negated, not k, whose sign matters if it is a NaN.
  return ScaleByPower(ExpReduced(std::fma(k, -kLn2, x)), sum);
}

// x within [low, high]; a NaN stays.
template <typename T>
TARSIA_MATH_INLINE T Clamp(T x, T low, T high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

// Outside of the clamp the result is 0 or infinity in f32 in any case.
TARSIA_MATH_INLINE float ExpF32(float x) {
  return static_cast<float>(ExpDouble(Clamp(x, -110.0f, 100.0f)));
}

TARSIA_MATH_INLINE float Exp2F32(float x) {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  const double clamped = Clamp(x, -160.0f, 140.0f);
  const double sum = clamped + kRoundMagic;
  const double k = sum - kRoundMagic;
  return static_cast<float>(ScaleByPower(ExpReduced((clamped - k) * kLn2), sum));
}

// x = 2^exponent * m with m in [sqrt(1/2), sqrt(2)), for positive normal x; returns ln(m) =
// 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.1716, as its series to s^13 / 13; the rest is below
// 2e-12 of the result, and m - 1 is exact.
TARSIA_MATH_INLINE double LogReduced(double x, double& exponent) {
  constexpr uint64_t kSqrtHalf = 0x3FE6A09E667F3BCDu;
  constexpr uint64_t kBias = 2048;  // keeps the difference positive
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t k = (bits - kSqrtHalf + (kBias << 52)) >> 52;  // exponent, modulo 4096
  // 2^52 + k as a double, whose low bits are k.
  exponent =
      std::bit_cast<double>(uint64_t{0x4330000000000000u} | ((k + 1024) & 0xFFF)) - (0x1p52 + 3072);
  const double m = std::bit_cast<double>(bits - (k << 52) + (kBias << 52));
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double p = 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  p = p * z + 2.0;
  return p * s;
}

// The result of both logarithms for an argument that is not a positive finite number.
TARSIA_MATH_INLINE float LogSpecial(float x, float result) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  result = x == kInfinity ? kInfinity : result;
  result = x == 0.0f ? -kInfinity : result;
  return x >= 0.0f ? result : std::numeric_limits<float>::quiet_NaN();
}

TARSIA_MATH_INLINE float LogF32(float x) {
  double exponent = 0;
  const double log_m = LogReduced(x, exponent);
  return LogSpecial(x, static_cast<float>(exponent * 0x1.62e42fefa39efp-1 + log_m));
}

TARSIA_MATH_INLINE float Log2F32(float x) {
  double exponent = 0;
  const double log_m = LogReduced(x, exponent);
  return LogSpecial(x, static_cast<float>(exponent + log_m * 0x1.71547652b82fep+0));
}

// 1 - 2 / (exp(2|x|) + 1), and below 0.1, where that cancels, the series of tanh to x^9 (the next
// term is below 1e-12 of the result). tanh(20) is 1 in f32.
TARSIA_MATH_INLINE float TanhF32(float x) {
  const double a = Clamp(std::fabs(static_cast<double>(x)), 0.0, 20.0);
  const double large = 1.0 - 2.0 / (ExpDouble(2.0 * a) + 1.0);
  const double z = a * a;
  double p = 62.0 / 2835;
  p = p * z - 17.0 / 315;
  p = p * z + 2.0 / 15;
  p = p * z - 1.0 / 3;
  const double small = a + a * z * p;
  const double result = a < 0.1 ? small : large;
  return std::copysign(static_cast<float>(result), x);
}

// Below 1: x p(x^2), p the Chebyshev interpolant of erf(x) / x in x^2 of degree 8 (relative error
// 9e-13). From 1 on: 1 - exp(-x^2) q(t), q that of exp(x^2) erfc(x) in t = (x - 2.5) / 1.5 of
// degree 13 on [1, 4] (absolute error 4e-10 times exp(-x^2) <= 0.37). erf(4) is 1 in f32.
TARSIA_MATH_INLINE double ErfSmall(double a) {
  const double z = a * a;
  double p = 0x1.1c41ab6eec487p-20;
  p = p * z - 0x1.d2b8522d6f7cbp-17;
  p = p * z + 0x1.f57e9cee106c1p-14;
  p = p * z - 0x1.bfe158a7be278p-11;
  p = p * z + 0x1.56588b32275a7p-8;
  p = p * z - 0x1.b82cbae7577a7p-6;
  p = p * z + 0x1.ce2f20a7415c6p-4;
  p = p * z - 0x1.812746ade3c08p-2;
  p = p * z + 0x1.20dd750428cb9p+0;
  return a * p;
}

TARSIA_MATH_INLINE double ErfLarge(double a) {
  const double t = (a - 2.5) * (1.0 / 1.5);
  double q = -0x1.48c2f3cb89ea8p-18;
  q = q * t + 0x1.cf3b2db7947ecp-17;
  q = q * t - 0x1.606c45daad3eep-16;
  q = q * t + 0x1.cd46875957cd3p-15;
  q = q * t - 0x1.57a0467ddb39ep-13;
  q = q * t + 0x1.b2984d0c72110p-12;
  q = q * t - 0x1.07800c8b0ab24p-10;
  q = q * t + 0x1.3acc88fb17e72p-9;
  q = q * t - 0x1.6d16cd5deca13p-8;
  q = q * t + 0x1.99432e7982161p-7;
  q = q * t - 0x1.ba7465025d9c6p-6;
  q = q * t + 0x1.cba830d7d7d6cp-5;
  q = q * t - 0x1.c8ca43ed0da51p-4;
  q = q * t + 0x1.afbb3f429b503p-3;
  return 1.0 - ExpDouble(-a * a) * q;
}

TARSIA_MATH_INLINE float ErfF32(float x) {
  const double a = Clamp(std::fabs(static_cast<double>(x)), 0.0, 4.0);
  const double small = ErfSmall(a);
  const double large = ErfLarge(a);
  return std::copysign(static_cast<float>(a < 1.0 ? small : large), x);
}

// The largest magnitude that SinCosF32 reduces exactly enough.
inline constexpr float kSinCosLimit = 100000.0f;

// sin(x + quadrants * pi / 2) for |x| <= kSinCosLimit: x = n pi / 2 + r, with pi / 2 in three
// parts of which n times the first two is exact; then the Taylor series of sine to r^13 and of
// cosine to r^12 (|r| < 0.79: the rest is below 1e-12 of the result).
template <int quadrants>
TARSIA_MATH_INLINE float SinCosF32(float x_f32) {
  const double x = x_f32;
  const double sum = x * 0x1.45f306dc9c883p-1 + kRoundMagic;
  const double n = sum - kRoundMagic;
  const double high = x - n * 0x1.921fb54400000p+0;
  const double r = (high - n * 0x1.0b4611a600000p-34) - n * 0x1.3198a2e037073p-69;
  const double z = r * r;
  double s = 1.0 / 6227020800;
  s = s * z - 1.0 / 39916800;
  s = s * z + 1.0 / 362880;
  s = s * z - 1.0 / 5040;
  s = s * z + 1.0 / 120;
  s = s * z - 1.0 / 6;
  s = r + r * z * s;
  double c = 1.0 / 479001600;
  c = c * z - 1.0 / 3628800;
  c = c * z + 1.0 / 40320;
  c = c * z - 1.0 / 720;
  c = c * z + 1.0 / 24;
  c = c * z - 0.5;
  c = c * z + 1.0;
  const uint64_t quadrant = std::bit_cast<uint64_t>(sum) + quadrants;
  const uint64_t take_cosine = uint64_t{0} - (quadrant & 1);
  const uint64_t sign = (quadrant & 2) << 62;
  const uint64_t bits =
      (std::bit_cast<uint64_t>(c) & take_cosine) | (std::bit_cast<uint64_t>(s) & ~take_cosine);
  return static_cast<float>(std::bit_cast<double>(bits ^ sign));
}

}  // namespace tarsia::host::internal

#endif  // TARSIA_VM_HOST_MATH_H_
