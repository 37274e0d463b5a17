// Blocks a multiprocessor, against published examples and against arithmetic by hand.
#include "ptx/count/occupancy.h"

#include <gtest/gtest.h>

#include <string>

namespace tarsia::ptx::occupancy_test {
namespace {

std::string Of(const char* target, uint32_t threads, uint32_t registers, uint64_t shared) {
  const SmLimits* limits = FindSmLimits(target);
  if (limits == nullptr) return "unknown";
  const Occupancy found = FindOccupancy(*limits, {threads, registers, shared});
  return std::to_string(found.blocks) + " blocks, " + std::to_string(found.warps) + " of " +
         std::to_string(found.most_warps) + " warps, by " + std::string(NameOf(found.limit));
}

// CUDA C++ Best Practices Guide, "Calculating Occupancy": where a multiprocessor has 65536
// registers and 64 warps, kernels of 37 registers reach 75% with 12 blocks of 128 threads, and 63%
// with 4 of 320.
TEST(Occupancy, ExamplesOfTheBestPracticesGuide) {
  for (const char* target : {"sm_80", "sm_90", "sm_100"}) {
    EXPECT_EQ(Of(target, 128, 37, 0), "12 blocks, 48 of 64 warps, by registers");
    EXPECT_EQ(Of(target, 320, 37, 0), "4 blocks, 40 of 64 warps, by registers");
  }
  EXPECT_DOUBLE_EQ(FindOccupancy(*FindSmLimits("sm_80"), {128, 37, 0}).fraction(), 0.75);
  EXPECT_DOUBLE_EQ(FindOccupancy(*FindSmLimits("sm_80"), {320, 37, 0}).fraction(), 0.625);
}

// The tuning guides: a block has at most 163 (8.0), 99 (8.6, 8.9) and 227 KiB (9.0), and 1 KiB more
// is reserved for each. So two blocks have half of the whole each, less 1.
TEST(Occupancy, SharedMemory) {
  struct {
    const char* target;
    uint64_t whole;
  } cases[] = {{"sm_80", 164}, {"sm_86", 100}, {"sm_89", 100}, {"sm_90a", 228}, {"sm_120", 100}};
  for (const auto& item : cases) {
    const uint64_t kib = 1024;
    const Occupancy one =
        FindOccupancy(*FindSmLimits(item.target), {32, 32, (item.whole - 1) * kib});
    EXPECT_EQ(one.blocks, 1U) << item.target;
    EXPECT_EQ(one.limit, OccupancyLimit::kSharedMemory);
    const uint64_t half = (item.whole / 2 - 1) * kib;
    EXPECT_EQ(FindOccupancy(*FindSmLimits(item.target), {32, 32, half}).blocks, 2U) << item.target;
    EXPECT_EQ(FindOccupancy(*FindSmLimits(item.target), {32, 32, half + 1}).blocks, 1U);
    EXPECT_EQ(FindOccupancy(*FindSmLimits(item.target), {32, 32, item.whole * kib}).blocks, 0U);
  }
}

TEST(Occupancy, OtherLimits) {
  // Nothing else forbids more than the number of blocks and of warps.
  EXPECT_EQ(Of("sm_80", 32, 16, 0), "32 blocks, 32 of 64 warps, by blocks");
  EXPECT_EQ(Of("sm_86", 32, 16, 0), "16 blocks, 16 of 48 warps, by blocks");
  EXPECT_EQ(Of("sm_89", 32, 16, 0), "24 blocks, 24 of 48 warps, by blocks");
  EXPECT_EQ(Of("sm_90a", 256, 32, 0), "8 blocks, 64 of 64 warps, by warps");
  EXPECT_EQ(Of("sm_89", 1024, 32, 0), "1 blocks, 32 of 48 warps, by warps");
  // 33 threads are two warps.
  EXPECT_EQ(Of("sm_90", 33, 16, 0), "32 blocks, 64 of 64 warps, by blocks");
  // 168 registers: 5376 a warp, three in a quarter of 16384: 12 warps, which are one block of 384
  // threads.
  EXPECT_EQ(Of("sm_90", 384, 168, 0), "1 blocks, 12 of 64 warps, by registers");
  // 255 registers and 256 threads: 8160, rounded to 8192 a warp; two a quarter.
  EXPECT_EQ(Of("sm_80", 256, 255, 0), "1 blocks, 8 of 64 warps, by registers");
  EXPECT_EQ(Of("sm_80", 288, 255, 0), "0 blocks, 0 of 64 warps, by registers");
  EXPECT_EQ(Of("sm_80", 1025, 0, 0), "0 blocks, 0 of 64 warps, by blocks");
  EXPECT_EQ(Of("sm_70", 32, 0, 0), "unknown");
}

}  // namespace
}  // namespace tarsia::ptx::occupancy_test
