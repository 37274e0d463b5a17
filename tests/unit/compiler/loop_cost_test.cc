// What bounds the turns of loops, worked out by hand.
#include "compiler/loops/loop_cost.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/pass.h"
#include "tests/unit/compiler/programs.h"

namespace tarsia::compiler::loop_cost_test {
namespace {

std::vector<LoopCost> CostsOf(const std::string& loops) {
  const Program program = MakeProgram(fmt::format(R"(kernel k(%x: ptr<f32>, %y: ptr<f32>)
  warps 1
{{
  %gx = view %x : global<f32>[64, 128]
  %gy = view %y : global<f32>[64, 128]
  %s = alloc.shared : f32 [2, 128]
  %sum = fill 0.0 : f32 [1, 128] spatial(1, 32) * local(1, 4)
{}
  store %gy[0, 0], %sum
}}
)",
                                                  loops));
  PassOptions options;
  options.target = Target::kSm80;
  return LoopCosts(RunPasses(program, options), Target::kSm80);
}

// A turn loads 512 bytes: 16 sectors, one instruction, and four additions of two cycles each.
std::string Loads(const std::string& head) {
  return head + R"( {
    %t = load %gx[%i, 0] : [1, 128] spatial(1, 32) * local(1, 4)
    %sum = add %sum, %t
  })";
}

TEST(LoopCost, OfATurnThatWaitsForItsLoad) {
  const auto loops = CostsOf(Loads("  for %i = 0 to 64 unroll 1 pipeline 1"));
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].line, 8u);
  EXPECT_EQ(loops[0].ahead, 0);
  EXPECT_EQ(loops[0].turns, 1);
  EXPECT_EQ(loops[0].bytes, 512);
  EXPECT_TRUE(loops[0].hint);
  const LoopTimes times = TimesOf(loops[0], 8, Target::kSm80);
  EXPECT_DOUBLE_EQ(times.Of(LoopBound::kBytes), 16 * 13 * 8 / 4.0);
  EXPECT_DOUBLE_EQ(times.Of(LoopBound::kIssue), 9 * 2);  // two warps on each scheduler
  EXPECT_DOUBLE_EQ(times.Of(LoopBound::kTensor), 0);
  EXPECT_DOUBLE_EQ(times.Of(LoopBound::kLatency), 466 + 9);
  EXPECT_EQ(times.Bound(), LoopBound::kLatency);
  EXPECT_EQ(times.BoundBesideLatency(), LoopBound::kBytes);
  // 466 / 416 turns, and the one that computes.
  EXPECT_EQ(StagesThatHide(times, Target::kSm80), 3);
  EXPECT_EQ(TimesOf(loops[0], 16, Target::kSm80).Bound(), LoopBound::kBytes);
}

// Three turns are in flight; four are one in the code, and each has a part of its work.
TEST(LoopCost, OfCopiesThatRunAhead) {
  for (const std::string unroll : {"", " unroll 1"}) {
    const auto loops = CostsOf(Loads("  for %i = 0 to 64 pipeline 4" + unroll));
    ASSERT_EQ(loops.size(), 1u);
    EXPECT_EQ(loops[0].ahead, 3);
    EXPECT_EQ(loops[0].turns, unroll.empty() ? 4 : 1);
    EXPECT_EQ(loops[0].bytes, 512);
    const LoopTimes times = TimesOf(loops[0], 1, Target::kSm80);
    EXPECT_DOUBLE_EQ(times.Of(LoopBound::kBytes), 16 * 13 / 4.0);
    EXPECT_DOUBLE_EQ(times.Of(LoopBound::kLatency), 466 / 3.0);
    EXPECT_EQ(StagesThatHide(times, Target::kSm80), 10);  // 466 / 52
  }
}

// Copies of the author: a turn waits for what the one before started, or for its own.
TEST(LoopCost, OfCopiesOfTheText) {
  const auto copies = [](int pending) {
    return CostsOf(fmt::format(R"(  for %i = 0 to 63 unroll 1 {{
    copy.async %s[%i % 2, 0], %gx[%i + 1, 0] : [1, 128]
    copy.commit
    copy.wait {}
    sync
    %t = load %s[%i % 2, 0] : [1, 128] spatial(1, 32) * local(1, 4)
    %sum = add %sum, %t
    sync
  }})",
                               pending));
  };
  for (const int pending : {0, 1}) {
    const auto loops = copies(pending);
    ASSERT_EQ(loops.size(), 1u);
    EXPECT_EQ(loops[0].ahead, pending);
    EXPECT_EQ(loops[0].bytes, 512);
  }
}

// Of two loops the inner one; one that loads nothing has no such cost.
TEST(LoopCost, IsThatOfTheLoopsThatLoad) {
  const auto loops = CostsOf(R"(  for %j = 0 to 4 unroll 1 {
    for %i = 0 to 16 unroll 1 pipeline 1 {
      %t = load %gx[%i, 0] : [1, 128] spatial(1, 32) * local(1, 4)
      %sum = add %sum, %t
    }
  }
  for %i = 0 to 16 unroll 1 {
    %sum = mul %sum, 2.0
  })");
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].line, 9u);
}

}  // namespace
}  // namespace tarsia::compiler::loop_cost_test
