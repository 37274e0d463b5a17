#include "tools/progress.h"

#include <gtest/gtest.h>

namespace tarsia::tools::progress_test {
namespace {

TEST(ProgressLine, ShowsShareCountAndTimeLeft) {
  // A quarter took 5 s, so three quarters take 15 s; a quarter of 32 characters is 8.
  EXPECT_EQ(ProgressLine(25, 100, 5, "blocks", 100),
            " 25% [========                        ] 25 of 100 blocks, 15 s left");
  EXPECT_EQ(ProgressLine(1, 1000, 6, "blocks", 100).substr(0, 8), "  0% [  ");
  EXPECT_NE(ProgressLine(1, 101, 6, "blocks", 100).find(", 10 min left"), std::string::npos);
}

TEST(ProgressLine, Ends) {
  const std::string full = ProgressLine(7, 7, 3, "blocks", 100);
  EXPECT_EQ(full, "100% [" + std::string(32, '=') + "] 7 of 7 blocks, 0 s left");
  EXPECT_EQ(ProgressLine(0, 0, 3, "blocks", 100).substr(0, 4), "100%");
  // Nothing is known of the time that is left before anything is done.
  EXPECT_EQ(ProgressLine(0, 7, 3, "blocks", 100),
            "  0% [" + std::string(32, ' ') + "] 0 of 7 blocks");
}

TEST(ProgressLine, FitsTheWidth) {
  for (size_t width = 0; width < 120; ++width) {
    EXPECT_LE(ProgressLine(25, 100, 5, "blocks", width).size(), width) << width;
  }
  EXPECT_EQ(ProgressLine(25, 100, 5, "blocks", 10), " 25%");
}

}  // namespace
}  // namespace tarsia::tools::progress_test
