// vm/host/elementwise.h: arithmetic against plain formulas in wider types.
#include "vm/host/elementwise.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/vm/host_testing.h"

namespace tarsia::host::host_elementwise_test {
namespace {

__extension__ typedef __int128 Wide;

constexpr DType kIntegers[] = {kU8, kU16, kU32, kU64, kI8, kI16, kI32, kI64};
constexpr DType kHalves[] = {kF16, kBF16};

std::string Name(Opcode op, DType type) {
  return std::string(Row(op).mnemonic) + " " + std::string(DTypeName(type));
}

// --- integers ---

// The value of a code, as the type reads it.
Wide ValueOf(DType type, uint64_t code) {
  const bool negative = type.IsSigned() && (code >> (type.bits - 1)) != 0;
  return static_cast<Wide>(code) - (negative ? static_cast<Wide>(1) << type.bits : 0);
}

Wide ExpectedBinary(Opcode op, DType type, uint64_t a_code, uint64_t b_code) {
  const Wide a = ValueOf(type, a_code);
  const Wide b = ValueOf(type, b_code);
  const Wide least = type.IsSigned() ? -(static_cast<Wide>(1) << (type.bits - 1)) : 0;
  if (op == Opcode::kAdd) return a + b;
  if (op == Opcode::kSub) return a - b;
  if (op == Opcode::kMul)
    return static_cast<Wide>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  if (op == Opcode::kDiv) return b == 0 ? -1 : (a == least && b == -1) ? a : a / b;
  if (op == Opcode::kRem) return b == 0 ? a : a % b;
  if (op == Opcode::kMin) return a < b ? a : b;
  if (op == Opcode::kMax) return a < b ? b : a;
  if (op == Opcode::kAnd) return static_cast<Wide>(a_code & b_code);
  if (op == Opcode::kOr) return static_cast<Wide>(a_code | b_code);
  if (op == Opcode::kXor) return static_cast<Wide>(a_code ^ b_code);
  if (op == Opcode::kShl) return b_code >= type.bits ? 0 : static_cast<Wide>(a_code << b_code);
  if (op == Opcode::kShr) return b_code >= type.bits ? (a < 0 ? -1 : 0) : a >> b_code;
  if (op == Opcode::kEq) return a == b;
  if (op == Opcode::kNe) return a != b;
  if (op == Opcode::kLt) return a < b;
  if (op == Opcode::kLe) return a <= b;
  if (op == Opcode::kGt) return a > b;
  return a >= b;
}

constexpr Opcode kIntegerOps[] = {
    Opcode::kAdd, Opcode::kSub, Opcode::kMul, Opcode::kDiv, Opcode::kRem, Opcode::kMin,
    Opcode::kMax, Opcode::kAnd, Opcode::kOr,  Opcode::kXor, Opcode::kShl, Opcode::kShr,
    Opcode::kEq,  Opcode::kNe,  Opcode::kLt,  Opcode::kLe,  Opcode::kGt,  Opcode::kGe};

// Every edge, and numbers between, paired with each other.
std::vector<uint64_t> IntegerCodes(DType type) {
  const uint64_t sign = uint64_t{1} << (type.bits - 1);
  std::vector<uint64_t> codes;
  if (type.bits == 8) {
    for (uint64_t code = 0; code < 256; ++code) codes.push_back(code);
    return codes;
  }
  for (uint64_t code : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{7}, uint64_t{type.bits} - 1,
                        uint64_t{type.bits}, uint64_t{type.bits} + 1, sign - 1, sign, sign + 1,
                        CodeMask(type), CodeMask(type) - 1, uint64_t{255}, uint64_t{256}}) {
    codes.push_back(code);
  }
  Random random(type.bits);
  for (int i = 0; i < 40; ++i)
    codes.push_back(random.Next() >> random.Between(0, 63) & CodeMask(type));
  return codes;
}

void Pairs(const std::vector<uint64_t>& codes, std::vector<uint64_t>& a, std::vector<uint64_t>& b) {
  for (uint64_t x : codes) {
    for (uint64_t y : codes) {
      a.push_back(x);
      b.push_back(y);
    }
  }
}

TEST(HostBinary, IntegersWrapAndHaveDefinedEdges) {
  ForEachTarget([] {
    for (DType type : kIntegers) {
      std::vector<uint64_t> a, b;
      Pairs(IntegerCodes(type), a, b);
      const Array x(type, a), y(type, b);
      for (Opcode op : kIntegerOps) {
        SCOPED_TRACE(Name(op, type));
        const DType result = Row(op).Has(kCompares) ? kBoolType : type;
        Array out(result, a.size());
        Binary(op, type, x.data(), false, y.data(), false, out.data(), a.size());
        for (size_t i = 0; i < a.size(); ++i) {
          const auto expected =
              static_cast<uint64_t>(ExpectedBinary(op, type, a[i], b[i])) & CodeMask(result);
          ASSERT_EQ(out[i], expected) << a[i] << ", " << b[i];
        }
        EXPECT_TRUE(out.GuardIsWhole());
      }
    }
  });
}

TEST(HostBinary, EdgesByHand) {
  const int8_t least = -128, minus_one = -1, zero = 0, seven = 7, minus_seven = -7, two = 2;
  int8_t out = 0;
  Binary(Opcode::kDiv, kI8, &least, false, &minus_one, false, &out, 1);
  EXPECT_EQ(out, -128);
  Binary(Opcode::kRem, kI8, &least, false, &minus_one, false, &out, 1);
  EXPECT_EQ(out, 0);
  Binary(Opcode::kDiv, kI8, &seven, false, &zero, false, &out, 1);
  EXPECT_EQ(out, -1);
  Binary(Opcode::kRem, kI8, &seven, false, &zero, false, &out, 1);
  EXPECT_EQ(out, 7);
  Binary(Opcode::kDiv, kI8, &minus_seven, false, &two, false, &out, 1);
  EXPECT_EQ(out, -3);
  Binary(Opcode::kRem, kI8, &minus_seven, false, &two, false, &out, 1);
  EXPECT_EQ(out, -1);
  Binary(Opcode::kShr, kI8, &minus_seven, false, &minus_one, false, &out, 1);  // by 255
  EXPECT_EQ(out, -1);
  Binary(Opcode::kShl, kI8, &seven, false, &minus_one, false, &out, 1);
  EXPECT_EQ(out, 0);
}

TEST(HostBinary, BoolsAreBytes) {
  const Array a(kBoolType, {0, 0, 1, 1});
  const Array b(kBoolType, {0, 1, 0, 1});
  Array out(kBoolType, 4);
  const auto run = [&](Opcode op) {
    Binary(op, kBoolType, a.data(), false, b.data(), false, out.data(), 4);
    return out[0] + 10 * out[1] + 100 * out[2] + 1000 * out[3];
  };
  EXPECT_EQ(run(Opcode::kAnd), 1000u);
  EXPECT_EQ(run(Opcode::kOr), 1110u);
  EXPECT_EQ(run(Opcode::kXor), 110u);
  EXPECT_EQ(run(Opcode::kEq), 1001u);
  EXPECT_EQ(run(Opcode::kNe), 110u);
  Unary(Opcode::kNot, kBoolType, a.data(), out.data(), 4);
  EXPECT_EQ(out[0] + 10 * out[1] + 100 * out[2] + 1000 * out[3], 11u);
}

TEST(HostUnary, Integers) {
  ForEachTarget([] {
    for (DType type : kIntegers) {
      SCOPED_TRACE(DTypeName(type));
      const std::vector<uint64_t> codes = IntegerCodes(type);
      const Array in(type, codes);
      Array neg(type, codes.size()), abs(type, codes.size()), inverse(type, codes.size());
      Array popc(type, codes.size()), clz(type, codes.size());
      Unary(Opcode::kNeg, type, in.data(), neg.data(), codes.size());
      Unary(Opcode::kAbs, type, in.data(), abs.data(), codes.size());
      Unary(Opcode::kNot, type, in.data(), inverse.data(), codes.size());
      Unary(Opcode::kPopc, type, in.data(), popc.data(), codes.size());
      Unary(Opcode::kClz, type, in.data(), clz.data(), codes.size());
      for (size_t i = 0; i < codes.size(); ++i) {
        const Wide value = ValueOf(type, codes[i]);
        uint64_t ones = 0, zeros = type.bits;
        for (unsigned bit = 0; bit < type.bits; ++bit) {
          if ((codes[i] >> bit & 1) == 0) continue;
          ++ones;
          zeros = type.bits - 1 - bit;
        }
        EXPECT_EQ(neg[i], static_cast<uint64_t>(-value) & CodeMask(type)) << codes[i];
        EXPECT_EQ(abs[i], static_cast<uint64_t>(value < 0 ? -value : value) & CodeMask(type));
        EXPECT_EQ(inverse[i], codes[i] ^ CodeMask(type));
        EXPECT_EQ(popc[i], ones) << codes[i];
        EXPECT_EQ(clz[i], zeros) << codes[i];
      }
    }
  });
}

// --- floats ---

constexpr Opcode kFloatOps[] = {Opcode::kAdd, Opcode::kSub, Opcode::kMul, Opcode::kDiv,
                                Opcode::kRem, Opcode::kMin, Opcode::kMax};

// min, max of numbers, -0 below +0; the operand that is no NaN.
template <typename T>
T Least(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

// T: a type in which one operation and then one rounding to the tested type is correct.
template <typename T>
T ExpectedFloat(Opcode op, T a, T b) {
  if (op == Opcode::kAdd) return a + b;
  if (op == Opcode::kSub) return a - b;
  if (op == Opcode::kMul) return a * b;
  if (op == Opcode::kDiv) return a / b;
  if (op == Opcode::kRem) return std::fmod(a, b);
  return op == Opcode::kMin ? Least(a, b) : -Least(-a, -b);
}

bool ExpectedComparison(Opcode op, double a, double b) {
  if (op == Opcode::kEq) return a == b;
  if (op == Opcode::kNe) return !(a == b);
  if (op == Opcode::kLt) return a < b;
  if (op == Opcode::kLe) return a < b || a == b;
  if (op == Opcode::kGt) return a > b;
  return a > b || a == b;
}

// Both signs of zero, the least and largest subnormal, the least normal, one, neighbours, the
// largest, infinity, NaN; and random codes, half of them with exponents near each other.
std::vector<uint64_t> FloatCodes(DType type, int random_codes) {
  const uint64_t one_mantissa = uint64_t{1} << type.mantissa;
  const uint64_t one = static_cast<uint64_t>(type.bias) << type.mantissa;
  const uint64_t infinity = ((uint64_t{1} << type.exponent) - 1) << type.mantissa;
  std::vector<uint64_t> codes;
  for (uint64_t code : {uint64_t{0}, uint64_t{1}, uint64_t{3}, one_mantissa - 1, one_mantissa,
                        one_mantissa + 1, one, one + 1, one - 1, one + one_mantissa, infinity - 1,
                        infinity, infinity + one_mantissa / 2}) {
    codes.push_back(code);
    codes.push_back(code | uint64_t{1} << (type.bits - 1));
  }
  Random random(type.bits + type.exponent);
  for (int i = 0; i < random_codes; ++i) {
    uint64_t code = random.Next() & CodeMask(type);
    if (i % 2 == 0) {
      const uint64_t near = static_cast<uint64_t>(type.bias + random.Between(-4, 4));
      code = (code & ~infinity) | near << type.mantissa;
    }
    codes.push_back(code);
  }
  return codes;
}

template <typename T>
void CheckNativeFloat(DType type) {
  std::vector<uint64_t> a, b;
  Pairs(FloatCodes(type, 60), a, b);
  const Array x(type, a), y(type, b);
  for (Opcode op : kFloatOps) {
    SCOPED_TRACE(Name(op, type));
    Array out(type, a.size());
    Binary(op, type, x.data(), false, y.data(), false, out.data(), a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      const T expected = ExpectedFloat(op, static_cast<T>(x.Value(i)), static_cast<T>(y.Value(i)));
      T got;
      std::memcpy(&got, static_cast<const T*>(out.data()) + i, sizeof(T));
      ASSERT_TRUE(std::isnan(expected)
                      ? std::isnan(got)
                      : got == expected && std::signbit(got) == std::signbit(expected))
          << x.Value(i) << ", " << y.Value(i) << ": " << got << ", not " << expected;
    }
    EXPECT_TRUE(out.GuardIsWhole());
  }
}

TEST(HostBinary, NativeFloats) {
  ForEachTarget([] {
    CheckNativeFloat<float>(kF32);
    CheckNativeFloat<double>(kF64);
  });
}

TEST(HostBinary, HalvesRoundOnce) {
  ForEachTarget([] {
    for (DType type : kHalves) {
      std::vector<uint64_t> a, b;
      for (uint64_t y : FloatCodes(type, 8)) {
        for (uint64_t x = 0; x < 65536; x += 29) {
          a.push_back(x);
          b.push_back(y);
        }
      }
      const Array x(type, a), y(type, b);
      for (Opcode op : kFloatOps) {
        SCOPED_TRACE(Name(op, type));
        Array out(type, a.size());
        Binary(op, type, x.data(), false, y.data(), false, out.data(), a.size());
        for (size_t i = 0; i < a.size(); ++i) {
          const uint64_t expected =
              EncodeFromDouble(type, ExpectedFloat<double>(op, x.Value(i), y.Value(i)));
          ASSERT_TRUE(SameFloat(type, out[i], expected))
              << x.Value(i) << ", " << y.Value(i) << ": " << out.Value(i);
        }
      }
    }
  });
}

TEST(HostBinary, ComparisonsWithNanAndZeros) {
  ForEachTarget([] {
    for (DType type : {kF16, kBF16, kF32, kF64}) {
      std::vector<uint64_t> a, b;
      Pairs(FloatCodes(type, 20), a, b);
      const Array x(type, a), y(type, b);
      for (Opcode op :
           {Opcode::kEq, Opcode::kNe, Opcode::kLt, Opcode::kLe, Opcode::kGt, Opcode::kGe}) {
        SCOPED_TRACE(Name(op, type));
        Array out(kBoolType, a.size());
        Binary(op, type, x.data(), false, y.data(), false, out.data(), a.size());
        for (size_t i = 0; i < a.size(); ++i) {
          ASSERT_EQ(out[i], ExpectedComparison(op, x.Value(i), y.Value(i)) ? 1u : 0u)
              << x.Value(i) << ", " << y.Value(i);
        }
        EXPECT_TRUE(out.GuardIsWhole());
      }
    }
  });
}

TEST(HostBinary, TwoNansMakeTheCanonicalOne) {
  const float a = std::bit_cast<float>(0xFFC12345u), b = std::bit_cast<float>(0x7FC00777u);
  float out = 0;
  Binary(Opcode::kMin, kF32, &a, false, &b, false, &out, 1);
  EXPECT_EQ(std::bit_cast<uint32_t>(out), 0x7FC00000u);
  const uint16_t c = 0xFE11, d = 0x7E22;
  uint16_t half = 0;
  Binary(Opcode::kMax, kF16, &c, false, &d, false, &half, 1);
  EXPECT_EQ(half, 0x7E00);
}

TEST(HostBinary, EveryLengthUniformOperandAndInPlace) {
  ForEachTarget([] {
    for (size_t n : {0, 1, 2, 3, 7, 16, 31, 33, 511, 512, 513, 1025, 5000}) {
      for (DType type : {kF16, kF32, kI8, kI64}) {
        std::vector<double> values;
        for (size_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i % 50));
        const Array a = Array::OfDoubles(type, values);
        const Array three = Array::OfDoubles(type, {3});
        Array sum(type, n), left(type, n), right(type, n), both(type, n), in_place = a;
        Array less(kBoolType, n);
        Binary(Opcode::kAdd, type, a.data(), false, a.data(), false, sum.data(), n);
        Binary(Opcode::kSub, type, three.data(), true, a.data(), false, left.data(), n);
        Binary(Opcode::kSub, type, a.data(), false, three.data(), true, right.data(), n);
        Binary(Opcode::kMul, type, three.data(), true, three.data(), true, both.data(), n);
        Binary(Opcode::kMul, type, in_place.data(), false, in_place.data(), false, in_place.data(),
               n);
        Binary(Opcode::kLt, type, a.data(), false, three.data(), true, less.data(), n);
        for (size_t i = 0; i < n; ++i) {
          ASSERT_EQ(sum.Value(i), 2 * values[i]);
          ASSERT_EQ(left.Value(i), 3 - values[i]);
          ASSERT_EQ(right.Value(i), values[i] - 3);
          ASSERT_EQ(both.Value(i), 9);
          const double square = values[i] * values[i];
          const double wrapped = static_cast<double>(static_cast<int8_t>(static_cast<int>(square)));
          ASSERT_EQ(in_place.Value(i),
                    type == kI8 ? wrapped : DecodeToDouble(type, EncodeFromDouble(type, square)));
          ASSERT_EQ(less[i], values[i] < 3 ? 1u : 0u);
        }
        for (const Array* array : {&sum, &left, &right, &both, &in_place, &less}) {
          EXPECT_TRUE(array->GuardIsWhole());
        }
      }
    }
  });
}

// --- fma ---

// A float type's code of sign * magnitude * 2^unit, rounded to nearest even by integer arithmetic.
uint64_t RoundExact(DType type, Wide value, int unit) {
  const bool negative = value < 0;
  Wide magnitude = negative ? -value : value;
  const uint64_t sign = negative ? uint64_t{1} << (type.bits - 1) : 0;
  int top = 0;
  while (top < 126 && magnitude >> (top + 1) != 0) ++top;
  const int least = 1 - type.bias - type.mantissa;  // exponent of the subnormals' last place
  int last = unit + top - type.mantissa;            // of this number's
  if (last < least) last = least;
  const int shift = last - unit;
  Wide kept = magnitude;
  if (shift > 0) {
    const Wide half = static_cast<Wide>(1) << (shift - 1);
    const Wide rest = magnitude & (2 * half - 1);
    kept = magnitude >> shift;
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  } else {
    kept = magnitude << -shift;
  }
  if (kept == 0) return sign;
  // kept * 2^last; a carry out of the mantissa moves to the next exponent by itself.
  const uint64_t fraction = static_cast<uint64_t>(kept);
  const auto exponent = static_cast<uint64_t>(last - least);
  const uint64_t code = fraction + (exponent << type.mantissa);
  const uint64_t infinity = ((uint64_t{1} << type.exponent) - 1) << type.mantissa;
  return sign | (code > infinity ? infinity : code);
}

TEST(HostFma, HalvesRoundOnceFromTheExactSum) {
  ForEachTarget([] {
    for (DType type : kHalves) {
      SCOPED_TRACE(DTypeName(type));
      // Multiples of 2^-24 below 2^17, so that products are multiples of 2^-48 and all fits.
      std::vector<uint64_t> codes[3];
      Random random(type.exponent);
      for (int i = 0; i < 60000; ++i) {
        for (auto& operand : codes) {
          const int low = type == kF16 ? 0 : type.bias - 17;
          const int high = type == kF16 ? 30 : type.bias + 15;
          const auto exponent = static_cast<uint64_t>(random.Between(low, high));
          operand.push_back((random.Next() & ((uint64_t{1} << type.mantissa) - 1)) |
                            exponent << type.mantissa | (random.Next() & 1) << (type.bits - 1));
        }
      }
      const Array a(type, codes[0]), b(type, codes[1]), c(type, codes[2]);
      Array out(type, a.size());
      Fma(type, a.data(), false, b.data(), false, c.data(), false, out.data(), a.size());
      const auto fixed = [](double value) { return static_cast<Wide>(std::ldexp(value, 24)); };
      for (size_t i = 0; i < a.size(); ++i) {
        const Wide sum = fixed(a.Value(i)) * fixed(b.Value(i)) + (fixed(c.Value(i)) << 24);
        if (sum == 0) continue;
        ASSERT_EQ(out[i], RoundExact(type, sum, -48))
            << a.Value(i) << " * " << b.Value(i) << " + " << c.Value(i);
      }
      EXPECT_TRUE(out.GuardIsWhole());
    }
  });
}

TEST(HostFma, NativeFloatsRoundOnce) {
  ForEachTarget([] {
    // (1 + 2^-12)^2 - (1 + 2^-11) = 2^-24; two roundings give 0.
    const float a = 1 + 0x1p-12f, c = -(1 + 0x1p-11f);
    float out[3] = {};
    Fma(kF32, &a, true, &a, true, &c, true, out, 3);
    EXPECT_EQ(out[2], 0x1p-24f);
    const double x = 1 + 0x1p-27, z = -(1 + 0x1p-26);
    double wide[2] = {};
    Fma(kF64, &x, true, &x, true, &z, true, wide, 2);
    EXPECT_EQ(wide[1], 0x1p-54);
    const float infinity = std::numeric_limits<float>::infinity(), zero = 0;
    Fma(kF32, &infinity, true, &zero, true, &c, true, out, 1);
    EXPECT_TRUE(std::isnan(out[0]));
  });
}

TEST(HostFma, HalfOverflowsAndKeepsZeros) {
  const uint16_t largest = 0x7BFF, two = 0x4000, minus_zero = 0x8000, one = 0x3C00;
  uint16_t out = 0;
  Fma(kF16, &largest, false, &two, false, &one, false, &out, 1);
  EXPECT_EQ(out, 0x7C00);
  Fma(kF16, &minus_zero, false, &one, false, &minus_zero, false, &out, 1);
  EXPECT_EQ(out, 0x8000);
  const uint16_t nan = 0x7E00;
  Fma(kF16, &nan, false, &one, false, &one, false, &out, 1);
  EXPECT_GT(out & 0x7FFF, 0x7C00);
}

TEST(HostFma, ComplexNumbers) {
  ForEachTarget([] {
    // (1 + 2i) (3 + 4i) + (10 + 20i) = 5 + 30i, and i * i + 0 = -1.
    const float a[] = {1, 2, 0, 1}, b[] = {3, 4, 0, 1}, c[] = {10, 20, 0, 0};
    float out[4] = {};
    Fma(kC64, a, false, b, false, c, false, out, 2);
    EXPECT_EQ(out[0], 5);
    EXPECT_EQ(out[1], 30);
    EXPECT_EQ(out[2], -1);
    EXPECT_EQ(out[3], 0);
    const Array x = Array::OfDoubles(kF16, {1, 2}), y = Array::OfDoubles(kF16, {3, 4});
    const Array z = Array::OfDoubles(kF16, {10, 20});
    Array half(kF16, 6);
    Fma(kC32, x.data(), true, y.data(), true, z.data(), true, half.data(), 3);
    EXPECT_EQ(half.Value(4), 5);
    EXPECT_EQ(half.Value(5), 30);
  });
}

// --- unary floats ---

double ExpectedUnary(Opcode op, double x) {
  if (op == Opcode::kNeg) return -x;
  if (op == Opcode::kAbs) return std::fabs(x);
  if (op == Opcode::kSqrt) return std::sqrt(x);
  if (op == Opcode::kRcp) return 1 / x;
  if (op == Opcode::kFloor) return std::floor(x);
  if (op == Opcode::kCeil) return std::ceil(x);
  if (op == Opcode::kTrunc) return std::trunc(x);
  // To the nearest integer, ties to even; doubles from 2^52 on are integers.
  if (!(std::fabs(x) < 0x1p52)) return x;
  const double below = std::floor(x);
  const double fraction = x - below;
  const bool odd = std::fmod(below, 2) != 0;
  return std::copysign(fraction > 0.5 || (fraction == 0.5 && odd) ? below + 1 : below, x);
}

void ExpectExactUnary(DType type, const std::vector<uint64_t>& codes) {
  const Array in(type, codes);
  for (Opcode op : {Opcode::kNeg, Opcode::kAbs, Opcode::kSqrt, Opcode::kRcp, Opcode::kFloor,
                    Opcode::kCeil, Opcode::kTrunc, Opcode::kRound}) {
    SCOPED_TRACE(Name(op, type));
    Array out(type, codes.size());
    Unary(op, type, in.data(), out.data(), codes.size());
    for (size_t i = 0; i < codes.size(); ++i) {
      const uint64_t expected = EncodeFromDouble(type, ExpectedUnary(op, in.Value(i)));
      ASSERT_TRUE(SameFloat(type, out[i], expected)) << in.Value(i) << ": " << out.Value(i);
    }
    EXPECT_TRUE(out.GuardIsWhole());
  }
}

TEST(HostUnary, ExactFloatOperationsOnAllHalves) {
  ForEachTarget([] {
    for (DType type : kHalves) {
      std::vector<uint64_t> codes;
      for (uint64_t code = 0; code < 65536; ++code) codes.push_back(code);
      ExpectExactUnary(type, codes);
    }
  });
}

TEST(HostUnary, ExactNativeFloatOperations) {
  ForEachTarget([] {
    for (DType type : {kF32, kF64}) {
      std::vector<uint64_t> codes = FloatCodes(type, 5000);
      for (double x : {0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999, 8388607.5, 4503599627370495.5}) {
        codes.push_back(EncodeFromDouble(type, x));
      }
      ExpectExactUnary(type, codes);
    }
  });
}

// --- select, fill, iota ---

TEST(HostSelect, EverySizeAndUniformOperand) {
  ForEachTarget([] {
    for (DType type : {kU8, kU16, kU32, kU64}) {
      for (size_t n : {0, 1, 5, 64, 513, 1500}) {
        std::vector<uint64_t> condition, a, b;
        for (size_t i = 0; i < n; ++i) {
          condition.push_back(i % 3 == 0 ? 1 : 0);
          a.push_back(i % 100);
          b.push_back(100 + i % 100);
        }
        const Array c(kBoolType, condition), x(type, a), y(type, b),
            z(type, std::vector<uint64_t>{77});
        const auto* bytes = static_cast<const uint8_t*>(c.data());
        const uint8_t yes = 1;
        Array out(type, n), left(type, n), right(type, n), taken(type, n);
        Select(ContainerBytes(type), bytes, false, x.data(), false, y.data(), false, out.data(), n);
        Select(ContainerBytes(type), bytes, false, z.data(), true, y.data(), false, left.data(), n);
        Select(ContainerBytes(type), bytes, false, x.data(), false, z.data(), true, right.data(),
               n);
        Select(ContainerBytes(type), &yes, true, x.data(), false, y.data(), false, taken.data(), n);
        for (size_t i = 0; i < n; ++i) {
          ASSERT_EQ(out[i], i % 3 == 0 ? a[i] : b[i]);
          ASSERT_EQ(left[i], i % 3 == 0 ? 77 : b[i]);
          ASSERT_EQ(right[i], i % 3 == 0 ? a[i] : 77);
          ASSERT_EQ(taken[i], a[i]);
        }
        EXPECT_TRUE(out.GuardIsWhole() && left.GuardIsWhole() && right.GuardIsWhole());
      }
    }
  });
}

TEST(HostFill, WritesTheLowBytes) {
  for (DType type : {kU8, kU16, kU32, kU64}) {
    Array out(type, 13);
    Fill(ContainerBytes(type), 0x1122334455667788u, out.data(), 13);
    for (size_t i = 0; i < 13; ++i) EXPECT_EQ(out[i], 0x1122334455667788u & CodeMask(type));
    EXPECT_TRUE(out.GuardIsWhole());
  }
}

TEST(HostIota, CountsInEveryType) {
  Array i32(kI32, 1300);
  IotaRun(kI32, -5, i32.data(), 1300);
  for (size_t i = 0; i < 1300; ++i) ASSERT_EQ(i32.Value(i), static_cast<double>(i) - 5);
  EXPECT_TRUE(i32.GuardIsWhole());
  Array half(kF16, 3);
  IotaRun(kF16, 2048, half.data(), 3);  // 2049 is halfway between 2048 and 2050
  EXPECT_EQ(half.Value(0), 2048);
  EXPECT_EQ(half.Value(1), 2048);
  EXPECT_EQ(half.Value(2), 2050);
  Array byte(kU8, 2);
  IotaRun(kU8, 255, byte.data(), 2);
  EXPECT_EQ(byte[0], 255u);
  EXPECT_EQ(byte[1], 255u);
}

TEST(HostElementwise, RefusesWhatTheTableRefuses) {
  float x = 1, out = 42;
  Unary(Opcode::kPopc, kF32, &x, &out, 1);
  Unary(Opcode::kAdd, kF32, &x, &out, 1);
  Binary(Opcode::kAnd, kF32, &x, false, &x, false, &out, 1);
  Binary(Opcode::kExp, kF32, &x, false, &x, false, &out, 1);
  Binary(Opcode::kAdd, kTF32, &x, false, &x, false, &out, 1);
  Fma(kI32, &x, false, &x, false, &x, false, &out, 1);
  EXPECT_EQ(out, 42);
}

}  // namespace
}  // namespace tarsia::host::host_elementwise_test
