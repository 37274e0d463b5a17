// Reports of kernels to the host: which block, in which order, and when there is no room left.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/harness/emulator_witness.h"
#include "tests/harness/program.h"

namespace tarsia::harness {
namespace {

Outcome Emulate(const std::string& text, std::vector<Argument> arguments = {}) {
  const SourceFile source("test.tsa", text);
  const Made made = MakeProgram(source, "", {});
  EXPECT_TRUE(made.program) << made.error;
  if (!made.program) return {};
  return EmulatorWitness(compiler::Target::kSm80).Run(*made.program, source, arguments);
}

TEST(Reports, TheLowestFailingBlockIsNamed) {
  const Outcome outcome = Emulate(R"(kernel k()
  grid (2, 3)
  warps 1
{
  %x = block.x
  %y = block.y
  assert %x + %y * 2 < 9, "never"
  assert %x + %y * 2 < 3, "too far"
}
)");
  EXPECT_EQ(outcome.fault, "");
  EXPECT_EQ(outcome.error,
            "test.tsa:8:3: error: assertion failed in block (1, 1, 0): too far [assert-failed]\n"
            "    assert %x + %y * 2 < 3, \"too far\"\n"
            "    ^~~~~~\n");
}

TEST(Reports, PrintsOfBlocksCarryTheirIndex) {
  const Outcome outcome = Emulate(R"(kernel k()
  grid (2, 2)
  warps 1
{
  %x = block.x
  %t = iota : i8 [2, 3]
  if %x == 1 {
    print "tile", %t
  }
  print "x", %x
}
)");
  EXPECT_EQ(outcome.error + outcome.fault, "");
  const std::vector<std::string> expected = {
      "(0, 0, 0) x = 0",
      "(1, 0, 0) tile[0, :] = 0 0 0",
      "(1, 0, 0) tile[1, :] = 1 1 1",
      "(1, 0, 0) x = 1",
      "(0, 1, 0) x = 0",
      "(1, 1, 0) tile[0, :] = 0 0 0",
      "(1, 1, 0) tile[1, :] = 1 1 1",
      "(1, 1, 0) x = 1",
  };
  EXPECT_EQ(outcome.lines, expected);
}

// The buffer has 2^20 bytes for entries, and each takes 16 and 8 * 4096: 31 of 40 fit. After them
// there is room for the short one, but the report only says how much is missing: 9 long, one short.
TEST(Reports, WhatDoesNotFitIsLeftOut) {
  const Outcome outcome = Emulate(R"(kernel k()
  warps 4
{
  %t = iota : u64 [4096]
  for %i = 0 to 40 {
    print "t", %t
  }
  print "short", 1
}
)");
  EXPECT_EQ(outcome.error + outcome.fault, "");
  ASSERT_EQ(outcome.lines.size(), 32u);
  EXPECT_EQ(outcome.lines.back(), "[print: 295080 bytes more did not fit into the report buffer]");
}

TEST(Reports, AnExtentThatIsNoneIsTold) {
  uint8_t bytes[64] = {};
  const Outcome outcome = Emulate(R"(kernel k(%p: ptr<i32>, %n: i32)
  grid (3)
  warps 1
{
  %x = block.x
  %g = view %p : global<i32>[4, 4]
  %s = slice %g[0, 0] : [4, %n - %x * 4]
}
)",
                                  {launch::Buffer{bytes, 64, false}, launch::ScalarValue{kI32, 3}});
  EXPECT_EQ(outcome.fault, "");
  EXPECT_EQ(outcome.error,
            "test.tsa:7:8: error: extent 1 of the view is -1, outside of 0 to 2^40 [view-extent]\n"
            "    %s = slice %g[0, 0] : [4, %n - %x * 4]\n"
            "         ^~~~~\n");
}

}  // namespace
}  // namespace tarsia::harness
