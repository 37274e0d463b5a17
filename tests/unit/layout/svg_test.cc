// Required contents of pictures.
#include "layout/picture/svg.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "layout/diagnostics.h"
#include "tests/unit/layout/layout_testing.h"

namespace tarsia::svg_test {
namespace {

using testing::Eval;
using testing::Memory;
using testing::Reg;

size_t Count(std::string_view text, std::string_view part) {
  size_t out = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++out;
  }
  return out;
}

// Properties of every picture.
void ExpectPicture(const Result<std::string>& svg) {
  ASSERT_TRUE(svg.ok()) << svg.error().message;
  EXPECT_TRUE(svg->starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_TRUE(svg->ends_with("</svg>\n"));
  EXPECT_EQ(Count(*svg, "prefers-color-scheme:dark"), 1u);
  EXPECT_EQ(Count(*svg, "<text"), Count(*svg, "</text>"));
}

TEST(SvgTest, RegisterLayout) {
  const auto svg = RenderSvg(Reg("spatial(2, 2) * local(1, 2)"), "a < b & c");
  ExpectPicture(svg);
  EXPECT_EQ(Count(*svg, "<rect "), 8u);
  EXPECT_EQ(Count(*svg, ">3:1</text>"), 1u);
  EXPECT_EQ(Count(*svg, "a &lt; b &amp; c"), 1u);
  EXPECT_EQ(Count(*svg, "4 threads of 2 slots"), 1u);
  // Strong lines: between the pairs of columns twice, between the rows four times; and the frame.
  const size_t strong = svg->find("<path class=\"b\"");
  EXPECT_EQ(Count(svg->substr(strong), "M"), 2u + 4u + 1u);
  // Two threads do not look the same.
  EXPECT_EQ(Count(RenderSvg(Reg("spatial(2)")).value(), "#cddffc"), Count(*svg, "#cddffc") / 2);
}

TEST(SvgTest, MatricesOfHigherRank) {
  const auto svg = RenderSvg(Reg("local(2, 1, 2) * replicate(2)"));
  ExpectPicture(svg);
  EXPECT_EQ(Count(*svg, "[1, :, :]"), 1u);
  EXPECT_EQ(Count(*svg, "each element in 2 threads"), 1u);
  EXPECT_EQ(Count(*svg, ">0,1:3</text>"), 1u);
}

TEST(SvgTest, BanksOfAMemoryLayout) {
  const auto svg = RenderSvg(Memory("row_major(2, 64)"), 16);
  ExpectPicture(svg);
  EXPECT_EQ(Count(*svg, "<rect "), 128u);
  EXPECT_EQ(Count(*svg, "class=\"c\""), 128u);
  ExpectPicture(RenderSvg(Memory("row_major(0, 64)"), 16));
}

TEST(SvgTest, BitsOfWords) {
  const auto draw = [](const char* text) {
    return RenderSvg(*Eval<BitLayoutFamily>(text).Concrete());
  };
  const auto svg = draw("contiguous(u3, 32)");
  ExpectPicture(svg);
  EXPECT_EQ(Count(*svg, "<rect "), 96u);
  EXPECT_EQ(Count(*svg, ">10.1</text>"), 1u);  // the last bit of word 0 is bit 1 of code 10
  EXPECT_EQ(Count(*svg, ">word 2</text>"), 1u);
  // Padding has no letters.
  const auto padded = draw("contiguous(u3, 1)");
  EXPECT_EQ(Count(*padded, "class=\"c\""), 3u);
  EXPECT_EQ(Count(*padded, "<rect "), 32u);
  ExpectPicture(draw("lanes(i5, 32, f16)"));
  EXPECT_EQ(draw("contiguous(u8, 1048576)").error().info, &diag::kPictureTooLarge);
  ExpectPicture(draw("contiguous(u8, 0)"));
}

TEST(SvgTest, AccessOfAWarp) {
  // Rows of 128 bytes, a lane at the head of each: eight wavefronts for each of the four phases.
  const auto svg = RenderAccessSvg(Reg("spatial(32, 1) * local(1, 64)"),
                                   Memory("row_major(32, 64)"), 16, 0, "title");
  ExpectPicture(svg);
  EXPECT_EQ(Count(*svg, "access 0 of 8: 32 lanes of 16 bytes each, 32 wavefronts"), 1u);
  EXPECT_EQ(Count(*svg, ">8 wavefronts</text>"), 4u);
  EXPECT_EQ(Count(*svg, ">byte 3968</text>"), 1u);
  EXPECT_EQ(Count(*svg, ">lanes 24-31</text>"), 1u);
  // All lanes at one word: one cell, one wavefront.
  const auto broadcast =
      RenderAccessSvg(Reg("spatial(32)"), Memory("strided(shape=[32], strides=[0])"), 32);
  ExpectPicture(broadcast);
  EXPECT_EQ(Count(*broadcast, ">0+31</text>"), 1u);
  EXPECT_EQ(Count(*broadcast, ">1 wavefront</text>"), 1u);
  // Halves of words have small letters.
  const auto halves = RenderAccessSvg(Reg("spatial(32)"), Memory("row_major(32)"), 16);
  ExpectPicture(halves);
  EXPECT_EQ(Count(*halves, "class=\"c s\""), 32u);
}

TEST(SvgTest, Refusals) {
  EXPECT_EQ(RenderSvg(Memory("row_major(1000, 1000)"), 8).error().info, &diag::kPictureTooLarge);
  EXPECT_EQ(RenderSvg(Memory("row_major(4)"), 0).error().info, &diag::kAccessWidth);
  const RegLayout tile = Reg("spatial(32)");
  EXPECT_EQ(RenderAccessSvg(tile, Memory("row_major(32)"), 16, 1).error().info, &diag::kAccessUnit);
  EXPECT_EQ(RenderAccessSvg(tile, Memory("row_major(32)"), 3).error().info, &diag::kAccessNoBytes);
  EXPECT_EQ(RenderAccessSvg(tile, Memory("row_major(31)"), 8).error().info, &diag::kAccessShape);
}

}  // namespace
}  // namespace tarsia::svg_test
