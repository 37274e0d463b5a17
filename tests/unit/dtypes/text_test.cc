// DecodeToString and ParseValue.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "dtypes/convert.h"
#include "tests/unit/dtypes/oracle.h"

namespace tarsia::text_test {
namespace {

uint64_t Bits(float x) { return std::bit_cast<uint32_t>(x); }
uint64_t Bits(double x) { return std::bit_cast<uint64_t>(x); }

TEST(TextTest, Prints) {
  EXPECT_EQ(DecodeToString(kU8, 255), "255");
  EXPECT_EQ(DecodeToString(kI4, 0xF), "-1");
  EXPECT_EQ(DecodeToString(kI64, uint64_t{1} << 63), "-9223372036854775808");
  EXPECT_EQ(DecodeToString(kU64, UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(DecodeToString(kU64, 1000000000), "1000000000");
  EXPECT_EQ(DecodeToString(kBoolType, 1), "true");
  EXPECT_EQ(DecodeToString(kF4E2M1, 0x9), "-0.5");
  EXPECT_EQ(DecodeToString(kF4E2M1, 0x8), "-0");
  EXPECT_EQ(DecodeToString(kF8E4M3FN, 0x7E), "448");
  EXPECT_EQ(DecodeToString(kF8E4M3FN, 0x01), "0.001953125");
  EXPECT_EQ(DecodeToString(kF8E4M3FN, 0xFF), "nan");
  EXPECT_EQ(DecodeToString(kF8E5M2, 0xFC), "-inf");
  EXPECT_EQ(DecodeToString(kF8E7M0, 0x7F), "1.8446744073709551616e19");
  EXPECT_EQ(DecodeToString(kF16, 1), "5.9604644775390625e-8");
  EXPECT_EQ(DecodeToString(kF16, 0x3555), "0.333251953125");
  EXPECT_EQ(DecodeToString(kF16, 0x7BFF), "65504");
  EXPECT_EQ(DecodeToString(kBF16, 0x3DCD), "0.10009765625");
  EXPECT_EQ(DecodeToString(kE8M0, 127), "1");
  EXPECT_EQ(DecodeToString(kE8M0, 124), "0.125");
  EXPECT_EQ(DecodeToString(kF32, Bits(0.1f)), "0.1");
  EXPECT_EQ(DecodeToString(kF64, Bits(-0.1)), "-0.1");
  EXPECT_EQ(DecodeToString(kF64, Bits(-oracle::kInf)), "-inf");
  EXPECT_EQ(DecodeToString(kC32, 0xC0003C00), "(1, -2)");
}

TEST(TextTest, EveryCodeOfSmallTypesReadsBack) {
  for (const DTypeRow& row : AllDTypes()) {
    if (row.type.bits > 16) continue;
    for (uint64_t code = 0; code < uint64_t{1} << row.type.bits; ++code) {
      const std::string text = DecodeToString(row.type, code);
      if (row.type.IsBool() && code > 1) continue;
      if (text == "nan") {
        const auto parsed = ParseValue(row.type, text);
        ASSERT_TRUE(parsed && std::isnan(DecodeToDouble(row.type, *parsed)));
        continue;
      }
      ASSERT_EQ(ParseValue(row.type, text), code) << row.name << " " << text;
      // The C library agrees that the decimal is the value.
      if (!row.type.IsBool()) {
        ASSERT_EQ(std::strtod(text.c_str(), nullptr), DecodeToDouble(row.type, code)) << text;
      }
    }
  }
}

TEST(TextTest, DecimalsRoundAsTheCLibraryDoes) {
  std::mt19937_64 rng(8);
  for (int i = 0; i < 20000; ++i) {
    const double x = std::bit_cast<double>(rng());
    if (!std::isfinite(x)) continue;
    char text[64];
    std::snprintf(text, sizeof text, i % 2 == 0 ? "%.17e" : "%.12e", x);
    ASSERT_EQ(ParseValue(kF64, text), Bits(std::strtod(text, nullptr))) << text;
    const float single = std::strtof(text, nullptr);
    if (std::isinf(single)) {
      ASSERT_EQ(ParseValue(kF32, text), std::nullopt) << text;
    } else {
      ASSERT_EQ(ParseValue(kF32, text), Bits(single)) << text;
    }
    std::snprintf(text, sizeof text, "%a", x);
    ASSERT_EQ(ParseValue(kF64, text), Bits(x)) << text;
  }
}

TEST(TextTest, RoundsOnceFromTheTextItself) {
  // Half way between 1 and the next f16, and just beside: in f64 all three are the tie.
  const std::string tie = "1.00048828125";
  EXPECT_EQ(ParseValue(kF16, tie), 0x3C00u);
  EXPECT_EQ(ParseValue(kF16, tie + "0000000000000000000000001"), 0x3C01u);
  EXPECT_EQ(ParseValue(kF16, "1.000488281249999999999999999"), 0x3C00u);
  EXPECT_EQ(ParseValue(kF16, tie + std::string(2000, '0') + "1"), 0x3C01u);
  EXPECT_EQ(ParseValue(kF16, "0x1.002p0"), 0x3C00u);
  EXPECT_EQ(ParseValue(kF16, "0x1.00200000000000000000000001p0"), 0x3C01u);
  EXPECT_EQ(ParseValue(kF16, "0x10.0200000000000000000000001p-4"), 0x3C01u);
  EXPECT_EQ(ParseValue(kF4E2M1, "2.5"), 0x4u);  // the tie to the even code
  EXPECT_EQ(ParseValue(kF4E2M1, "2.50000001"), 0x5u);
  EXPECT_EQ(ParseValue(kF64, "5e-324"), 1u);
  EXPECT_EQ(ParseValue(kF64, "2.4703282292062327208e-324"), 0u);
  EXPECT_EQ(ParseValue(kF64, "2.4703282292062327209e-324"), 1u);
}

TEST(TextTest, Integers) {
  EXPECT_EQ(ParseValue(kU8, "255"), 255u);
  EXPECT_EQ(ParseValue(kU8, "256"), std::nullopt);
  EXPECT_EQ(ParseValue(kU8, "-1"), std::nullopt);
  EXPECT_EQ(ParseValue(kU8, "-0"), 0u);
  EXPECT_EQ(ParseValue(kI4, "-8"), 8u);
  EXPECT_EQ(ParseValue(kI4, "8"), std::nullopt);
  EXPECT_EQ(ParseValue(kI1, "-1"), 1u);
  EXPECT_EQ(ParseValue(kI1, "1"), std::nullopt);
  EXPECT_EQ(ParseValue(kI32, "0xFF"), 255u);
  EXPECT_EQ(ParseValue(kI32, "1e3"), 1000u);
  EXPECT_EQ(ParseValue(kI32, "1.5"), std::nullopt);
  EXPECT_EQ(ParseValue(kI32, "inf"), std::nullopt);
  EXPECT_EQ(ParseValue(kI32, "1e-400"), std::nullopt);
  EXPECT_EQ(ParseValue(kU64, "18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ParseValue(kU64, "18446744073709551616"), std::nullopt);
  EXPECT_EQ(ParseValue(kU64, "18446744073709551614.5"), std::nullopt);
  EXPECT_EQ(ParseValue(kU64, "0xFFFFFFFFFFFFFFFF"), UINT64_MAX);
  EXPECT_EQ(ParseValue(kU64, "0x10000000000000000"), std::nullopt);
  EXPECT_EQ(ParseValue(kI64, "-9223372036854775808"), uint64_t{1} << 63);
  EXPECT_EQ(ParseValue(kI64, "-9223372036854775809"), std::nullopt);
  EXPECT_EQ(ParseValue(kBoolType, "true"), 1u);
  EXPECT_EQ(ParseValue(kBoolType, "0"), 0u);
  EXPECT_EQ(ParseValue(kBoolType, "2"), std::nullopt);
}

TEST(TextTest, WhatATypeCannotHold) {
  EXPECT_EQ(ParseValue(kF16, "65519.9999"), 0x7BFFu);
  EXPECT_EQ(ParseValue(kF16, "65520"), std::nullopt);
  EXPECT_EQ(ParseValue(kF16, "1e999999999999999999999"), std::nullopt);
  EXPECT_EQ(ParseValue(kF16, "1e-999999999999999999999"), 0u);
  EXPECT_EQ(ParseValue(kF16, "-1e-99999"), 0x8000u);
  EXPECT_EQ(ParseValue(kF16, "0e999999"), 0u);
  EXPECT_EQ(ParseValue(kF16, "-inf"), 0xFC00u);
  EXPECT_EQ(ParseValue(kF8E4M3FN, "inf"), std::nullopt);
  EXPECT_EQ(ParseValue(kF8E4M3FN, "nan"), 0x7Fu);
  EXPECT_EQ(ParseValue(kF8E4M3FN, "464"), 0x7Eu);
  EXPECT_EQ(ParseValue(kF8E4M3FN, "464.1"), std::nullopt);
  EXPECT_EQ(ParseValue(kF6E3M2, "nan"), std::nullopt);
  EXPECT_EQ(ParseValue(kF8E4M3FNUZ, "-0"), 0u);
  EXPECT_EQ(ParseValue(kE8M0, "0"), std::nullopt);
  EXPECT_EQ(ParseValue(kE8M0, "-1"), std::nullopt);
  EXPECT_EQ(ParseValue(kE8M0, "3"), 128u);  // the tie of 2 and 4, to the even code
  EXPECT_EQ(ParseValue(kC32, "(1, -2)"), 0xC0003C00u);
  EXPECT_EQ(ParseValue(kC32, "1"), 0x3C00u);
  EXPECT_EQ(ParseValue(kC32, "(1; 2)"), std::nullopt);
}

TEST(TextTest, NotNumbers) {
  for (const char* text : {"",
                           "-",
                           "+",
                           ".",
                           "-.",
                           "e5",
                           "1e",
                           "1e+",
                           "0x",
                           "0xg",
                           "1.2.3",
                           "1 ",
                           " 1",
                           "--1",
                           "+-1",
                           "0x1p",
                           "1p3",
                           "nanx",
                           "infinity",
                           "\x0e"
                           "5",
                           "1\r2",
                           "1_000",
                           "(1)",
                           "NaN",
                           "true"}) {
    EXPECT_EQ(ParseValue(kF32, text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseValue(kF32, "+1."), Bits(1.0f));
  EXPECT_EQ(ParseValue(kF32, ".5"), Bits(0.5f));
  EXPECT_EQ(ParseValue(kF32, "1E2"), Bits(100.0f));
  EXPECT_EQ(ParseValue(kF32, "0X1P2"), Bits(4.0f));
  EXPECT_EQ(ParseValue(kF32, std::string_view("1\0", 2)), std::nullopt);
}

}  // namespace
}  // namespace tarsia::text_test
