#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/vm/run_testing.h"

namespace tarsia::vm::control_test {
namespace {

using I32s = std::vector<int32_t>;

TEST(Control, LoopsCountUpDownAndNotAtAll) {
  I32s y(6, -1);
  RunOk(R"(
kernel k(%y: ptr<i32>, %n: i32)
  warps 1
{
  %g = view %y : global<i32>[6]
  %up = mov 0
  %down = mov 0
  %none = mov 0
  %last = mov 0
  for %i = 0 to %n step 3 {
    %up = add %up, %i
    %last = mov %i
  }
  for %i = %n to 0 step -4 {
    %down = add %down, %i
  }
  for %i = %n to 0 {
    %none = add %none, 1
  }
  %outer = mov 0
  for %i = 0 to 3 {
    for %j = %i to 3 {
      %outer = mov %outer * 10 + %i + %j
    }
  }
  %a = fill %up : i32 [1]
  store %g[0], %a
  %b = fill %down : i32 [1]
  store %g[1], %b
  %c = fill %none : i32 [1]
  store %g[2], %c
  %d = fill %last : i32 [1]
  store %g[3], %d
  %e = fill %outer : i32 [1]
  store %g[4], %e
}
)",
        Args().Out(y).I32(10));
  // 0 + 3 + 6 + 9; 10 + 6 + 2; nothing; 9; sums (0,0) (0,1) (0,2) (1,1) (1,2) (2,2) as digits.
  EXPECT_EQ(y, (I32s{18, 18, 0, 9, 12234, -1}));
}

TEST(Control, BoundsAreEvaluatedOnce) {
  I32s y(2);
  RunOk(R"(
kernel k(%y: ptr<i32>)
{
  %n = mov 3
  %turns = mov 0
  for %i = 0 to %n {
    %n = add %n, 5
    %turns = add %turns, 1
  }
  %g = view %y : global<i32>[2]
  %t = fill %turns : i32 [1]
  store %g[0], %t
  %u = fill %n : i32 [1]
  store %g[1], %u
}
)",
        Args().Out(y));
  EXPECT_EQ(y, (I32s{3, 18}));
}

// The last iteration is the one before the counter would overflow 64 bits.
TEST(Control, CountersEndWhere64BitsEnd) {
  std::vector<int64_t> y(2);
  RunOk(R"(
kernel k(%y: ptr<i64>, %stop: i64)
{
  %turns = mov 0 : i64
  %last = mov 0 : i64
  for %i: i64 = %stop - 5 to %stop step 4 {
    %turns = add %turns, 1
    %last = mov %i : i64
  }
  %g = view %y : global<i64>[2]
  %t = fill %turns : i64 [1]
  store %g[0], %t
  %u = fill %last : i64 [1]
  store %g[1], %u
}
)",
        Args().Out(y).Scalar(kI64, static_cast<uint64_t>(INT64_MAX)));
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(y[1], INT64_MAX - 1);
}

TEST(Control, WhileIfElseAndExit) {
  I32s y(4, 7);
  RunOk(R"(
kernel k(%y: ptr<i32>)
  grid (4)
{
  %b = block.x
  %g = view %y : global<i32>[4]
  // Steps to 1 by the rule of Collatz.
  %x = mov %b * 3 + 1
  %steps = mov 0
  while %x != 1 {
    if %x % 2 == 0 {
      %x = mov %x / 2
    } else {
      %x = mov 3 * %x + 1
    }
    %steps = add %steps, 1
  }
  if %b == 2 {
    exit
  }
  %t = fill %steps : i32 [1]
  store %g[%b], %t
}
)",
        Args().Out(y));
  EXPECT_EQ(y, (I32s{0, 2, 7, 6}));  // 1; 4 2 1; (7 takes 16, not stored); 10 5 16 8 4 2 1
}

TEST(Control, GridAndBlockIndices) {
  I32s y(2 * 3 * 4);
  RunOk(R"(
kernel k(%y: ptr<i32>, %n: i32)
  grid (%n, 3, %n + 2)
{
  %x = block.x
  %yy = block.y
  %z = block.z
  %gx = grid.x
  %gy = grid.y
  %gz = grid.z
  %g = view %y : global<i32>[4, 3, 2]
  %t = fill %x : i32 [1, 1, 1]
  %t = add %t, 0
  %v = mov %x + 10 * %yy + 100 * %z + 1000 * (%gx + 10 * %gy + 100 * %gz)
  %u = fill %v : i32 [1, 1, 1]
  store %g[%z, %yy, %x], %u
}
)",
        Args().Out(y).I32(2));
  size_t at = 0;
  for (int z = 0; z < 4; ++z) {
    for (int j = 0; j < 3; ++j) {
      for (int x = 0; x < 2; ++x) EXPECT_EQ(y[at++], x + 10 * j + 100 * z + 432000);
    }
  }
}

TEST(Control, IndexArithmeticIsTotal) {
  std::vector<int64_t> y(8);
  RunOk(
      R"(
kernel k(%y: ptr<i64>, %a: i64, %zero: i64, %least: i64)
{
  %g = view %y : global<i64>[8]
  %v = mov %a / %zero : i64
  %t = fill %v : i64 [1]
  store %g[0], %t
  %v = mov %a % %zero : i64
  %t = fill %v : i64 [1]
  store %g[1], %t
  %v = mov %least / (%zero - 1) : i64
  %t = fill %v : i64 [1]
  store %g[2], %t
  %v = mov %least % (%zero - 1) : i64
  %t = fill %v : i64 [1]
  store %g[3], %t
  %v = mov -%a / 2 : i64
  %t = fill %v : i64 [1]
  store %g[4], %t
  %v = mov -%a % 4 : i64
  %t = fill %v : i64 [1]
  store %g[5], %t
  %v = mov ceildiv(%a, 2) * 100 + max(%a, 9) * 10 + min(%a, 9) : i64
  %t = fill %v : i64 [1]
  store %g[6], %t
  %v = mov %least - 1 : i64
  %t = fill %v : i64 [1]
  store %g[7], %t
}
)",
      Args().Out(y).Scalar(kI64, 7).Scalar(kI64, 0).Scalar(kI64, static_cast<uint64_t>(INT64_MIN)));
  EXPECT_EQ(y, (std::vector<int64_t>{-1, 7, INT64_MIN, 0, -3, -3, 497, INT64_MAX}));
}

