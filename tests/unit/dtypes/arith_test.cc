#include "dtypes/arith.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "tests/unit/dtypes/oracle.h"

namespace tarsia::arith::arith_test {
namespace {

constexpr float kInfF = std::numeric_limits<float>::infinity();
constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();

TEST(ArithTest, EightBitIntegersExhaustively) {
  for (int a = -128; a < 128; ++a) {
    for (int b = -128; b < 128; ++b) {
      const auto x = static_cast<int8_t>(a), y = static_cast<int8_t>(b);
      EXPECT_EQ(Add(x, y), static_cast<int8_t>(a + b));
      EXPECT_EQ(Sub(x, y), static_cast<int8_t>(a - b));
      EXPECT_EQ(Mul(x, y), static_cast<int8_t>(a * b));
      EXPECT_EQ(Div(x, y), b == 0 ? -1 : static_cast<int8_t>(a / b));
      EXPECT_EQ(Rem(x, y), b == 0 ? a : a % b);
      EXPECT_EQ(Min(x, y), a < b ? a : b);
      EXPECT_EQ(Max(x, y), a < b ? b : a);
      const auto u = static_cast<uint8_t>(a), v = static_cast<uint8_t>(b);
      EXPECT_EQ(Div(u, v), v == 0 ? 255 : u / v);
      EXPECT_EQ(Rem(u, v), v == 0 ? u : u % v);
      EXPECT_EQ(Mul(u, v), (u * v) & 255);
      EXPECT_EQ(Shl(u, v), v >= 8 ? 0 : (u << v) & 255);
      EXPECT_EQ(Shr(u, v), v >= 8 ? 0 : u >> v);
      EXPECT_EQ(Shl(x, y), static_cast<int8_t>(v >= 8 ? 0 : u << v));
      EXPECT_EQ(Shr(x, y), v >= 8 ? (a < 0 ? -1 : 0) : a >> v);
    }
  }
}

template <typename T>
void ExpectSignedEdges() {
  constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  EXPECT_EQ(Add(kMost, T{1}), kLeast);
  EXPECT_EQ(Sub(kLeast, T{1}), kMost);
  EXPECT_EQ(Mul(kLeast, T{-1}), kLeast);
  EXPECT_EQ(Mul(kMost, kMost), T{1});
  EXPECT_EQ(Neg(kLeast), kLeast);
  EXPECT_EQ(Abs(kLeast), kLeast);
  EXPECT_EQ(Abs(T{-7}), T{7});
  EXPECT_EQ(Div(kLeast, T{-1}), kLeast);
  EXPECT_EQ(Rem(kLeast, T{-1}), T{0});
  EXPECT_EQ(Div(T{5}, T{0}), T{-1});
  EXPECT_EQ(Rem(T{5}, T{0}), T{5});
  EXPECT_EQ(Div(T{-7}, T{2}), T{-3});
  EXPECT_EQ(Rem(T{-7}, T{2}), T{-1});
  constexpr T kWidth = sizeof(T) * 8;
  EXPECT_EQ(Shl(T{1}, static_cast<T>(kWidth - 1)), kLeast);
  EXPECT_EQ(Shl(T{1}, kWidth), T{0});
  EXPECT_EQ(Shl(T{1}, T{-1}), T{0});  // a negative count is a large one
  EXPECT_EQ(Shr(T{-5}, kWidth), T{-1});
  EXPECT_EQ(Shr(T{5}, kWidth), T{0});
  EXPECT_EQ(Shr(T{-5}, T{1}), T{-3});
  EXPECT_EQ(Fma(kMost, T{2}, T{3}), T{1});
}

template <typename T>
void ExpectUnsignedEdges() {
  constexpr T kMost = std::numeric_limits<T>::max();
  EXPECT_EQ(Add(kMost, T{1}), T{0});
  EXPECT_EQ(Sub(T{0}, T{1}), kMost);
  EXPECT_EQ(Mul(kMost, kMost), T{1});
  EXPECT_EQ(Div(T{5}, T{0}), kMost);
  EXPECT_EQ(Rem(T{5}, T{0}), T{5});
  EXPECT_EQ(Neg(T{1}), kMost);
  EXPECT_EQ(Shl(T{1}, T{sizeof(T) * 8}), T{0});
  EXPECT_EQ(Shr(kMost, T{sizeof(T) * 8}), T{0});
  EXPECT_EQ(Not(T{0}), kMost);
  EXPECT_EQ(Xor(Or(T{5}, T{2}), And(T{6}, T{3})), T{5});
}

TEST(ArithTest, IntegerEdges) {
  ExpectSignedEdges<int8_t>();
  ExpectSignedEdges<int16_t>();
  ExpectSignedEdges<int32_t>();
  ExpectSignedEdges<int64_t>();
  ExpectUnsignedEdges<uint8_t>();
  ExpectUnsignedEdges<uint16_t>();
  ExpectUnsignedEdges<uint32_t>();
  ExpectUnsignedEdges<uint64_t>();
}

// --- the halves, against exact integer arithmetic ---

using Wide = __int128;

// Neighbouring positive values of the type times 2^unit, all whole; codes ascend with them.
struct Scaled {
  std::vector<Wide> values;
  uint16_t first_code = 0;
};

Wide ToWide(double x, int unit) { return static_cast<Wide>(std::ldexp(x, unit)); }

Wide Magnitude(Wide x) { return x < 0 ? -x : x; }

// The code nearest to numerator / denominator / 2^unit, ties to the even code.
uint16_t Nearest(const Scaled& scaled, Wide numerator, Wide denominator) {
  const bool negative = (numerator < 0) != (denominator < 0);
  const Wide n = Magnitude(numerator), d = Magnitude(denominator);
  size_t low = 0, high = scaled.values.size();  // values[low] * d <= n < values[high] * d
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    (scaled.values[middle] * d <= n ? low : high) = middle;
  }
  if (high < scaled.values.size()) {
    const Wide twice = (scaled.values[low] + scaled.values[high]) * d;
    const bool odd = (scaled.first_code + low) % 2 == 1;
    if (2 * n > twice || (2 * n == twice && odd)) ++low;
  }
  return static_cast<uint16_t>(scaled.first_code + low + (negative ? 0x8000 : 0));
}

// The numbers from 2^-10 to 2^24, or as far as the type goes.
Scaled Window(const oracle::Format& format, int unit) {
  Scaled out;
  const std::vector<double> all = oracle::Values(format);
  for (size_t code = 0; code + 1 < all.size(); ++code) {
    if (all[code] < std::ldexp(1.0, -10) || all[code] > std::ldexp(1.0, 24)) continue;
    if (out.values.empty()) out.first_code = static_cast<uint16_t>(code);
    out.values.push_back(ToWide(all[code], unit));
  }
  return out;
}

template <Half T>
void ExpectHalfArithmetic(const oracle::Format& format) {
  // Operands are multiples of 2^-18 below 2^6; sums and products are multiples of 2^-36.
  const Scaled scaled = Window(format, 36);
  const double least = std::ldexp(1.0, -10), most = 6e4;
  std::mt19937 rng(11);
  const auto pick = [&rng, &format] {
    const double x =
        std::ldexp(static_cast<double>(rng() % 4096 + 1), static_cast<int>(rng() % 6) - 11);
    T half = RoundTo<T>(rng() % 2 == 0 ? x : -x);
    EXPECT_TRUE(std::isfinite(oracle::Decode(format, half.bits)));
    return half;
  };
  const auto inside = [&](double x) { return std::fabs(x) >= least && std::fabs(x) <= most; };
  int checked = 0;
  for (int i = 0; i < 100000; ++i) {
    const T a = pick(), b = pick(), c = pick();
    const double x = oracle::Decode(format, a.bits), y = oracle::Decode(format, b.bits),
                 z = oracle::Decode(format, c.bits);
    const Wide wx = ToWide(x, 18), wy = ToWide(y, 18), wz = ToWide(z, 18);
    const Wide one = Wide{1} << 18;
    if (inside(x + y)) {
      ASSERT_EQ(Add(a, b).bits, Nearest(scaled, (wx + wy) * one, 1));
      ++checked;
    }
    if (inside(x - y)) {
      ASSERT_EQ(Sub(a, b).bits, Nearest(scaled, (wx - wy) * one, 1));
    }
    if (inside(x * y)) {
      ASSERT_EQ(Mul(a, b).bits, Nearest(scaled, wx * wy, 1));
    }
    if (inside(x / y)) {
      ASSERT_EQ(Div(a, b).bits, Nearest(scaled, wx * one * one, wy));
    }
    if (inside(x * y + z)) {
      ASSERT_EQ(Fma(a, b, c).bits, Nearest(scaled, wx * wy + wz * one, 1));
    }
  }
  EXPECT_GT(checked, 90000);
}

TEST(ArithTest, F16IsRoundedOnce) { ExpectHalfArithmetic<F16>(oracle::FormatOf("f16")); }

TEST(ArithTest, BF16IsRoundedOnce) { ExpectHalfArithmetic<BF16>(oracle::FormatOf("bf16")); }

F16 H(double x) { return RoundTo<F16>(x); }
BF16 B(double x) { return RoundTo<BF16>(x); }

TEST(ArithTest, HalvesDecodeAndRound) {
  const oracle::Format f16 = oracle::FormatOf("f16"), bf16 = oracle::FormatOf("bf16");
  for (uint32_t code = 0; code < 65536; ++code) {
    const auto bits = static_cast<uint16_t>(code);
    const double x = oracle::Decode(f16, code), y = oracle::Decode(bf16, code);
    if (std::isnan(x)) {
      EXPECT_TRUE(IsNan(F16{bits}) && std::isnan(ToFloat(F16{bits})));
    } else {
      ASSERT_EQ(std::bit_cast<uint64_t>(ToDouble(F16{bits})), std::bit_cast<uint64_t>(x));
      ASSERT_EQ(RoundTo<F16>(x).bits, bits);
    }
    if (std::isnan(y)) {
      EXPECT_TRUE(IsNan(BF16{bits}));
    } else {
      ASSERT_EQ(std::bit_cast<uint64_t>(ToDouble(BF16{bits})), std::bit_cast<uint64_t>(y));
      ASSERT_EQ(RoundTo<BF16>(y).bits, bits);
    }
  }
  for (const auto& [name, is_f16] : {std::pair<const char*, bool>{"f16", true}, {"bf16", false}}) {
    const oracle::Format format = oracle::FormatOf(name);
    const std::vector<double> values = oracle::Values(format);
    for (const double x : oracle::Boundaries(values)) {
      const uint64_t want = oracle::Encode(format, values, x, false, oracle::Mode::kNearest);
      ASSERT_EQ(is_f16 ? H(x).bits : B(x).bits, want) << name << " " << x;
    }
  }
}

TEST(ArithTest, FmaRoundsOnce) {
  // 9 * 29 = 261 lies half way from 260 to 262, and 2^-60 more is lost in double.
  EXPECT_EQ(Fma(B(9), B(29), B(0)).bits, B(260).bits);
  EXPECT_EQ(Fma(B(9), B(29), B(0x1p-60)).bits, B(262).bits);
  EXPECT_EQ(Fma(B(-9), B(29), B(-0x1p-60)).bits, B(-262).bits);
  // 7 * 37 = 259 would go up to the even 260.
  EXPECT_EQ(Fma(B(7), B(37), B(0)).bits, B(260).bits);
  EXPECT_EQ(Fma(B(7), B(37), B(-0x1p-60)).bits, B(258).bits);
  EXPECT_EQ(Fma(B(-7), B(37), B(0x1p-60)).bits, B(-258).bits);
  // Product and sum cancel but for what one rounding of the product would lose.
  EXPECT_EQ(Fma(H(1.0009765625), H(1.0009765625), H(-1.001953125)).bits, H(0x1p-20).bits);
  EXPECT_EQ(Fma(H(256), H(256), H(-65504)).bits, H(32).bits);  // the product alone overflows
  EXPECT_EQ(Fma(1.0f + 0x1p-23f, 1.0f + 0x1p-23f, -(1.0f + 0x1p-22f)), 0x1p-46f);
  EXPECT_TRUE(IsNan(Fma(H(0), H(INFINITY), H(1))));
  EXPECT_EQ(Fma(H(-0.0), H(1), H(-0.0)).bits, 0x8000);
}

TEST(ArithTest, SubnormalHalvesAreHonoured) {
  EXPECT_EQ(Mul(B(0x1p-67), B(0x1p-67)).bits, 0);        // 2^-134, the tie, to even
  EXPECT_EQ(Mul(B(0x1.02p-67), B(0x1p-67)).bits, 1);     // above it
  EXPECT_EQ(Mul(B(0x1.02p-67), B(0x1.FCp-68)).bits, 0);  // (1 + 2^-7)(1 - 2^-7) below it
  EXPECT_EQ(Mul(H(0x1p-14), H(0.5)).bits, 0x0200);
  EXPECT_EQ(Sub(F16{0x0401}, F16{0x0400}).bits, 1);
  EXPECT_EQ(Div(F16{1}, H(2)).bits, 0);
  EXPECT_EQ(Div(F16{3}, H(2)).bits, 2);
  EXPECT_EQ(Add(H(65504), H(16)).bits, 0x7C00);
  EXPECT_EQ(Add(H(65504), H(15)).bits, H(65504).bits);
  EXPECT_EQ(Sqrt(F16{1}).bits, H(0x1p-12).bits);
  EXPECT_EQ(Sqrt(H(2)).bits, 0x3DA8);
  EXPECT_EQ(Rem(H(5.5), H(2)).bits, H(1.5).bits);
  EXPECT_EQ(Rem(H(-5.5), H(2)).bits, H(-1.5).bits);
  EXPECT_TRUE(IsNan(Rem(H(1), H(0))));
}

TEST(ArithTest, MinAndMax) {
  EXPECT_EQ(Min(1.0f, kNanF), 1.0f);
  EXPECT_EQ(Min(kNanF, 1.0f), 1.0f);
  EXPECT_EQ(Max(kNanF, -kInfF), -kInfF);
  EXPECT_EQ(std::bit_cast<uint32_t>(Max(-kNanF, -kNanF)), 0x7FC00000u);
  EXPECT_EQ(std::bit_cast<uint64_t>(Min(std::bit_cast<double>(0xFFF0000000000001u),
                                        std::bit_cast<double>(0x7FF8000000000005u))),
            0x7FF8000000000000u);
  EXPECT_TRUE(std::signbit(Min(0.0f, -0.0f)) && std::signbit(Min(-0.0f, 0.0f)));
  EXPECT_FALSE(std::signbit(Max(0.0f, -0.0f)) || std::signbit(Max(-0.0f, 0.0f)));
  EXPECT_EQ(Min(H(2), H(-3)).bits, H(-3).bits);
  EXPECT_EQ(Max(F16{0x7C01}, H(1)).bits, H(1).bits);
  EXPECT_EQ(Max(F16{0xFC01}, F16{0x7C01}).bits, 0x7E00);
  EXPECT_EQ(Min(BF16{0xFFC0}, BF16{0x7F81}).bits, 0x7FC0);
  EXPECT_EQ(Min(F16{0}, F16{0x8000}).bits, 0x8000);
  EXPECT_EQ(Max(BF16{0x8000}, BF16{0}).bits, 0);
}

TEST(ArithTest, SignsAndComparisons) {
  EXPECT_EQ(Neg(F16{0x7E01}).bits, 0xFE01);
  EXPECT_EQ(Abs(BF16{0xBF80}).bits, 0x3F80);
  EXPECT_TRUE(std::signbit(Neg(0.0f)));
  EXPECT_TRUE(Eq(F16{0}, F16{0x8000}));
  EXPECT_FALSE(Eq(F16{0x7E00}, F16{0x7E00}));
  EXPECT_TRUE(Lt(H(-1), H(1)) && Le(B(1), B(1)) && !Lt(1.0, 1.0) && Lt(uint8_t{1}, uint8_t{200}));
  EXPECT_FALSE(Le(kNanF, 1.0f) || Lt(1.0f, kNanF));
}

TEST(ArithTest, ConversionsOfNumbers) {
  EXPECT_EQ(FloatToInteger<int8_t>(-128.9), -128);
  EXPECT_EQ(FloatToInteger<int8_t>(127.9), 127);
  EXPECT_EQ(FloatToInteger<int8_t>(1e9), 127);
  EXPECT_EQ(FloatToInteger<uint8_t>(-0.9), 0);
  EXPECT_EQ(FloatToInteger<uint32_t>(NAN), 0u);
  EXPECT_EQ(FloatToInteger<int64_t>(0x1p63), INT64_MAX);
  EXPECT_EQ(FloatToInteger<int64_t>(-0x1p63), INT64_MIN);
  EXPECT_EQ(FloatToInteger<int64_t>(0x1.FFFFFFFFFFFFFp62), 0x7FFFFFFFFFFFFC00);
  EXPECT_EQ(FloatToInteger<uint64_t>(0x1p64), UINT64_MAX);
  EXPECT_EQ(FloatToInteger<uint64_t>(0x1p63), uint64_t{1} << 63);
  EXPECT_EQ(FloatToInteger<uint64_t>(-INFINITY), 0u);
}

TEST(ArithTest, UlpError) {
  EXPECT_EQ(UlpError(kF16, 0x3C00, 1.0L), 0);
  EXPECT_EQ(UlpError(kF16, 0x3C01, 1.0L), 1);
  EXPECT_EQ(UlpError(kF16, 0x3C00, 1.0L + 0x1p-11L), 0.5);
  EXPECT_EQ(UlpError(kF16, 0x0001, 0.0L), 1);
  EXPECT_EQ(UlpError(kF16, 0x0001, 0x1p-25L), 0.5);
  EXPECT_EQ(UlpError(kF64, 0x3FF0000000000000, 1.0L + 0x1p-54L), 0.25);
  // Steps from 1 are 2^-10, and those from the number below it half as long.
  EXPECT_EQ(UlpError(kF16, 0x3BFF, 1.0L), 0.5);
  EXPECT_EQ(UlpError(kF16, 0x3BFE, 1.0L - 0x1p-12L), 0.75);
  EXPECT_EQ(UlpError(kF16, 0x3BFE, 1.0L - 0x1p-11L), 1);
  EXPECT_EQ(UlpError(kF16, 0x7C00, 65520.0L), 0);
  EXPECT_EQ(UlpError(kF16, 0x7C00, 65519.0L), INFINITY);
  EXPECT_EQ(UlpError(kF16, 0xFC00, 65520.0L), INFINITY);
  EXPECT_EQ(UlpError(kF16, 0x7BFF, 65536.0L), 0.5);
  EXPECT_EQ(UlpError(kF32, 0x7FC00000, static_cast<long double>(kNanF)), 0);
  EXPECT_EQ(UlpError(kF32, 0x7FC00000, 1.0L), INFINITY);
  EXPECT_EQ(UlpError(kF32, 0x7F800000, static_cast<long double>(kInfF)), 0);
  EXPECT_EQ(UlpError(kF32, 0x7F7FFFFF, static_cast<long double>(kInfF)), INFINITY);
}

}  // namespace
}  // namespace tarsia::arith::arith_test
