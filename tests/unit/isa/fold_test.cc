// Folding against plain arithmetic: truncating division, the sign of a remainder, and what is not
// folded.
#include "isa/fold.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

#include "layout/text/expr_parser.h"

namespace tarsia::fold_test {
namespace {

// The text of the folded expression.
std::string Folded(std::string_view text) {
  ExprPool pool;
  const Result<ExprId> parsed = ParseExpression(text, pool);
  EXPECT_TRUE(parsed.ok()) << text;
  if (!parsed.ok()) return "";
  return ToString(pool, Folder(pool).Fold(*parsed));
}

struct Example {
  std::string_view text;
  std::string_view folded;
};

void ExpectFolded(std::initializer_list<Example> examples) {
  for (const Example& example : examples) {
    EXPECT_EQ(Folded(example.text), example.folded) << example.text;
  }
}

TEST(Fold, Integers) {
  ExpectFolded({
      {"7 / 2", "3"},
      {"-7 / 2", "-3"},
      {"7 % 4", "3"},
      {"-7 % 4", "-3"},
      {"7 % -4", "3"},
      {"2 + 3 * 4 - 1", "13"},
      {"-(2 - 5)", "3"},
      {"ceildiv(7, 2)", "4"},
      {"ceildiv(-7, 2)", "-3"},
      {"ceildiv(8, 2)", "4"},
      {"min(3, -2)", "-2"},
      {"max(3, -2)", "3"},
  });
}

TEST(Fold, ComparisonsAndTypes) {
  ExpectFolded({
      {"3 < 4", "true"},
      {"4 <= 3", "false"},
      {"4 > 4 or 4 >= 4", "true"},
      {"not (1 == 2) and 1 != 2", "true"},
      {"u4 == u4", "true"},
      {"u4 == i4", "false"},
      {"bits(f6e3m2) * 2", "12"},
  });
}

TEST(Fold, Floats) {
  ExpectFolded({
      {"0.5 + 1", "1.5"},
      {"7.5 % -2", "1.5"},
      {"0.5 < 0.25", "false"},
      {"nan != nan", "true"},
  });
}

TEST(Fold, LayoutsAndStringsThatAreEqual) {
  ExpectFolded({
      {"spatial(2, 4) == spatial(4, 2)", "false"},
      {"spatial(2) * local(1) == spatial(2)", "true"},
      {"\"a\" != \"b\"", "true"},
  });
}

TEST(Fold, ArgumentsByName) {
  ExpectFolded({
      {"ceildiv(b=2, a=7)", "4"},
      {"min(b=K, a=1)", "min(1, K)"},
      {"bits(type=f16)", "16"},
  });
}

TEST(Fold, WhatTheLeftSideSettles) {
  ExpectFolded({
      {"false and 1 / 0 == 1", "false"},
      {"true or 1 / 0 == 1", "true"},
      {"1 / 0 == 1 and false", "1 / 0 == 1 and false"},
  });
}

// An expression without a value is unchanged: the evaluator reports it.
TEST(Fold, LeavesWhatHasNoValue) {
  ExpectFolded({
      {"1 / 0", "1 / 0"},
      {"1 % 0", "1 % 0"},
      {"ceildiv(1, 0)", "ceildiv(1, 0)"},
      {"9223372036854775807 + 1", "9223372036854775807 + 1"},
      {"K + (1 + 1)", "K + 2"},
  });
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
}  // namespace tarsia::fold_test
