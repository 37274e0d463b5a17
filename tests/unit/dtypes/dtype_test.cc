#include "dtypes/dtype.h"
#include "tests/data/test_data.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tarsia::dtype_test {
namespace {

TEST(DTypeTest, TableHoldsEveryDocumentedName) {
  std::set<std::string> wanted = {"bool",       "f16",        "bf16",       "tf32",
                                  "f32",        "f64",        "e8m0",       "c32",
                                  "c64",        "f8e4m3fn",   "f8e3m4fn",   "f8e5m2fn",
                                  "f8e4m3fnuz", "f8e5m2fnuz", "f8e3m4fnuz", "f8e4m3b11fnuz"};
  for (const int bits : {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64}) {
    wanted.insert("u" + std::to_string(bits));
    wanted.insert("i" + std::to_string(bits));
  }
  int small = 0;
  for (int n = 3; n <= 8; ++n) {
    for (int x = 1; x <= n - 1; ++x, ++small) {
      wanted.insert("f" + std::to_string(n) + "e" + std::to_string(x) + "m" +
                    std::to_string(n - 1 - x));
    }
  }
  EXPECT_EQ(small, 27);
  std::set<std::string> found;
  for (const DTypeRow& row : AllDTypes()) found.insert(std::string(row.name));
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(AllDTypes().size(), wanted.size());
}

TEST(DTypeTest, TheManualNamesEveryTypeWithItsFields) {
  const std::string text = ReadTestFile(TestData("docs/dtypes.md"));
  ASSERT_FALSE(text.empty());
  for (const DTypeRow& row : AllDTypes()) {
    std::string wanted = "`" + std::string(row.name) + "`";
    if (row.type.IsFloat()) {
      wanted = "| " + wanted;
      for (const int field : {int{row.code}, int{row.type.bits}, int{row.type.exponent},
                              int{row.type.mantissa}, int{row.type.bias}}) {
        wanted += " | " + std::to_string(field);
      }
    }
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted;
  }
}

TEST(DTypeTest, LookUpsAgree) {
  for (size_t i = 0; i < AllDTypes().size(); ++i) {
    const DTypeRow& row = AllDTypes()[i];
    EXPECT_EQ(FindDType(row.name), row.type) << row.name;
    EXPECT_EQ(DTypeName(row.type), row.name);
    EXPECT_EQ(DTypeNames()[i], row.name);
    EXPECT_EQ(DTypeIndex(row.type), i);
    EXPECT_EQ(DTypeCode(row.type), row.code);
    EXPECT_EQ(DTypeFromCode(row.code), row.type);
    EXPECT_FALSE(row.doc.empty());
  }
}

TEST(DTypeTest, UnknownTypesAndNames) {
  for (const char* name : {"", "u9", "i0", "f4", "f9e4m4", "F16", "f8e4m3fnx", "f8e2m5fn", "u4fn",
                           "f16fn", "e8m0fn", "f8e5m3", "fn"}) {
    EXPECT_EQ(FindDType(name), std::nullopt) << name;
  }
  const DType none{};
  EXPECT_EQ(DTypeName(none), "?");
  EXPECT_EQ(DTypeIndex(none), kNoDTypeIndex);
  EXPECT_EQ(DTypeCode(none), 0);
  EXPECT_EQ(DTypeFromCode(0), std::nullopt);
  EXPECT_EQ(DTypeFromCode(255), std::nullopt);
}

TEST(DTypeTest, SuffixFnBelowEightBitsIsTheSameType) {
  EXPECT_EQ(FindDType("f4e2m1fn"), kF4E2M1);
  EXPECT_EQ(FindDType("f6e3m2fn"), kF6E3M2);
  EXPECT_EQ(FindDType("f8e4m3fn"), kF8E4M3FN);
  EXPECT_NE(FindDType("f8e4m3fn"), kF8E4M3);
}

// Codes are stored in bytecode: this list may grow and never change.
TEST(DTypeTest, CodesAreFrozen) {
  const struct {
    DType type;
    int code;
  } rows[] = {{kU1, 1},          {kU8, 8},          {kU16, 9},
              {kU64, 11},        {kI1, 12},         {kI8, 19},
              {kI16, 20},        {kI64, 22},        {kBoolType, 23},
              {kF16, 24},        {kBF16, 25},       {kTF32, 26},
              {kF32, 27},        {kF64, 28},        {kF3E1M1, 32},
              {kF3E2M0, 33},     {kF4E1M2, 34},     {kF4E2M1, 35},
              {kF5E1M3, 37},     {kF6E1M4, 41},     {kF7E1M5, 46},
              {kF7E6M0, 51},     {kF8E1M6, 52},     {kF8E4M3, 55},
              {kF8E5M2, 56},     {kF8E7M0, 58},     {kF8E3M4FN, 64},
              {kF8E4M3FN, 65},   {kF8E5M2FN, 66},   {kF8E3M4FNUZ, 67},
              {kF8E4M3FNUZ, 68}, {kF8E5M2FNUZ, 69}, {kF8E4M3B11FNUZ, 70},
              {kE8M0, 80},       {kC32, 81},        {kC64, 82}};
  for (const auto& row : rows) EXPECT_EQ(DTypeCode(row.type), row.code) << DTypeName(row.type);
}

TEST(DTypeTest, Predicates) {
  EXPECT_TRUE(kI4.IsInteger() && kI4.IsSigned() && kI4.IsSubByte() && !kI4.IsFloat());
  EXPECT_TRUE(kF4E2M1.IsFloat() && !kF4E2M1.IsSigned() && kF4E2M1.IsSubByte());
  EXPECT_TRUE(kC64.IsComplex() && !kC64.IsFloat() && !kBoolType.IsInteger() && kE8M0.IsExponent());
  EXPECT_TRUE(LowPrecision(kU1) && LowPrecision(kF8E5M2) && LowPrecision(kI8));
  EXPECT_FALSE(LowPrecision(kBoolType) || LowPrecision(kE8M0) || LowPrecision(kF16));
  EXPECT_TRUE(IsArithmetic(kU8) && IsArithmetic(kBF16) && IsArithmetic(kF64));
  EXPECT_FALSE(IsArithmetic(kU7) || IsArithmetic(kTF32) || IsArithmetic(kBoolType));
}

TEST(DTypeTest, Containers) {
  EXPECT_EQ(ContainerBytes(kU1), 1);
  EXPECT_EQ(ContainerBytes(kF8E4M3), 1);
  EXPECT_EQ(ContainerBytes(kBF16), 2);
  EXPECT_EQ(ContainerBytes(kTF32), 4);
  EXPECT_EQ(ContainerBytes(kC32), 4);
  EXPECT_EQ(ContainerBytes(kC64), 8);
  EXPECT_EQ(CodeMask(kU3), 7u);
  EXPECT_EQ(CodeMask(kI64), ~uint64_t{0});
  EXPECT_EQ(MaxFiniteCode(kF16), 0x7BFFu);
  EXPECT_EQ(MaxFiniteCode(kTF32), 0x7F7FE000u);
  EXPECT_EQ(MaxFiniteCode(kF8E4M3FN), 0x7Eu);
  EXPECT_EQ(MaxFiniteCode(kF8E4M3FNUZ), 0x7Fu);
  EXPECT_EQ(MaxFiniteCode(kE8M0), 0xFEu);
}

}  // namespace
}  // namespace tarsia::dtype_test
