// What is proven of the accesses of whole programs.
#include "compiler/facts/program_facts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/compiler/programs.h"

namespace tarsia::compiler::program_facts_test {
namespace {

// By access and dimension: `in` if it is inside, else what is not proven (`low`, `high`); then the
// divisor of its first index.
std::string Summary(const std::string& text) {
  std::string out;
  for (const AccessFacts& access : CollectProgramFacts(MakeProgram(text)).accesses) {
    if (!out.empty()) out += " | ";
    std::string dims;
    for (const IndexFacts& dim : access.dims) {
      if (!dims.empty()) dims += ", ";
      if (dim.above_low && dim.below_high) dims += "in";
      if (!dim.above_low) dims += "low";
      if (!dim.below_high) dims += dim.above_low ? "high" : "-high";
      dims += fmt::format(" {}", dim.first.multiple);
    }
    out += dims;
  }
  return out;
}

std::string Kernel(const std::string& head, const std::string& body) {
  return "kernel f(%x: ptr<f32>, %m: i32, %k: i32, %o: i64)\n" + head + "\n{\n" + body + "}\n";
}

TEST(ProgramFacts, BlocksOfWholeTiles) {
  const std::string body =
      "  %g = view %x : global<f32>[%m]\n"
      "  %b = block.x\n"
      "  %t = load %g[%b * 64] : [64]\n"
      "  store %g[%b * 64], %t\n";
  EXPECT_EQ(Summary(Kernel("  grid (ceildiv(%m, 64))", body)), "high 64 | high 64");
  EXPECT_EQ(Summary(Kernel("  assume %m % 64 == 0\n  grid (ceildiv(%m, 64))", body)),
            "in 64 | in 64");
  EXPECT_EQ(Summary(Kernel("  assume %m % 128 == 0\n  grid (%m / 64)", body)), "in 64 | in 64");
  EXPECT_EQ(Summary(Kernel("  assume %m % 32 == 0\n  grid (ceildiv(%m, 64))", body)),
            "high 64 | high 64");
  EXPECT_EQ(Summary(Kernel("  grid (%m / 64)", body)), "in 64 | in 64");
  // Without a grid there is one block.
  EXPECT_EQ(Summary(Kernel("  assume %m >= 64", body)), "in 0 | in 0");
}

TEST(ProgramFacts, LoopsOverTiles) {
  const auto loop = [](const std::string& head, const std::string& range, const std::string& at) {
    return Summary(Kernel(head, "  %g = view %x : global<f32>[%k]\n  for " + range +
                                    " {\n    %t = load %g[" + at +
                                    "] : [32]\n"
                                    "    store %g[" +
                                    at + "], %t\n  }\n"));
  };
  const std::string whole = "  assume %k % 32 == 0";
  EXPECT_EQ(loop(whole, "%i = 0 to ceildiv(%k, 32)", "%i * 32"), "in 32 | in 32");
  EXPECT_EQ(loop("", "%i = 0 to ceildiv(%k, 32)", "%i * 32"), "high 32 | high 32");
  EXPECT_EQ(loop("", "%i = 0 to %k / 32", "%i * 32"), "in 32 | in 32");
  EXPECT_EQ(loop(whole, "%i = 0 to %k step 32", "%i"), "in 32 | in 32");
  EXPECT_EQ(loop(whole, "%i = 0 to %k step 16", "%i"), "high 16 | high 16");
  EXPECT_EQ(loop(whole, "%i = %m to %k step 32", "%i"), "low-high 1 | low-high 1");
  EXPECT_EQ(loop("", "%i = %k - 32 to -1 step -32", "%i"), "in 1 | in 1");
}

TEST(ProgramFacts, SlicesAndTheLoopsInside) {
  EXPECT_EQ(Summary(Kernel("  assume %m % 128 == 0\n  grid (ceildiv(%m, 128))",
                           "  %g = view %x : global<f32>[%m]\n"
                           "  %b = block.x\n"
                           "  %s = slice %g[%b * 128] : [128]\n"
                           "  for %i = 0 to 128 step 32 {\n"
                           "    %t = load %s[%i] : [32]\n"
                           "    store %s[%i + 1], %t\n"
                           "  }\n")),
            "in 32 | high 1");
}

TEST(ProgramFacts, ConditionsOnTheWay) {
  const std::string view = "  %g = view %x : global<f32>[%m]\n";
  const std::string access = "%t = load %g[%k] : [8]\n store %g[%k], %t\n";
  EXPECT_EQ(Summary(Kernel("", view + "  if %k >= 0 and %k + 8 <= %m {\n" + access +
                                   "  } else {\n" + access + "  }\n" + access)),
            "in 1 | in 1 | low-high 1 | low-high 1 | low-high 1 | low-high 1");
  EXPECT_EQ(Summary(Kernel("", view + access + "  if %k >= 0 and %k + 8 <= %m {\n" + access +
                                   "  }\n" + access)),
            "low-high 1 | low-high 1 | in 1 | in 1 | low-high 1 | low-high 1");
  EXPECT_EQ(Summary(Kernel("", view + "  if %k < 0 or %k > %m - 8 {\n    exit\n  }\n" + access)),
            "in 1 | in 1");
  EXPECT_EQ(Summary(Kernel("", view + "  if %k < 0 {\n    exit\n  }\n" + access)),
            "high 1 | high 1");
  EXPECT_EQ(Summary(Kernel("  assume %k >= 0\n  assume %k + 8 <= %m", view + access)),
            "in 1 | in 1");
}

// A value that changes is another one at every use.
TEST(ProgramFacts, NothingOfWhatChanges) {
  EXPECT_EQ(Summary(Kernel("",
                           "  %g = view %x : global<f32>[%m]\n"
                           "  %j = mov 0\n"
                           "  while %j + 8 <= %m {\n"
                           "    %t = load %g[%j] : [8]\n"
                           "    store %g[%j], %t\n"
                           "    %j = add %j, 8\n"
                           "  }\n")),
            "low-high 1 | low-high 1");
}

// Sums of 64-bit numbers may wrap.
TEST(ProgramFacts, NothingOfSumsThatWrap) {
  const std::string body =
      "  %g = view %x : global<f32>[%m]\n"
      "  %t = load %g[%o] : [8]\n  store %g[%o], %t\n";
  EXPECT_EQ(Summary(Kernel("  assume %o + 8 <= %m\n  assume %o >= 0", body)),
            "low-high 1 | low-high 1");
  EXPECT_EQ(Summary(Kernel("  assume %o <= %m - 8\n  assume %o >= 0", body)), "in 1 | in 1");
}

TEST(ProgramFacts, TextSaysWhatWouldHelp) {
  const std::string text = Kernel("  grid (ceildiv(%m, 64))",
                                  "  %g = view %x : global<f32>[%m, 100]\n"
                                  "  %b = block.x\n"
                                  "  for %i = 0 to 4 {\n"
                                  "    %t = load %g[%b * 64, %i * 32] : [64, 32]\n"
                                  "    store %g[%b * 64, 0], %t\n"
                                  "  }\n");
  EXPECT_EQ(FactsText(MakeProgram(text)),
            "kernel f\n"
            "  line 7: load %g\n"
            "    dimension 0: 64 elements from 64 * block.x, a multiple of 64; not known to end "
            "below %m: add `assume %m % 64 == 0`\n"
            "    dimension 1: 32 elements from 32 * %i, a multiple of 32; not known to end below "
            "100: 100 is no multiple of 32\n"
            "  line 8: store %g\n"
            "    dimension 0: 64 elements from 64 * block.x, a multiple of 64; not known to end "
            "below %m: add `assume %m % 64 == 0`\n"
            "    dimension 1: 32 elements from 0; inside\n");
}

}  // namespace
}  // namespace tarsia::compiler::program_facts_test
