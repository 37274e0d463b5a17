// Arguments, grids, assumptions, buffers, and the queries of the runtime.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "launch/launch_template.h"
#include "tests/unit/vm/run_testing.h"

namespace tarsia::vm::launch_test {
namespace {

constexpr std::string_view kFill = R"(
kernel k(%y: ptr<f16>, %m: i32, %n: i64)
  assume %n % 2 == 0
  assume %y align 2
  grid (%m, 1, %n / 2)
{
  %g = view %y : global<f16>[%m, %n]
  %x = block.x
  %z = block.z
  %t = fill 1.0 : f16 [1, 2]
  store %g[%x, %z * 2], %t
}
)";

Args FillArgs(std::vector<uint16_t>& y, int32_t m, int64_t n) {
  return Args().Out(y).I32(m).Scalar(kI64, static_cast<uint64_t>(n));
}

TEST(Launch, RunsEveryBlockOnce) {
  for (const int threads : {0, 1, 3}) {
    std::vector<uint16_t> y(15 * 8, 0);
    LaunchOptions options;
    options.threads = threads;
    const LaunchReport report = RunOk(kFill, FillArgs(y, 15, 8), options);
    EXPECT_EQ(y, std::vector<uint16_t>(15 * 8, 0x3C00));
    EXPECT_EQ(report.grid, (std::array<int64_t, 3>{15, 1, 4}));
    EXPECT_EQ(report.blocks, 60u);
    EXPECT_EQ(report.instructions, 60u * 5);
  }
}

TEST(Launch, AZeroGridRunsNothing) {
  std::vector<uint16_t> y;
  EXPECT_EQ(RunOk(kFill, FillArgs(y, 0, 8)).blocks, 0u);
  EXPECT_EQ(RunOk(kFill, FillArgs(y, 5, 0)).blocks, 0u);
}

TEST(Launch, WrongArgumentsAreErrors) {
  std::vector<uint16_t> y(16);
  const auto id = [&](const Args& args) { return ErrorId(kFill, args); };
  EXPECT_EQ(id(Args().Out(y).I32(2)), "argument-count");
  EXPECT_EQ(id(Args().Out(y).Out(y).Scalar(kI64, 8)), "launch-argument-kind");
  EXPECT_EQ(id(Args().I32(1).I32(2).Scalar(kI64, 8)), "launch-argument-kind");
  EXPECT_EQ(id(Args().Out(y).I32(2).I32(8)), "argument-type");
  EXPECT_EQ(id(FillArgs(y, 2, 7)), "assumption");
  EXPECT_EQ(id(FillArgs(y, -1, 8)), "grid-extent");
  EXPECT_EQ(id(FillArgs(y, 2, int64_t{1} << 40)), "grid-extent");
}

// The id of the error of a launch whose buffer begins so many bytes after a multiple of 64.
std::string AlignmentErrorAt(const std::string& assumes, size_t offset) {
  alignas(64) uint8_t bytes[128];
  const auto program =
      Compile("kernel k(%y: ptr<f16>)\n" + assumes + "{\n  %g = view %y : global<f16>[4]\n}\n");
  if (!program) return "no program";
  const std::vector<launch::Argument> args = {launch::Buffer{bytes + offset, 16, true}};
  const auto report = Launch(*program, args);
  return report.ok() ? "" : report.error().info->id;
}

TEST(Launch, PointersAreAlignedTo16BytesUnlessTheKernelSaysOtherwise) {
  EXPECT_EQ(AlignmentErrorAt("", 48), "");
  for (const size_t offset : {1, 2, 4, 8, 24}) {
    EXPECT_EQ(AlignmentErrorAt("", offset), "pointer-alignment") << offset;
  }
  EXPECT_EQ(AlignmentErrorAt("assume %y align 2\n", 2), "");
  EXPECT_EQ(AlignmentErrorAt("assume %y align 2\n", 1), "pointer-alignment");
  EXPECT_EQ(AlignmentErrorAt("assume %y align 1\n", 1), "");
  EXPECT_EQ(AlignmentErrorAt("assume %y align 64\n", 48), "pointer-alignment");
  EXPECT_EQ(AlignmentErrorAt("assume %y align 64\nassume %y align 2\n", 48), "pointer-alignment");
  EXPECT_EQ(AlignmentErrorAt("assume %y align 64\n", 64), "");
}

TEST(Launch, ABufferTooSmallNamesBothSizes) {
  std::vector<uint16_t> y(15);
  const auto report = RunText(kFill, FillArgs(y, 2, 8));
  ASSERT_FALSE(report.ok());
  EXPECT_STREQ(report.error().info->id, "buffer-too-small");
  EXPECT_EQ(report.error().message,
            "the buffer for `%y` has 30 bytes, but its view global<f16>[2, 8] needs 32");
}

// A view whose shape is computed, or that is in a block, is checked when it is made.
TEST(Launch, ViewsAreCheckedWhereTheyAreMade) {
  constexpr std::string_view kText = R"(
kernel k(%y: ptr<f16>, %m: i32)
{
  %twice = mov %m * 2
  if %m > 3 {
    %g = view %y : global<f16>[%twice]
  }
  if %m < 0 {
    %g = view %y : global<f16>[%twice]
  }
}
)";
  std::vector<uint16_t> y(10);
  EXPECT_EQ(ErrorId(kText, Args().Out(y).I32(5)), "");
  EXPECT_EQ(ErrorId(kText, Args().Out(y).I32(6)), "buffer-too-small");
  EXPECT_EQ(ErrorId(kText, Args().Out(y).I32(3)), "");
  EXPECT_EQ(ErrorId(kText, Args().Out(y).I32(-1)), "view-extent");
}

