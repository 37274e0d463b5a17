// Suggestions for a name that is not known.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "support/diagnostic.h"

namespace tarsia::nearest_test {
namespace {

using std::string_view;
constexpr std::array<string_view, 5> kNames{"load", "store", "reduce.add", "reduce.max", "f16"};

TEST(Nearest, FindsOneEditOfEachKind) {
  EXPECT_EQ(Nearest("load", kNames), "load");
  EXPECT_EQ(Nearest("lod", kNames), "load");      // a letter is missing
  EXPECT_EQ(Nearest("sttore", kNames), "store");  // one too many
  EXPECT_EQ(Nearest("f15", kNames), "f16");       // a wrong one
  EXPECT_EQ(Nearest("raduce.mux", kNames), "reduce.max");
}

TEST(Nearest, TakesTwoExchangedLettersForOneSlip) {
  EXPECT_EQ(Nearest("laod", kNames), "load");
  EXPECT_EQ(Nearest("f61", kNames), "f16");
}

TEST(Nearest, AllowsAShortNameOneSlip) {
  constexpr std::array<string_view, 3> kOthers{"mov", "sqrt", "fma"};
  EXPECT_EQ(Nearest("pow", kOthers), "");
  EXPECT_EQ(Nearest("mvo", kOthers), "mov");
}

TEST(Nearest, TakesTheFirstOfEquals) {
  constexpr std::array<string_view, 2> kTwo{"ab", "ac"};
  EXPECT_EQ(Nearest("ad", kTwo), "ab");
}

TEST(Nearest, SuggestsNothingThatIsFar) {
  EXPECT_EQ(Nearest("quantise", kNames), "");
  EXPECT_EQ(Nearest("", kNames), "");
  EXPECT_EQ(Nearest("x", kNames), "");
  EXPECT_EQ(Nearest("load", {}), "");
}

TEST(Nearest, AllowsAThirdOfALongName) {
  // Three edits in nine letters are near enough, four are not.
  constexpr std::array<string_view, 1> kLong{"abcdefghi"};
  EXPECT_EQ(Nearest("abcdefxyz", kLong), "abcdefghi");
  EXPECT_EQ(Nearest("abcdewxyz", kLong), "");
}

TEST(Nearest, RefusesNamesOfAnyLengthWithoutHarm) {
  const std::string huge(100000, 'a');
  EXPECT_EQ(Nearest(huge, kNames), "");
  const std::array<string_view, 1> candidates{huge};
  EXPECT_EQ(Nearest("a", candidates), "");
}

TEST(DidYouMean, AsksOrSaysNothing) {
  EXPECT_EQ(DidYouMean("lod", kNames), "did you mean `load`?");
  EXPECT_EQ(DidYouMean("quantise", kNames), "");
}

}  // namespace
}  // namespace tarsia::nearest_test
