#include "support/elementary.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace tarsia {
namespace {

// 64 bits of precision on x86-64, 11 more than a double; elsewhere more.
using Long = long double;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Two parts of 40 bits, whose products with integers of 24 bits are exact, and the rest.
constexpr Long kLn2[] = {0x1.62e42fefa4p-1L, -0x1.8432a1b0e2p-43L, -0x1.8cff81a12a17e198p-85L};
constexpr Long kPiHalf[] = {0x1.921fb54442p+0L, 0x1.a308d3131ap-41L, -0x1.d747f23e32ed6fdcp-83L};
constexpr Long kLog2E = 1.44269504088896340735992468100189214L;
constexpr Long kTwoOverPi = 0.636619772367581343075535053490057448L;
constexpr Long kTwoOverRootPi = 1.12837916709551257389615890312154517L;

// 1 / n!
constexpr auto kInverseFactorial = [] {
  std::array<Long, 21> out{};
  Long factorial = 1;
  for (size_t n = 0; n < out.size(); ++n) {
    if (n > 1) factorial *= static_cast<Long>(n);
    out[n] = 1 / factorial;
  }
  return out;
}();

// x - k * (parts[0] + parts[1] + parts[2]), which is small.
Long Reduced(Long x, Long k, const Long (&parts)[3]) {
  return ((x - k * parts[0]) - k * parts[1]) - k * parts[2];
}

// exp(r) - 1 for |r| <= 0.35: Taylor to r^17; the rest is below 1e-23 of the result.
Long ExpLessOne(Long r) {
  Long p = kInverseFactorial[17];
  for (size_t n = 16; n > 0; --n) p = p * r + kInverseFactorial[n];
  return p * r;
}

// exp(x) for |x| <= 1000: x = k ln 2 + r.
Long ExpLong(Long x) {
  const Long k = std::rint(x * kLog2E);
  return std::ldexp(1 + ExpLessOne(Reduced(x, k, kLn2)), static_cast<int>(k));
}

// x = 2^exponent * m with m in [sqrt(1/2), sqrt(2)), for positive x; returns ln(m) = 2 atanh(s), s
// = (m - 1) / (m + 1), |s| < 0.1716, as its series to s^29; the rest is below 1e-24 of the result.
Long LogReduced(double x, int& exponent) {
  constexpr double kRootHalf = 0x1.6a09e667f3bcdp-1;
  double m = std::frexp(x, &exponent);
  if (m < kRootHalf) {
    m *= 2;
    --exponent;
  }
  const Long s = (static_cast<Long>(m) - 1) / (static_cast<Long>(m) + 1);
  const Long z = s * s;
  Long p = Long{2} / 29;
  for (int n = 27; n > 0; n -= 2) p = p * z + Long{2} / static_cast<Long>(n);
  return p * s;
}

// The logarithm of an argument that is not a positive finite number.
double LogSpecial(double x) {
  if (x == 0) return -kInfinity;
  return x > 0 ? x : kNan;
}

// Taylor on |r| <= pi / 4; the rest is below 1e-21 of the result.
Long SinReduced(Long r) {
  const Long z = -r * r;
  Long p = kInverseFactorial[19];
  for (size_t n = 17; n > 1; n -= 2) p = p * z + kInverseFactorial[n];
  return r + r * z * p;
}
Long CosReduced(Long r) {
  const Long z = -r * r;
  Long p = kInverseFactorial[20];
  for (size_t n = 18; n > 0; n -= 2) p = p * z + kInverseFactorial[n];
  return 1 + z * p;
}

// sin(x + quadrants * pi / 2).
double SinShifted(double x, int quadrants) {
  constexpr double kLimit = 0x1p23;
  if (!std::isfinite(x)) return kNan;
  if (std::fabs(x) > kLimit) {  // sinl and cosl have one implementation for all processors
    const Long y = static_cast<Long>(x);
    return static_cast<double>(quadrants == 0 ? std::sin(y) : std::cos(y));
  }
  const Long k = std::rint(static_cast<Long>(x) * kTwoOverPi);
  const Long r = Reduced(static_cast<Long>(x), k, kPiHalf);
  const unsigned turn = static_cast<unsigned>(static_cast<int>(k) + quadrants) % 4;
  const Long magnitude = turn % 2 == 0 ? SinReduced(r) : CosReduced(r);
  return static_cast<double>(turn < 2 ? magnitude : -magnitude);
}

}  // namespace

double Exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 710) return kInfinity;
  if (x < -746) return 0;
  return static_cast<double>(ExpLong(static_cast<Long>(x)));
}

double Exp2(double x) {
  if (std::isnan(x)) return x;
  if (x >= 1024) return kInfinity;
  if (x < -1076) return 0;
  const double k = std::rint(x);
  const Long r = static_cast<Long>(x - k);  // exact
  const Long product = r * kLn2[0] + r * (kLn2[1] + kLn2[2]);
  return static_cast<double>(std::ldexp(1 + ExpLessOne(product), static_cast<int>(k)));
}

double Log(double x) {
  if (!(x > 0 && x < kInfinity)) return std::isnan(x) ? x : LogSpecial(x);
  int exponent = 0;
  const Long log_m = LogReduced(x, exponent);
  const auto e = static_cast<Long>(exponent);
  return static_cast<double>(e * kLn2[0] + (e * kLn2[1] + (e * kLn2[2] + log_m)));
}

double Log2(double x) {
  if (!(x > 0 && x < kInfinity)) return std::isnan(x) ? x : LogSpecial(x);
  int exponent = 0;
  const Long log_m = LogReduced(x, exponent);
  return static_cast<double>(static_cast<Long>(exponent) + log_m * kLog2E);
}

double Sin(double x) { return x == 0 ? x : SinShifted(x, 0); }
double Cos(double x) { return SinShifted(x, 1); }

// (exp(2a) - 1) / (exp(2a) + 1), by the series of exp(2a) - 1 where the difference cancels.
// tanh(22) is 1.
double Tanh(double x) {
  if (std::isnan(x)) return x;
  const Long twice = 2 * std::fabs(static_cast<Long>(x));
  Long result = 1;
  if (twice < 0.35L) {
    const Long t = ExpLessOne(twice);
    result = t / (t + 2);
  } else if (twice < 44) {
    result = 1 - 2 / (ExpLong(twice) + 1);
  }
  return std::copysign(static_cast<double>(result), x);
}

// 2 / sqrt(pi) exp(-x^2) times the sum of 2^n x^(2n+1) / (1 * 3 * .. * (2n+1)), whose terms all
// have the same sign. erf(6) is 1.
double Erf(double x) {
  if (std::isnan(x)) return x;
  const Long a = std::fabs(static_cast<Long>(x));
  if (a >= 6) return std::copysign(1.0, x);
  const Long step = 2 * a * a;
  Long term = a;
  Long sum = a;
  for (int n = 3; term > sum * 0x1p-66L; n += 2) {
    term = term * step / static_cast<Long>(n);
    sum += term;
  }
  return std::copysign(static_cast<double>(kTwoOverRootPi * ExpLong(-a * a) * sum), x);
}

}  // namespace tarsia
