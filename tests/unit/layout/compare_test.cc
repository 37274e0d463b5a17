// Why layouts differ: the first place, in words.
#include "layout/text/compare.h"

#include <gtest/gtest.h>

#include <string>

#include "layout/diagnostics.h"
#include "tests/unit/layout/layout_testing.h"

namespace tarsia::compare_test {
namespace {

using testing::Eval;
using testing::Memory;
using testing::RandomModel;
using testing::Reg;
using testing::Seed;

std::string Registers(const char* a, const char* b) {
  return Difference(Reg(a), Reg(b)).value_or("");
}

std::string Memories(const char* a, const char* b, int bits) {
  const auto out = Difference(Memory(a), Memory(b), bits);
  EXPECT_TRUE(out.ok());
  return out.ok() ? out->value_or("") : out.error().message;
}

TEST(CompareTest, RegisterLayouts) {
  EXPECT_EQ(Registers("local(2) * local(3)", "local(6)"), "");
  EXPECT_EQ(Registers("local(2, 3)", "local(6)"), "the shapes differ: [2, 3] and [6]");
  EXPECT_EQ(Registers("spatial(6)", "spatial(3) * local(2)"), "the thread counts differ: 6 and 3");
  EXPECT_EQ(Registers("local(4) * replicate(2)", "spatial(2) * local(2)"),
            "the slot counts differ: 4 and 2");
  EXPECT_EQ(Registers("spatial(2, 2)", "column_spatial(2, 2)"),
            "element [0, 1] is in thread 1, slot 0 on the left, in thread 2, slot 0 on the right");
  EXPECT_EQ(Registers("replicate(2) * spatial(2)", "spatial(2) * replicate(2)"),
            "element [0] is in threads 0, 2, slot 0 on the left, in threads 0, 1, slot 0 on the "
            "right");
}

// The reported place is the first one, and there is one exactly if the layouts differ.
TEST(CompareTest, FindsTheFirstElement) {
  SCOPED_TRACE(Seed());
  std::mt19937_64 random(Seed() + 20);
  int differ = 0;
  for (int round = 0; round < 2000; ++round) {
    const testing::Model a = RandomModel(random, 1, 2);
    testing::Model b = a;
    std::shuffle(b.local.begin(), b.local.end(), random);
    std::shuffle(b.spatial.begin(), b.spatial.end(), random);
    const auto found = Difference(a.Make(), b.Make());
    ASSERT_EQ(found.has_value(), a.Table() != b.Table()) << a.Text() << " and " << b.Text();
    if (!found) continue;
    ++differ;
    int64_t first = -1;
    for (int64_t i = 0; i < a.Elements() && first < 0; ++i) {
      if (a.Make().Locate({{i}}) != b.Make().Locate({{i}})) first = i;
    }
    EXPECT_TRUE(found->starts_with("element [" + std::to_string(first) + "] is in ")) << *found;
  }
  EXPECT_GT(differ, 200);
}

TEST(CompareTest, MemoryLayouts) {
  EXPECT_EQ(Memories("row_major(4, 8)", "strided(shape=[4, 8], strides=[8, 1])", 4), "");
  EXPECT_EQ(Memories("row_major(4, 8)", "row_major(8, 4)", 4),
            "the shapes differ: [4, 8] and [8, 4]");
  EXPECT_EQ(Memories("row_major(4, 8)", "column_major(4, 8)", 12),
            "bit 0 of element [0, 1] is at byte 1, bit 4 on the left, at byte 6, bit 0 on the "
            "right");
  EXPECT_EQ(Memories("row_major(8, 64)", "swizzle(row_major(8, 64), 4, 3, 3)", 16),
            "bit 0 of element [1, 0] is at byte 128, bit 0 on the left, at byte 144, bit 0 on the "
            "right");
  // A swizzle of address bits that these bytes do not have changes nothing.
  EXPECT_EQ(Memories("row_major(8, 8)", "swizzle(row_major(8, 8), 4, 3, 3)", 16), "");
  // Large layouts are not compared completely.
  EXPECT_EQ(Memories("row_major(1099511627776, 2)", "column_major(1099511627776, 2)", 8),
            "bit 0 of element [0, 1] is at byte 1, bit 0 on the left, at byte 1099511627776, bit 0 "
            "on the right");
  EXPECT_EQ(Memories("row_major(33554432)", "swizzle(row_major(33554432), 4, 1, 27)", 1),
            "written differently, with the first 16777216 elements at the same places");
}

TEST(CompareTest, BitLayouts) {
  const auto difference = [](const char* a, const char* b) {
    return Difference(*Eval<BitLayoutFamily>(a).Concrete(), *Eval<BitLayoutFamily>(b).Concrete())
        .value_or("");
  };
  EXPECT_EQ(difference("contiguous(u3, 32)", "contiguous(u3, 32)"), "");
  EXPECT_EQ(difference("contiguous(u3, 32)", "contiguous(u4, 32)"), "the types differ: u3 and u4");
  EXPECT_EQ(difference("contiguous(u3, 32)", "contiguous(u3, 64)"),
            "the counts differ: 32 and 64 codes");
  EXPECT_TRUE(difference("contiguous(u4, 32)", "lanes(u4, 32, f16)").starts_with("bit 0 of slot "));
}

TEST(CompareTest, ReadsEquations) {
  const auto equation = ReadEquation("local(2) * local(3) == local(6)");
  ASSERT_TRUE(equation.ok() && equation->has_value());
  EXPECT_TRUE((*equation)->equal);
  EXPECT_EQ((*equation)->left, EvalValue(Reg("local(6)")));
  EXPECT_FALSE((*ReadEquation("1 != 2"))->equal);
  EXPECT_FALSE(ReadEquation("local(6)")->has_value());
  EXPECT_FALSE(ReadEquation("1 + 2")->has_value());
  const auto wrong = ReadEquation("local(2) == local(0)");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().location.column, 13u);
}

}  // namespace
}  // namespace tarsia::compare_test
