// Grids, tables of accesses and JSON, to the letter.
#include "layout/picture/render.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "layout/diagnostics.h"
#include "tests/unit/layout/layout_testing.h"

namespace tarsia::render_test {
namespace {

using testing::Memory;
using testing::Reg;

TEST(RenderTest, TextGrid) {
  EXPECT_EQ(*RenderText(Reg("spatial(2, 3) * local(1, 2)")),
            "0:0 0:1 1:0 1:1 2:0 2:1\n"
            "3:0 3:1 4:0 4:1 5:0 5:1\n");
  EXPECT_EQ(*RenderText(Reg("local(12)")),
            " 0:0  0:1  0:2  0:3  0:4  0:5  0:6  0:7  0:8  0:9 0:10 0:11\n");
  EXPECT_EQ(*RenderText(Reg("replicate(2) * spatial(2)")), "0,2:0 1,3:0\n");
  EXPECT_EQ(*RenderText(Reg("replicate(8)")), "0,1,2,..:0\n");
  EXPECT_EQ(*RenderText(Reg("local(2, 1, 2)")), "[0, :, :]\n0:0 0:1\n[1, :, :]\n0:2 0:3\n");
}

TEST(RenderTest, BanksOfAMemoryLayout) {
  // Rows of 128 bytes: each begins at bank 0; swizzled by 16 bytes: at bank 4 * row.
  const MemLayout plain =
      *Memory("row_major(3, 32)").Slice(std::vector<int64_t>{0, 0}, std::vector<int64_t>{3, 2});
  EXPECT_EQ(*RenderText(plain, 32), "0 1\n0 1\n0 1\n");
  const MemLayout swizzled = *Memory("swizzle(row_major(3, 32), 4, 3, 3)")
                                  .Slice(std::vector<int64_t>{0, 0}, std::vector<int64_t>{3, 2});
  EXPECT_EQ(*RenderText(swizzled, 32), "0 1\n4 5\n8 9\n");
}

// JSON is written with ' for " here.
std::string Json(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return text;
}

TEST(RenderTest, Json) {
  const RegLayout example =
      Reg("layout(shape=[4, 6], modes=[2, 2, 3, 2], spatial=[0, 2], local=[3, 1])");
  EXPECT_EQ(RenderJson(example),
            Json("{'shape': [4, 6], 'modes': [2, 2, 3, 2], 'spatial': [0, 2], 'local': [3, 1], "
                 "'threads': 6, 'slots': 4}"));
  EXPECT_EQ(RenderJson(Reg("spatial(2) * replicate(4)")),
            Json("{'shape': [2], 'modes': [2], 'spatial': [0, '~4'], 'local': [], "
                 "'threads': 8, 'slots': 1}"));
  EXPECT_EQ(RenderJson(Memory("swizzle(row_major(8, 64), 4, 3, 3)"), 16),
            Json("{'layout': 'swizzle(row_major(8, 64), 4, 3, 3)', 'shape': [8, 64], 'bits': 16, "
                 "'bytes': 1024, 'alignment': 1024}"));
}

TEST(RenderTest, Accesses) {
  const auto text =
      RenderAccesses(Reg("spatial(32)"), Memory("strided(shape=[32], strides=[2])"), 32);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text,
            "4 bytes per thread and access, 1 accesses per thread\n"
            "access 0: 2 wavefronts, 8 sectors; byte addresses\n"
            "  thread  0:      0      8     16     24     32     40     48     56\n"
            "  thread  8:     64     72     80     88     96    104    112    120\n"
            "  thread 16:    128    136    144    152    160    168    176    184\n"
            "  thread 24:    192    200    208    216    224    232    240    248\n"
            "all warps: 2 wavefronts (ideal 1), 8 sectors (ideal 4)\n");
  EXPECT_EQ(*RenderAccesses(Reg("local(2, 2)"), Memory("column_major(2, 2)"), 4),
            "no aligned access moves whole bytes: bits go one by one\n");
}

TEST(RenderTest, Refusals) {
  EXPECT_EQ(RenderText(Reg("local(65537)")).error().info, &diag::kPictureTooLarge);
  EXPECT_EQ(RenderText(Memory("row_major(4)"), 0).error().info, &diag::kAccessWidth);
  EXPECT_TRUE(RenderText(Memory("row_major(0, 4)"), 8).ok());
}

}  // namespace
}  // namespace tarsia::render_test
