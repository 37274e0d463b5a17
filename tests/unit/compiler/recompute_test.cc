// Values that are computed again after a loop that does not use them: LLVM IR in, LLVM IR out.
#include "compiler/llvm/recompute.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/compiler/run_pass.h"

namespace tarsia::compiler::recompute_test {
namespace {

// A loop over tiles with a loop of products; `before`, `tail` stand before both and between the
// loop of products and the next tile. A thread has `registers`.
std::string Tiles(int registers, const std::string& before, const std::string& tail) {
  return fmt::format(R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define void @f(i32 %n, i1 %more, i1 %again) {{
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
{}
  br label %tile
tile:
  br label %turn
turn:
  %sum = phi i32 [ 0, %tile ], [ %next, %turn ]
  %next = call i32 asm "mma.sync $0, $1;", "=r,r"(i32 %sum)
  br i1 %more, label %turn, label %tail
tail:
{}
  br i1 %again, label %tile, label %end
end:
  ret void
}}
!nvvm.annotations = !{{!0}}
!0 = !{{ptr @f, !"maxnreg", i32 {}}}
)",
                     before, tail, registers);
}

std::string Use(const std::string& value) {
  return "  call void asm sideeffect \"st $0;\", \"r\"(i32 " + value + ")\n";
}

std::string Recomputed(const std::string& text) { return RunPass(RecomputePass(), text); }

// What stands between the loop of products and the next tile.
std::string TailOf(const std::string& out) {
  const size_t at = out.find("\ntail:");
  return at == std::string::npos ? "none: " + out : out.substr(at, out.find("\nend:") - at);
}

constexpr char kPlace[] = "  %half = lshr i32 %thread, 1\n  %place = add i32 %half, %n\n";

TEST(Recompute, ComputesAPlaceOfAThreadAfterTheLoop) {
  const std::string tail = TailOf(Recomputed(Tiles(2, kPlace, Use("%place"))));
  EXPECT_EQ(CountOf(tail, "asm sideeffect \"mov.u32 $0, %tid.x;\""), 1U) << tail;
  EXPECT_EQ(CountOf(tail, " = lshr i32 "), 1U) << tail;
  EXPECT_EQ(CountOf(tail, " = add i32 "), 1U) << tail;
  EXPECT_EQ(CountOf(tail, "%place"), 0U) << tail;
}

TEST(Recompute, LeavesLoopsWithRoomForAllNumbers) {
  const std::string tail = TailOf(Recomputed(Tiles(255, kPlace, Use("%place"))));
  EXPECT_EQ(CountOf(tail, "i32 %place"), 1U) << tail;
  EXPECT_EQ(CountOf(tail, " = add "), 0U) << tail;
}

// A loaded value cannot be computed again; what is made of it can.
TEST(Recompute, ComputesOfWhatCannotBeComputed) {
  const std::string loaded = "  %v = call i32 asm sideeffect \"ld $0;\", \"=r\"()\n";
  EXPECT_EQ(CountOf(TailOf(Recomputed(Tiles(2, loaded, Use("%v")))), "i32 %v"), 1U);
  // %v is not kept: to compute %w again would keep it instead.
  const std::string once = loaded + "  %w = mul i32 %v, %n\n";
  EXPECT_EQ(CountOf(TailOf(Recomputed(Tiles(2, once, Use("%w")))), "i32 %w"), 1U);
  const std::string both = TailOf(Recomputed(Tiles(4, once, Use("%v") + Use("%w"))));
  EXPECT_EQ(CountOf(both, " = mul i32 "), 1U) << both;
  EXPECT_EQ(CountOf(both, "%w"), 0U) << both;
}

// Of two words, or of two numbers, the loop keeps the one that they are computed of.
TEST(Recompute, KeepsTheFewestWords) {
  const std::string loaded = "  %v = call i32 asm sideeffect \"ld $0;\", \"=r\"()\n";
  const std::string wide = "  call void asm sideeffect \"st $0;\", \"l\"(i64 %w)\n";
  const std::string one =
      TailOf(Recomputed(Tiles(2, loaded + "  %w = sext i32 %v to i64\n", wide)));
  EXPECT_EQ(CountOf(one, " = sext i32 "), 1U) << one;
  EXPECT_EQ(CountOf(one, "%w"), 0U) << one;
  const std::string sums = loaded + "  %a = add i32 %v, %n\n  %b = mul i32 %v, %n\n";
  const std::string two = TailOf(Recomputed(Tiles(2, sums, Use("%a") + Use("%b"))));
  EXPECT_EQ(CountOf(two, " = add i32 "), 1U) << two;
  EXPECT_EQ(CountOf(two, " = mul i32 "), 1U) << two;
  // Nor is a sum of two numbers computed again for which both would be kept.
  const std::string other = "  %u = call i32 asm sideeffect \"ld $0;\", \"=r\"()\n";
  const std::string both =
      TailOf(Recomputed(Tiles(2, loaded + other + "  %c = add i32 %u, %v\n", Use("%c"))));
  EXPECT_EQ(CountOf(both, "i32 %c"), 1U) << both;
}

// What two values are made of is computed once for both where they are needed, unless these places
// are far from each other.
TEST(Recompute, SharesWhatIsNear) {
  const std::string before =
      "  %half = lshr i32 %thread, 1\n"
      "  %a = add i32 %half, %n\n  %b = mul i32 %half, %n\n";
  const std::string near = TailOf(Recomputed(Tiles(2, before, Use("%a") + Use("%b"))));
  EXPECT_EQ(CountOf(near, " = lshr i32 "), 1U) << near;
  EXPECT_EQ(CountOf(near, " = add i32 "), 1U) << near;
  EXPECT_EQ(CountOf(near, " = mul i32 "), 1U) << near;
  std::string between;
  for (int i = 0; i < 100; ++i) between += Use("%n");
  const std::string far = TailOf(Recomputed(Tiles(2, before, Use("%a") + between + Use("%b"))));
  EXPECT_EQ(CountOf(far, " = lshr i32 "), 2U) << far;
}

// Those of 64 bits take several times as many instructions.
TEST(Recompute, DividesAgainIn32Bits) {
  const std::string narrow = "  %q = udiv i32 %thread, %n\n";
  EXPECT_EQ(CountOf(TailOf(Recomputed(Tiles(2, narrow, Use("%q")))), " = udiv i32 "), 1U);
  const std::string wide =
      "  %t = zext i32 %thread to i64\n  %m = zext i32 %n to i64\n"
      "  %q = udiv i64 %t, %m\n  %r = trunc i64 %q to i32\n";
  EXPECT_EQ(CountOf(TailOf(Recomputed(Tiles(2, wide, Use("%r")))), "i32 %r"), 1U);
}

// One division of 16 instructions, of whose quotient three numbers are made.
TEST(Recompute, CountsOnceWhatIsNeededTwice) {
  const std::string before =
      "  %each = udiv i32 %n, %thread\n  %twice = add i32 %each, %each\n"
      "  %place = mul i32 %twice, %each\n";
  const std::string tail = TailOf(Recomputed(Tiles(2, before, Use("%place"))));
  EXPECT_EQ(CountOf(tail, " = udiv i32 "), 1U) << tail;
  EXPECT_EQ(CountOf(tail, " = mul i32 "), 1U) << tail;
}

TEST(Recompute, LeavesLongCalculations) {
  std::string before = "  %p0 = lshr i32 %thread, 1\n";
  for (int i = 1; i < 45; ++i) {
    before += fmt::format("  %p{} = mul i32 %p{}, %n\n", i, i - 1);
  }
  EXPECT_EQ(CountOf(TailOf(Recomputed(Tiles(2, before, Use("%p44")))), "i32 %p44"), 1U);
}

// Before a loop that needs it in each turn, once.
TEST(Recompute, ComputesBeforeAnotherLoop) {
  const std::string loop = "  br label %other\nother:\n" + Use("%place") +
                           "  br i1 %more, label %other, label %last\nlast:\n";
  const std::string tail = TailOf(Recomputed(Tiles(2, kPlace, loop)));
  const size_t other = tail.find("\nother:");
  ASSERT_NE(other, std::string::npos) << tail;
  EXPECT_EQ(CountOf(tail.substr(0, other), " = add i32 "), 1U) << tail;
  EXPECT_EQ(CountOf(tail.substr(other), " = add i32 "), 0U) << tail;
}

}  // namespace
}  // namespace tarsia::compiler::recompute_test
