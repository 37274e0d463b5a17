// The registers of tiles, and the bound of a kernel.
#include "compiler/passes/registers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "compiler/compile.h"
#include "compiler/pass.h"
#include "tests/unit/compiler/programs.h"

namespace tarsia::compiler::registers_test {
namespace {

TEST(Registers, OfAThreadFollowFromTheThreads) {
  EXPECT_EQ(MostRegistersOfThread(1), 255);
  EXPECT_EQ(MostRegistersOfThread(8), 255);   // 65,536 / 256 is 256
  EXPECT_EQ(MostRegistersOfThread(12), 168);  // 170 without rounding
  EXPECT_EQ(MostRegistersOfThread(16), 128);
  EXPECT_EQ(MostRegistersOfThread(9), 168) << "a quarter of the multiprocessor has 3 warps";
  EXPECT_EQ(MostRegistersOfThread(14), 128) << "4 warps; with 144 a launch fails on an H200";
  EXPECT_EQ(MostRegistersOfThread(32), 64);
}

// Two tiles that live at the same time: 2 * rows registers of each of 128 threads.
Program TwoTiles(int64_t rows, const std::string& clause = "") {
  return MakeProgram(fmt::format(R"(kernel k(%x: ptr<f32>, %y: ptr<f32>)
{1}{{
  %gx = view %x : global<f32>[{0}, 128]
  %gy = view %y : global<f32>[{0}, 128]
  %a = load %gx[0, 0] : [{0}, 128]
  %b = load %gy[0, 0] : [{0}, 128]
  store %gx[0, 0], %b
  store %gy[0, 0], %a
}}
)",
                                 rows, clause));
}

std::string PtxOf(const Program& program) {
  const auto kernel = Compile(program, Target::kSm80, {});
  EXPECT_TRUE(kernel.ok());
  return kernel.ok() ? kernel->ptx : "";
}

TEST(Registers, BoundIsWrittenForTilesThatDoNotFit) {
  EXPECT_EQ(PtxOf(TwoTiles(96)).find(".maxnreg"), std::string::npos);
  EXPECT_NE(PtxOf(TwoTiles(128)).find(".maxnreg 255"), std::string::npos);
}

TEST(Registers, BoundOfTheTextStays) {
  EXPECT_NE(PtxOf(TwoTiles(1, "  registers 8 * 8\n")).find(".maxnreg 64"), std::string::npos);
  EXPECT_NE(PtxOf(TwoTiles(128, "  registers 128\n")).find(".maxnreg 128"), std::string::npos);
}

std::vector<LineAdvice> AdviceAfterPasses(const Program& program) {
  return AdviceOnRegisters(RunPasses(program, {}));
}

TEST(Registers, AdviceNamesTheLineAndBothNumbers) {
  EXPECT_EQ(AdviceAfterPasses(TwoTiles(96)).size(), 0);
  const auto advice = AdviceAfterPasses(TwoTiles(128));
  ASSERT_EQ(advice.size(), 1);
  EXPECT_EQ(advice[0].line, 6) << "the second load, which completes the two tiles";
  EXPECT_EQ(advice[0].text,
            "the tiles that live here take 256 registers of a thread, which has at most 255: make "
            "them smaller, or use more warps");
  const auto bounded = AdviceAfterPasses(TwoTiles(40, "  registers 64\n"));
  ASSERT_EQ(bounded.size(), 1);
  EXPECT_NE(bounded[0].text.find("take 80 registers of a thread, which has at most 64"),
            std::string::npos);
}

}  // namespace
}  // namespace tarsia::compiler::registers_test
