#include "dtypes/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "dtypes/dtype.h"
#include "tests/unit/dtypes/oracle.h"

namespace tarsia::convert_test {
namespace {

using oracle::kInf;
using oracle::kNan;
using oracle::Mode;

constexpr CastOptions kSat{Rounding::kNearestEven, Overflow::kSaturate};
constexpr CastOptions kNoSat{Rounding::kNearestEven, Overflow::kNonSaturating};

bool IsSmallFloat(DType type) { return type.IsFloat() && type.bits <= 8; }
bool IsHalf(DType type) { return type == kF16 || type == kBF16; }

// Equal as bits, all NaNs of one sign being one.
bool Same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

uint64_t Bits(float x) { return std::bit_cast<uint32_t>(x); }
uint64_t Bits(double x) { return std::bit_cast<uint64_t>(x); }

TEST(ConvertTest, EveryCodeDecodesToItsFormula) {
  for (const DTypeRow& row : AllDTypes()) {
    if (!IsSmallFloat(row.type) && !IsHalf(row.type)) continue;
    const oracle::Format format = oracle::FormatOf(row.name);
    ASSERT_EQ(format.bits, row.type.bits);
    for (uint64_t code = 0; code < uint64_t{1} << row.type.bits; ++code) {
      const double want = oracle::Decode(format, code);
      ASSERT_TRUE(Same(DecodeToDouble(row.type, code), want)) << row.name << " " << code;
      const uint64_t single = CastCode(row.type, code, kF32);
      if (!std::isnan(want)) {
        ASSERT_EQ(single, Bits(static_cast<float>(want))) << row.name << " " << code;
      }
    }
  }
}

TEST(ConvertTest, IntegerAndExponentCodesDecode) {
  for (int bits = 1; bits <= 8; ++bits) {
    const DType u = *FindDType("u" + std::to_string(bits));
    const DType i = *FindDType("i" + std::to_string(bits));
    for (int code = 0; code < 1 << bits; ++code) {
      EXPECT_EQ(DecodeToDouble(u, static_cast<uint64_t>(code)), code);
      const int value = code < 1 << (bits - 1) ? code : code - (1 << bits);
      EXPECT_EQ(DecodeToDouble(i, static_cast<uint64_t>(code)), value);
    }
  }
  for (int code = 0; code < 255; ++code) {
    EXPECT_EQ(DecodeToDouble(kE8M0, static_cast<uint64_t>(code)), std::ldexp(1.0, code - 127));
  }
  EXPECT_TRUE(std::isnan(DecodeToDouble(kE8M0, 255)));
  EXPECT_EQ(DecodeToDouble(kBoolType, 1), 1);
  EXPECT_EQ(DecodeToDouble(kBoolType, 6), 1);
}

// Against the documented constants of the formats, not against any formula.
TEST(ConvertTest, LandmarksOfTheFormats) {
  EXPECT_EQ(DecodeToDouble(kF8E4M3FN, 0x7E), 448);
  EXPECT_EQ(DecodeToDouble(kF8E4M3, 0x77), 240);
  EXPECT_EQ(DecodeToDouble(kF8E5M2, 0x7B), 57344);
  EXPECT_EQ(DecodeToDouble(kF8E4M3FNUZ, 0x40), 1);
  EXPECT_EQ(DecodeToDouble(kF8E5M2FNUZ, 0x40), 1);
  EXPECT_EQ(DecodeToDouble(kF8E4M3FNUZ, 0x7F), 240);
  EXPECT_EQ(DecodeToDouble(kF8E4M3B11FNUZ, 0x7F), 30);
  EXPECT_EQ(DecodeToDouble(kF8E3M4, 0x6F), 15.5);
  EXPECT_EQ(DecodeToDouble(kF6E3M2, 0x1F), 28);
  EXPECT_EQ(DecodeToDouble(kF6E2M3, 0x1F), 7.5);
  const double f4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint64_t i = 0; i < 8; ++i) EXPECT_EQ(DecodeToDouble(kF4E2M1, i), f4[i]);
  const double f3[] = {0, 1, 2, 4};
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(DecodeToDouble(kF3E2M0, i), f3[i]);
  EXPECT_EQ(DecodeToDouble(kTF32, 0x3F801FFF), 1);  // low bits are ignored
}

// --- every float target from f16, bf16, f32, f64 ---

void ExpectEncodes(DType type, std::string_view name, const oracle::Format& format,
                   const std::vector<double>& values, DType from, uint64_t code, double x) {
  const bool sat_by_default = type.bits <= 8;
  const uint64_t sat = oracle::Encode(format, values, x, true, Mode::kNearest);
  const uint64_t open = oracle::Encode(format, values, x, false, Mode::kNearest);
  ASSERT_EQ(CastCode(from, code, type, kSat), sat) << name << " from " << x;
  ASSERT_EQ(CastCode(from, code, type, kNoSat), open) << name << " from " << x;
  if (from != type) {
    ASSERT_EQ(CastCode(from, code, type), sat_by_default ? sat : open) << name << " from " << x;
  }
  for (const Overflow overflow : {Overflow::kSaturate, Overflow::kNonSaturating}) {
    const bool saturate = overflow == Overflow::kSaturate;
    ASSERT_EQ(CastCode(from, code, type, {Rounding::kTowardZero, overflow}),
              oracle::Encode(format, values, x, saturate, Mode::kTowardZero))
        << name << " from " << x << " toward zero";
  }
}

TEST(ConvertTest, SmallFloatsFromEveryHalf) {
  for (const DTypeRow& row : AllDTypes()) {
    if (!IsSmallFloat(row.type)) continue;
    const oracle::Format format = oracle::FormatOf(row.name);
    const std::vector<double> values = oracle::Values(format);
    for (const DType from : {kF16, kBF16}) {
      const oracle::Format half = oracle::FormatOf(DTypeName(from));
      for (uint64_t code = 0; code < 65536; ++code) {
        const double x = oracle::Decode(half, code);
        ExpectEncodes(row.type, row.name, format, values, from, code, x);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ConvertTest, FloatsFromAroundEveryRoundingBoundary) {
  for (const DTypeRow& row : AllDTypes()) {
    if (!IsSmallFloat(row.type) && !IsHalf(row.type)) continue;
    const oracle::Format format = oracle::FormatOf(row.name);
    const std::vector<double> values = oracle::Values(format);
    for (const double x : oracle::Boundaries(values)) {
      ExpectEncodes(row.type, row.name, format, values, kF64, Bits(x), x);
      const auto single = static_cast<float>(x);
      if (static_cast<double>(single) == x || std::isnan(x)) {
        ExpectEncodes(row.type, row.name, format, values, kF32, Bits(single), x);
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ConvertTest, Tf32FromAroundABoundaryInEveryBinade) {
  const oracle::Format format = oracle::FormatOf("tf32");
  const std::vector<double> values = oracle::Values(format);
  std::vector<double> some;
  for (size_t i = 0; i + 1 < values.size(); i += 509) {
    some.assign({values[i], values[i + 1]});
    for (const double x : oracle::Boundaries(some)) {
      ExpectEncodes(kTF32, "tf32", format, values, kF64, Bits(x), x);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ConvertTest, SmallFloatsFromEachOther) {
  for (const DTypeRow& from : AllDTypes()) {
    if (!IsSmallFloat(from.type)) continue;
    const oracle::Format source = oracle::FormatOf(from.name);
    for (const DTypeRow& to : AllDTypes()) {
      if (!IsSmallFloat(to.type)) continue;
      const oracle::Format format = oracle::FormatOf(to.name);
      const std::vector<double> values = oracle::Values(format);
      for (uint64_t code = 0; code < uint64_t{1} << from.type.bits; ++code) {
        double x = oracle::Decode(source, code);
        // The formula cannot give NaN a sign: take the code's.
        if (std::isnan(x)) x = std::copysign(kNan, code >> (from.type.bits - 1) != 0 ? -1.0 : 1.0);
        ExpectEncodes(to.type, to.name, format, values, from.type, code, x);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ConvertTest, SingleFromDoubleIsTheMachinesOwn) {
  uint64_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t bits = state;
    if (i % 2 == 0) {  // into the range of f32 and its subnormals
      bits = (state & 0x800FFFFFFFFFFFFFu) | (uint64_t{0x360} + (state >> 52) % 0x130) << 52;
    }
    if (i % 4 == 0) bits = (bits & ~uint64_t{0x1FFFFFFF}) | 0x10000000;  // a tie
    const double x = std::bit_cast<double>(bits);
    if (std::isnan(x)) continue;
    ASSERT_EQ(EncodeFromDouble(kF32, x), Bits(static_cast<float>(x))) << x;
  }
}

// --- NaN, infinity, identity, the unusual types ---

TEST(ConvertTest, NanRules) {
  EXPECT_EQ(EncodeFromDouble(kF16, kNan), 0x7E00u);
  EXPECT_EQ(EncodeFromDouble(kF16, -kNan), 0xFE00u);
  EXPECT_EQ(CastCode(kF32, 0x7F800001, kBF16), 0x7FC0u);
  EXPECT_EQ(EncodeFromDouble(kF8E4M3FN, -kNan), 0xFFu);
  EXPECT_EQ(EncodeFromDouble(kF8E5M2FNUZ, kNan), 0x80u);
  EXPECT_EQ(EncodeFromDouble(kF4E2M1, -kNan), 0x7u);
  EXPECT_EQ(EncodeFromDouble(kE8M0, -kNan), 0xFFu);
  EXPECT_EQ(EncodeFromDouble(kI32, kNan), 0u);
  EXPECT_EQ(EncodeFromDouble(kBoolType, kNan), 1u);
}

TEST(ConvertTest, ATypeToItselfIsTheIdentity) {
  for (uint64_t code = 0; code < 256; ++code) {
    EXPECT_EQ(CastCode(kF8E5M2, code, kF8E5M2), code);
    EXPECT_EQ(CastCode(kU3, code, kU3), code & 7);
  }
  EXPECT_EQ(CastCode(kF16, 0x7C01, kF16), 0x7C01u);
  EXPECT_EQ(CastCode(kF16, 0x7C00, kF16, kSat), 0x7BFFu);
  EXPECT_EQ(CastCode(kF16, 0xFC00, kF16, kSat), 0xFBFFu);
  EXPECT_EQ(CastCode(kTF32, 0x3F801FFF, kTF32), 0x3F800000u);
  EXPECT_EQ(CastCode(kBoolType, 7, kBoolType), 1u);
}

TEST(ConvertTest, E8m0TakesTheNearestPowerOfTwo) {
  for (int e = -126; e < 127; ++e) {
    const auto code = static_cast<uint64_t>(e + 127);
    const double power = std::ldexp(1.0, e);
    const double middle = 1.5 * power;
    EXPECT_EQ(EncodeFromDouble(kE8M0, power), code);
    EXPECT_EQ(EncodeFromDouble(kE8M0, std::nextafter(middle, 0)), code);
    EXPECT_EQ(EncodeFromDouble(kE8M0, std::nextafter(middle, kInf)), code + 1);
    EXPECT_EQ(EncodeFromDouble(kE8M0, middle), code + code % 2) << e;
    EXPECT_EQ(EncodeFromDouble(kE8M0, std::nextafter(2 * power, 0),
                               {Rounding::kTowardZero, Overflow::kDefault}),
              code);
  }
  for (const double x : {0.0, -0.0, -1.0, -kInf, 0x1p-128, 0x1p-1000, 0x1p-127, 0x1.8p-127}) {
    EXPECT_EQ(EncodeFromDouble(kE8M0, x), 0u) << x;
  }
  EXPECT_EQ(EncodeFromDouble(kE8M0, 0x1.9p-127), 1u);
  EXPECT_EQ(EncodeFromDouble(kE8M0, 0x1.7p127), 254u);
  EXPECT_EQ(EncodeFromDouble(kE8M0, 0x1.8p127), 254u);  // the tie stays: 254 is even
  EXPECT_EQ(EncodeFromDouble(kE8M0, 0x1.9p127), 254u);
  EXPECT_EQ(EncodeFromDouble(kE8M0, kInf), 254u);
  EXPECT_EQ(EncodeFromDouble(kE8M0, 0x1.8p127, kNoSat), 254u);
  EXPECT_EQ(EncodeFromDouble(kE8M0, 0x1.9p127, kNoSat), 255u);
  EXPECT_EQ(EncodeFromDouble(kE8M0, kInf, kNoSat), 255u);
  EXPECT_EQ(EncodeFromDouble(kE8M0, -kInf, kNoSat), 0u);
}

TEST(ConvertTest, StochasticAddsTheOperandToTheDiscardedPart) {
  const CastOptions options{Rounding::kStochastic, Overflow::kDefault};
  // 1.1875 lies half way from 1.125 (0x39) to 1.25 (0x3A).
  EXPECT_EQ(EncodeFromDouble(kF8E4M3FN, 1.1875, options, 0x7FFFFFFF), 0x39u);
  EXPECT_EQ(EncodeFromDouble(kF8E4M3FN, 1.1875, options, 0x80000000), 0x3Au);
  EXPECT_EQ(EncodeFromDouble(kF8E4M3FN, -1.1875, options, 0x7FFFFFFF), 0xB9u);
  EXPECT_EQ(EncodeFromDouble(kF8E4M3FN, -1.1875, options, 0x80000000), 0xBAu);
  EXPECT_EQ(EncodeFromDouble(kF8E4M3FN, 1.125, options, 0xFFFFFFFF), 0x39u);  // exact stays
  // An eighth of the smallest subnormal goes up for one operand in eight.
  const double small = 0x1p-12;
  EXPECT_EQ(EncodeFromDouble(kF8E4M3FN, small, options, 0xDFFFFFFF), 0u);
  EXPECT_EQ(EncodeFromDouble(kF8E4M3FN, small, options, 0xE0000000), 1u);
  // 2^-32 of a step needs the largest operand; 2^-33 never makes it.
  EXPECT_EQ(EncodeFromDouble(kF8E4M3FN, 0x1p-41, options, 0xFFFFFFFF), 1u);
  EXPECT_EQ(EncodeFromDouble(kF8E4M3FN, 0x1p-41, options, 0xFFFFFFFE), 0u);
  EXPECT_EQ(EncodeFromDouble(kF8E4M3FN, 0x1p-42, options, 0xFFFFFFFF), 0u);
  EXPECT_EQ(EncodeFromDouble(kF8E4M3FN, 0x1p-1000, options, 0xFFFFFFFF), 0u);
  EXPECT_EQ(EncodeFromDouble(kI8, -2.25, options, 0xBFFFFFFF), 0xFEu);
  EXPECT_EQ(EncodeFromDouble(kI8, -2.25, options, 0xC0000000), 0xFDu);
  EXPECT_EQ(EncodeFromDouble(kF16, 65519, options, 0), 0x7BFFu);
  EXPECT_EQ(EncodeFromDouble(kF16, 65519, options, 0xFFFFFFFF), 0x7C00u);
  EXPECT_EQ(CastCode(kU64, 0x8000000000000001u, kF32, options, 0xFFFFFFFF), Bits(0x1p63f));
}

TEST(ConvertTest, FloatToInteger) {
  const double inputs[] = {
      0.0,          -0.0,         0.5,   -0.5,  0.999,  -0.999, 1.5,     -1.5,    2.5,   7.99,
      -8.99,        127.9,        128.0, 255.5, -128.9, -129.0, 32767.5, 65536.0, 1e9,   -1e9,
      2147483647.5, 4294967295.5, 1e18,  -1e18, 1e19,   1e300,  -1e300,  kInf,    -kInf, 5e-324};
  for (const DTypeRow& row : AllDTypes()) {
    const DType type = row.type;
    if (!type.IsInteger()) continue;
    const long double least = type.IsSigned() ? -std::ldexp(1.0L, type.bits - 1) : 0;
    const long double most = std::ldexp(1.0L, type.bits - (type.IsSigned() ? 1 : 0)) - 1;
    for (const double x : inputs) {
      const long double want = std::clamp(std::trunc(static_cast<long double>(x)), least, most);
      const uint64_t magnitude = static_cast<uint64_t>(std::fabs(want));
      const uint64_t code = (want < 0 ? 0 - magnitude : magnitude) & CodeMask(type);
      for (const Overflow overflow :
           {Overflow::kDefault, Overflow::kSaturate, Overflow::kNonSaturating, Overflow::kWrap}) {
        EXPECT_EQ(EncodeFromDouble(type, x, {Rounding::kNearestEven, overflow}), code)
            << row.name << " " << x;
      }
    }
  }
}

TEST(ConvertTest, IntegerToInteger) {
  std::vector<uint64_t> codes;
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t d : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
      codes.push_back((uint64_t{1} << bit) + d);
      codes.push_back(~(uint64_t{1} << bit) + d);
    }
  }
  const auto value_of = [](DType type, uint64_t code) {
    const __int128 value = code & CodeMask(type);
    const __int128 size = static_cast<__int128>(1) << type.bits;
    return type.IsSigned() && value >= size / 2 ? value - size : value;
  };
  for (const DTypeRow& from : AllDTypes()) {
    for (const DTypeRow& to : AllDTypes()) {
      if (!from.type.IsInteger() || !to.type.IsInteger()) continue;
      const __int128 size = static_cast<__int128>(1) << to.type.bits;
      const __int128 least = to.type.IsSigned() ? -size / 2 : 0;
      const __int128 most = least + size - 1;
      for (const uint64_t code : codes) {
        const __int128 value = value_of(from.type, code);
        const __int128 want = std::clamp(value, least, most);
        const uint64_t mask = CodeMask(to.type);
        EXPECT_EQ(CastCode(from.type, code, to.type), static_cast<uint64_t>(want) & mask)
            << from.name << " " << to.name << " " << code;
        EXPECT_EQ(CastCode(from.type, code, to.type, {Rounding::kNearestEven, Overflow::kWrap}),
                  static_cast<uint64_t>(value) & mask);
      }
    }
  }
}

TEST(ConvertTest, IntegerToFloatRoundsOnce) {
  for (const uint64_t x :
       {uint64_t{0}, uint64_t{1}, (uint64_t{1} << 53) + 1, ~uint64_t{0}, (uint64_t{1} << 24) + 1,
        uint64_t{0x8000008000000001}, uint64_t{0x8000008000000000}, uint64_t{0x8000018000000000}}) {
    EXPECT_EQ(CastCode(kU64, x, kF64), Bits(static_cast<double>(x)));
    EXPECT_EQ(CastCode(kU64, x, kF32), Bits(static_cast<float>(x)));
    EXPECT_EQ(CastCode(kI64, x, kF64), Bits(static_cast<double>(static_cast<int64_t>(x))));
    EXPECT_EQ(CastCode(kI64, x, kF32), Bits(static_cast<float>(static_cast<int64_t>(x))));
  }
  // 2^60 + 2^52 is half way between two bf16 numbers, one more is above: through f64, which
  // cannot hold the one, it would come out even.
  const uint64_t tie = (uint64_t{1} << 60) + (uint64_t{1} << 52);
  EXPECT_EQ(CastCode(kU64, tie, kBF16), 0x5D80u);
  EXPECT_EQ(CastCode(kU64, tie + 1, kBF16), 0x5D81u);
  EXPECT_EQ(CastCode(kU32, 65520, kF16), 0x7C00u);
  EXPECT_EQ(CastCode(kU32, 65519, kF16), 0x7BFFu);
  EXPECT_EQ(CastCode(kI32, 0xFFFFFFFF, kF4E2M1), 0xAu);
  EXPECT_EQ(CastCode(kI1, 1, kF32), Bits(-1.0f));
}

TEST(ConvertTest, BoolAndComplex) {
  EXPECT_EQ(CastCode(kI32, 0, kBoolType), 0u);
  EXPECT_EQ(CastCode(kI32, 256, kBoolType), 1u);
  EXPECT_EQ(EncodeFromDouble(kBoolType, -0.0), 0u);
  EXPECT_EQ(EncodeFromDouble(kBoolType, 5e-324), 1u);
  EXPECT_EQ(CastCode(kBoolType, 1, kF16), 0x3C00u);
  EXPECT_EQ(CastCode(kBoolType, 1, kI1), 0u);  // 1 saturates at 0
  EXPECT_EQ(CastCode(kF16, 0xBC00, kC64), Bits(-1.0f));
  EXPECT_EQ(CastCode(kC32, 0xC0003C00, kC64), Bits(-2.0f) << 32 | Bits(1.0f));
  EXPECT_EQ(CastCode(kC64, Bits(1e9f) << 32 | Bits(1.0f), kC32), 0x7C003C00u);
  EXPECT_EQ(CastCode(kC64, Bits(1e9f) << 32 | Bits(1.0f), kC32, kSat), 0x7BFF3C00u);
  EXPECT_EQ(CastCode(kC64, Bits(3.0f) << 32 | Bits(2.0f), kF16), 0x4000u);
}

}  // namespace
}  // namespace tarsia::convert_test
