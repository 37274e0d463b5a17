// Limits as text, against numbers worked out by hand.
#include "planner/limit.h"

#include <gtest/gtest.h>

#include <string>

namespace tarsia {
namespace limit_test {
namespace {

TEST(Limit, UnitsAndFractions) {
  EXPECT_EQ(*ParseLimit("1"), 1U);
  EXPECT_EQ(*ParseLimit("4096"), 4096U);
  EXPECT_EQ(*ParseLimit("12B"), 12U);
  EXPECT_EQ(*ParseLimit("100kB"), 100'000U);
  EXPECT_EQ(*ParseLimit("100KiB"), 102'400U);
  EXPECT_EQ(*ParseLimit("100MB"), 100'000'000U);
  EXPECT_EQ(*ParseLimit("2G"), 2'000'000'000U);
  EXPECT_EQ(*ParseLimit("2GiB"), 2'147'483'648U);
  EXPECT_EQ(*ParseLimit("1.5GiB"), 1'610'612'736U);
  EXPECT_EQ(*ParseLimit("0.1kB"), 100U);
  EXPECT_EQ(*ParseLimit("2.0"), 2U);
  EXPECT_EQ(*ParseLimit("1.9999k"), 1999U);
  EXPECT_EQ(*ParseLimit("4194304TiB"), uint64_t{1} << 62);
}

TEST(Limit, BadTexts) {
  for (const char* const text : {"", "B", "x", "-1", "1.", ".5", "1..5", "1 GiB", "1GB/s", "1gb",
                                 "1iB", "1KB2", "1e9", "nan", "0x10", "1KiBB", "1.5", "1.5B"}) {
    const auto limit = ParseLimit(text);
    ASSERT_FALSE(limit.ok()) << text;
    EXPECT_EQ(limit.error().message, "`" + std::string(text) + "` is not a number of bytes");
  }
  EXPECT_EQ(ParseLimit("0").error().message, "`0` is less than one byte");
  EXPECT_EQ(ParseLimit("0.0009kB").error().message, "`0.0009kB` is less than one byte");
  EXPECT_EQ(ParseLimit("4194305TiB").error().message, "`4194305TiB` is more than 2^62 bytes");
  EXPECT_EQ(ParseLimit("99999999999999999999").error().message,
            "`99999999999999999999` is more than 2^62 bytes");
}

TEST(Limit, ForPeople) {
  EXPECT_EQ(BytesText(0), "0 bytes");
  EXPECT_EQ(BytesText(1), "1 byte");
  EXPECT_EQ(BytesText(1023), "1023 bytes");
  EXPECT_EQ(BytesText(1536), "1.5 KiB");
  EXPECT_EQ(BytesText(uint64_t{1} << 31), "2 GiB");
  EXPECT_EQ(BytesText(uint64_t{3} << 60), "3 EiB");
}

}  // namespace
}  // namespace limit_test
}  // namespace tarsia
