// Folding against plain arithmetic: truncating division, the sign of a remainder, and what is not
// folded.
#include "isa/fold.h"

#include <gtest/gtest.h>

#include <string_view>

#include "layout/text/expr_parser.h"

namespace tarsia {
namespace {

// The text of the folded expression.
std::string Folded(std::string_view text) {
  ExprPool pool;
  const Result<ExprId> parsed = ParseExpression(text, pool);
  EXPECT_TRUE(parsed.ok()) << text;
  if (!parsed.ok()) return "";
  return ToString(pool, Folder(pool).Fold(*parsed));
}

TEST(Fold, Integers) {
  EXPECT_EQ(Folded("7 / 2"), "3");
  EXPECT_EQ(Folded("-7 / 2"), "-3");
  EXPECT_EQ(Folded("7 % 4"), "3");
  EXPECT_EQ(Folded("-7 % 4"), "-3");
  EXPECT_EQ(Folded("7 % -4"), "3");
  EXPECT_EQ(Folded("2 + 3 * 4 - 1"), "13");
  EXPECT_EQ(Folded("-(2 - 5)"), "3");
  EXPECT_EQ(Folded("ceildiv(7, 2)"), "4");
  EXPECT_EQ(Folded("ceildiv(-7, 2)"), "-3");
  EXPECT_EQ(Folded("ceildiv(8, 2)"), "4");
  EXPECT_EQ(Folded("min(3, -2)"), "-2");
  EXPECT_EQ(Folded("max(3, -2)"), "3");
}

TEST(Fold, ComparisonsAndTypes) {
  EXPECT_EQ(Folded("3 < 4"), "true");
  EXPECT_EQ(Folded("4 <= 3"), "false");
  EXPECT_EQ(Folded("4 > 4 or 4 >= 4"), "true");
  EXPECT_EQ(Folded("not (1 == 2) and 1 != 2"), "true");
  EXPECT_EQ(Folded("u4 == u4"), "true");
  EXPECT_EQ(Folded("u4 == i4"), "false");
  EXPECT_EQ(Folded("bits(f6e3m2) * 2"), "12");
}

TEST(Fold, Floats) {
  EXPECT_EQ(Folded("0.5 + 1"), "1.5");
  EXPECT_EQ(Folded("7.5 % -2"), "1.5");
  EXPECT_EQ(Folded("0.5 < 0.25"), "false");
  EXPECT_EQ(Folded("nan != nan"), "true");
}

TEST(Fold, LayoutsAndStringsThatAreEqual) {
  EXPECT_EQ(Folded("spatial(2, 4) == spatial(4, 2)"), "false");
  EXPECT_EQ(Folded("spatial(2) * local(1) == spatial(2)"), "true");
  EXPECT_EQ(Folded("\"a\" != \"b\""), "true");
}

TEST(Fold, ArgumentsByName) {
  EXPECT_EQ(Folded("ceildiv(b=2, a=7)"), "4");
  EXPECT_EQ(Folded("min(b=K, a=1)"), "min(1, K)");
  EXPECT_EQ(Folded("bits(type=f16)"), "16");
}

TEST(Fold, WhatTheLeftSideSettles) {
  EXPECT_EQ(Folded("false and 1 / 0 == 1"), "false");
  EXPECT_EQ(Folded("true or 1 / 0 == 1"), "true");
  EXPECT_EQ(Folded("1 / 0 == 1 and false"), "1 / 0 == 1 and false");
}

// An expression without a value is unchanged: the evaluator reports it.
TEST(Fold, LeavesWhatHasNoValue) {
  EXPECT_EQ(Folded("1 / 0"), "1 / 0");
  EXPECT_EQ(Folded("1 % 0"), "1 % 0");
  EXPECT_EQ(Folded("ceildiv(1, 0)"), "ceildiv(1, 0)");
  EXPECT_EQ(Folded("9223372036854775807 + 1"), "9223372036854775807 + 1");
  EXPECT_EQ(Folded("K + (1 + 1)"), "K + 2");
}

TEST(Fold, PutsConstantsIn) {
  ExprPool pool;
  const Result<ExprId> parsed = ParseExpression("K % 4 + K / 4", pool);
  ASSERT_TRUE(parsed.ok());
  Folder folder(pool);
  folder.Bind(*pool.strings().Find("K"), pool.Int(14));
  EXPECT_EQ(ToString(pool, folder.Fold(*parsed)), "5");
}

}  // namespace
}  // namespace tarsia