TEST(Launch, ReadOnlyBuffersAreNotWritten) {
  constexpr std::string_view kText = R"(
kernel k(%y: ptr<i32>)
{
  %g = view %y : global<i32>[4]
  %t = load %g[0] : [4]
  store %g[0], %t
}
)";
  std::vector<int32_t> y(4);
  EXPECT_EQ(ErrorId(kText, Args().In(y)), "read-only-buffer");
  EXPECT_EQ(ErrorId(kText, Args().Out(y)), "");
}

TEST(Launch, NoByteBeyondTheViewIsTouched) {
  // 5 x 3 codes of 3 bits are 45 bits: 6 bytes, of which the last 3 bits are unused.
  std::vector<uint8_t> y(8, 0xFF);
  RunOk(R"(
kernel k(%y: ptr<u8>)
{
  %g = view %y : global<u3>[5, 3]
  %z = fill 0 : u3 [8, 8]
  store %g[0, 0], %z
}
)",
        Args().Out(y));
  EXPECT_EQ(y, (std::vector<uint8_t>{0, 0, 0, 0, 0, 0xE0, 0xFF, 0xFF}));
}

TEST(Launch, PointerUsesSayWhatIsNeeded) {
  const auto program = Compile(R"(
kernel k(%x: ptr<f16>, %w: ptr<u8>, %y: ptr<f32>, %m: i32)
{
  %gx = view %x : global<f16>[%m, 6]
  %gw = view %w : global<u3>[6, 7]
  %gc = view %w : global<u8>[%m, 2] column_major
  %k = mov %m + 1
  %later = view %x : global<f16>[%k]
  if %m > 0 {
    %gy = view %y : global<f32>[%m * 2]
    %part = slice %gy[0] : [1]
    %v = fill 1.0 : f32 [1]
    store %part[0], %v
  }
}
)");
  ASSERT_TRUE(program);
  const auto uses = launch::PointerUses(*program, {0, 0, 0, 5});
  ASSERT_TRUE(uses.ok());
  ASSERT_EQ(uses->size(), 4u);
  EXPECT_EQ((*uses)[0].text, "global<f16>[5, 6]");
  EXPECT_EQ((*uses)[0].bytes, 60u);
  EXPECT_TRUE((*uses)[0].row_major && (*uses)[0].unconditional && !(*uses)[0].written);
  EXPECT_EQ((*uses)[1].parameter, 1u);
  EXPECT_EQ((*uses)[1].bytes, 16u);  // 126 bits
  EXPECT_FALSE((*uses)[2].row_major);
  EXPECT_EQ((*uses)[3].parameter, 2u);
  EXPECT_EQ((*uses)[3].shape, (std::vector<int64_t>{10}));
  EXPECT_TRUE(!(*uses)[3].unconditional && (*uses)[3].written);
}

TEST(Launch, TilesThatNobodyCanHoldAreRefused) {
  std::string text = "kernel k()\n{\n";
  for (int i = 0; i < 9; ++i) {
    text += "  %a" + std::to_string(i) + " = fill 0.0 : f64 [64, 1024, 1024]\n";  // 512 MiB
  }
  EXPECT_EQ(ErrorId(text + "}\n", Args()), "tiles-too-large");
}

TEST(Launch, APlanServesManyLaunchesAtOnce) {
  const auto program = Compile(kFill);
  ASSERT_TRUE(program);
  const auto plan = Prepare(*program);
  ASSERT_TRUE(plan.ok());
  for (int m = 1; m < 5; ++m) {
    std::vector<uint16_t> y(static_cast<size_t>(m) * 4);
    EXPECT_TRUE(Launch(**plan, FillArgs(y, m, 4).get()).ok());
    EXPECT_EQ(y, std::vector<uint16_t>(static_cast<size_t>(m) * 4, 0x3C00));
  }
}

}  // namespace
}  // namespace tarsia::vm::launch_test