TEST(Control, MovKeepsLowBits) {
  I32s y(3);
  RunOk(R"(
kernel k(%y: ptr<i32>, %big: i64, %n: i32)
{
  %low = mov %big : i32
  %product = mov %n * 1000000
  %byte = mov %n * 2 + 1 : i8
  %wide = mov %byte : i32
  %g = view %y : global<i32>[3]
  %t = fill %low : i32 [1]
  store %g[0], %t
  %t = fill %product : i32 [1]
  store %g[1], %t
  %t = fill %wide : i32 [1]
  store %g[2], %t
}
)",
        Args().Out(y).Scalar(kI64, 0x1234567890ABCDEFu).I32(100000));
  // 100000000000 mod 2^32 = 1215752192; 200001 mod 256 = 65.
  EXPECT_EQ(y, (I32s{static_cast<int32_t>(0x90ABCDEFu), 1215752192, 65}));
}

constexpr std::string_view kAsserts = R"(
kernel k(%x: ptr<i32>, %n: i32)
  grid (8)
{
  %b = block.x
  assert %b < %n, "block is low"
  %g = view %x : global<i32>[4]
  %t = load %g[0] : [4]
  %ok = gt %t, 0
  assert %ok, "all are positive"
}
)";

TEST(Control, AssertNamesBlockAndMessage) {
  const I32s good = {1, 2, 3, 4};
  const I32s bad = {1, 2, 0, 4};
  EXPECT_EQ(ErrorId(kAsserts, Args().In(good).I32(8)), "");
  const auto low = RunText(kAsserts, Args().In(good).I32(5));
  ASSERT_FALSE(low.ok());
  EXPECT_EQ(low.error().message, "assertion failed in block (5, 0, 0): block is low");
  EXPECT_EQ(low.error().location.line, 6u);
  const auto tile = RunText(kAsserts, Args().In(bad).I32(8));
  ASSERT_FALSE(tile.ok());
  EXPECT_EQ(tile.error().message, "assertion failed in block (0, 0, 0): all are positive");
}

TEST(Control, TheLowestBlockThatFailsIsReported) {
  const I32s good = {1, 2, 3, 4};
  LaunchOptions options;
  options.threads = 4;
  for (int round = 0; round < 20; ++round) {
    const auto low = RunText(kAsserts, Args().In(good).I32(3), options);
    ASSERT_FALSE(low.ok());
    EXPECT_EQ(low.error().message, "assertion failed in block (3, 0, 0): block is low");
  }
}

TEST(Control, ABudgetEndsEndlessLoops) {
  LaunchOptions options;
  options.max_instructions = 1000;
  EXPECT_EQ(ErrorId(R"(
kernel k()
{
  %i = mov 0
  while %i >= 0 {
    %i = mov (%i + 1) % 5
  }
}
)",
                    Args(), options),
            "instruction-budget");
}

TEST(Control, AStepOfZeroIsAnError) {
  EXPECT_EQ(ErrorId(R"(
kernel k(%s: i32)
{
  for %i = 0 to 10 step %s {
    %x = mov 1
  }
}
)",
                    Args().I32(0)),
            "step-is-zero");
}

TEST(Control, PrintWritesRows) {
  std::vector<std::string> lines;
  LaunchOptions options;
  options.print = [&](std::string_view line) { lines.emplace_back(line); };
  RunOk(R"(
kernel k(%n: i32)
{
  %t = iota axis 1 : i32 [2, 3]
  print "t", %t
  print "n", %n
  %h = fill 0.5 : f16 [2]
  print "h", %h
  %e = fill 1 : i32 [0, 3]
  print "e", %e
  print "x", %n > 2
}
)",
        Args().I32(-4), options);
  EXPECT_EQ(lines, (std::vector<std::string>{"(0, 0, 0) t[0, :] = 0 1 2",
                                             "(0, 0, 0) t[1, :] = 0 1 2", "(0, 0, 0) n = -4",
                                             "(0, 0, 0) h[:] = 0.5 0.5", "(0, 0, 0) x = false"}));
}

TEST(Control, TraceShowsOneBlockAndAbbreviates) {
  std::vector<std::string> lines;
  LaunchOptions options;
  options.trace.enabled = true;
  options.trace.block = {1, 0, 0};
  options.trace.value = "t";
  options.trace.sink = [&](std::string_view line) { lines.emplace_back(line); };
  RunOk(R"(
kernel k()
  grid (3)
{
  %b = block.x
  %u = fill %b : i32 [2]
  %t = iota : i32 [20]
  %t = add %t, %b
}
)",
        Args(), options);
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "7: %t = iota : i32 [20]", "    %t[:] = 0 1 2 3 ... 16 17 18 19",
                       "8: %t = add %t, %b", "    %t[:] = 1 2 3 4 ... 17 18 19 20"}));
}

}  // namespace
}  // namespace tarsia::vm::control_test
