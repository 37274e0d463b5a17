// What reductions emit where the elements of a result lie in one warp: nothing of shared memory,
// and one instruction for what all lanes hold, where there is one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "compiler/compile.h"
#include "tests/codegen/machine_code.h"
#include "tests/harness/program.h"

namespace tarsia::harness {
namespace {

struct Case {
  const char* name;
  const char* type;
  const char* reduce;  // after `= `, of %t
  const char* result;  // its extents
  int results = 1;
  int redux = 0;     // for all results of a thread
  int shuffles = 0;  // of 32 bits
};

// A warp of four has 4 rows of 128, of which a lane has 4 elements each.
constexpr char kRows[] = "local(4, 1) * spatial(4, 32) * local(1, 4)";

class ReductionCode : public testing::TestWithParam<Case> {};

TEST_P(ReductionCode, StaysInRegisters) {
  const Case& c = GetParam();
  const std::string text = fmt::format(
      "kernel k(%x: ptr<{0}>, %y: ptr<{0}>, %i: ptr<i32>)\n  warps 4\n{{\n"
      "  %gx = view %x : global<{0}>[16, 128]\n  %gy = view %y : global<{0}>[{1}]\n"
      "  %gi = view %i : global<i32>[{1}]\n  %t = load %gx[0, 0] : [16, 128] {2}\n"
      "  {3} = {4}\n  store %gy[{5}], %b\n{6}}}\n",
      c.type, c.result, kRows, c.results == 2 ? "%b, %c" : "%b", c.reduce,
      std::string(c.result).find(',') == std::string::npos ? "0" : "0, 0",
      c.results == 2 ? "  store %gi[0], %c\n" : "");
  const Made made = MakeProgram(SourceFile("k.tsa", text), "", {});
  ASSERT_TRUE(made.program) << made.error << text;
  const auto kernel = compiler::Compile(*made.program, compiler::Target::kSm80);
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(Occurrences(kernel->ptx, "redux.sync"), static_cast<size_t>(c.redux));
  EXPECT_EQ(Occurrences(kernel->ptx, "shfl.sync"), static_cast<size_t>(c.shuffles));
  EXPECT_EQ(Occurrences(kernel->ptx, "bar."), 0);
  EXPECT_EQ(Occurrences(kernel->ptx, ".shared."), 0);
}

// 4 results a thread, of 32 lanes each: one or two instructions a result, or 5 exchanges a word.
constexpr Case kCases[] = {
    {"i32_sum", "i32", "reduce.sum %t axes [1]", "16", 1, 4, 0},
    {"u8_max", "u8", "reduce.max %t axes [1]", "16", 1, 4, 0},
    {"i32_min_kept", "i32", "reduce.min %t axes [1] keepdims", "16, 1", 1, 4, 0},
    {"f32_max", "f32", "reduce.max %t axes [1]", "16", 1, 4, 0},
    {"f16_min", "f16", "reduce.min %t axes [1]", "16", 1, 4, 0},
    {"f32_sum", "f32", "reduce.sum %t axes [1]", "16", 1, 0, 20},
    {"f32_sum_kept", "f32", "reduce.sum %t axes [1] keepdims", "16, 1", 1, 0, 20},
    {"i64_sum", "i64", "reduce.sum %t axes [1]", "16", 1, 0, 40},
    {"f32_argmax", "f32", "reduce.argmax %t axis 1", "16", 2, 8, 0},
    {"u32_argmin", "u32", "reduce.argmin %t axis 1", "16", 2, 8, 0},
};

INSTANTIATE_TEST_SUITE_P(Rows, ReductionCode, testing::ValuesIn(kCases),
                         [](const auto& of) { return of.param.name; });

// One warp: whatever the axes, nothing is shared.
TEST(ReductionCode, OfOneWarpNeedsNoLayoutFromTheText) {
  for (const char* const reduce :
       {"reduce.sum %t axes [0]", "reduce.sum %t axes [1]", "reduce.max %t axes [0, 1] keepdims",
        "reduce.sum %t axes [1] keepdims"}) {
    SCOPED_TRACE(reduce);
    const bool both = std::string(reduce).find("[0, 1]") != std::string::npos;
    const bool kept = std::string(reduce).find("keepdims") != std::string::npos;
    const bool rows = std::string(reduce).find("[1]") != std::string::npos;
    const std::string extents = both ? "1, 1" : kept ? "8, 1" : rows ? "8" : "64";
    const std::string text = fmt::format(
        "kernel k(%x: ptr<f32>, %y: ptr<f32>)\n  warps 1\n{{\n"
        "  %gx = view %x : global<f32>[8, 64]\n  %gy = view %y : global<f32>[{}]\n"
        "  %t = load %gx[0, 0] : [8, 64]\n  %b = {}\n  store %gy[{}], %b\n}}\n",
        extents, reduce, kept ? "0, 0" : "0");
    const Made made = MakeProgram(SourceFile("k.tsa", text), "", {});
    ASSERT_TRUE(made.program) << made.error << text;
    const auto kernel = compiler::Compile(*made.program, compiler::Target::kSm90a);
    ASSERT_TRUE(kernel.ok());
    EXPECT_EQ(Occurrences(kernel->ptx, "bar."), 0);
    EXPECT_EQ(Occurrences(kernel->ptx, ".shared."), 0);
  }
}

}  // namespace
}  // namespace tarsia::harness
