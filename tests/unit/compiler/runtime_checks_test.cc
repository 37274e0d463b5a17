// Which extents a kernel checks itself: those that no launch has checked.
#include <gtest/gtest.h>

#include <string>

#include "compiler/runtime_checks.h"
#include "tests/unit/compiler/programs.h"

namespace tarsia::compiler::runtime_checks_test {
namespace {

// A kernel that makes one view, of these extents.
Program WithView(const std::string& before, const std::string& extents) {
  return MakeProgram("kernel k(%p: ptr<u8>, %n: i32, %m: i32)\n  warps 1\n{\n" + before +
                     "  %g = view %p : global<u8>[" + extents + "]\n" +
                     "  %t = fill 1 : u8 [2, 2]\n  store %g[0, 0], %t\n}\n");
}

// Whether the code of `compiled` checks an extent of its view, where launches check `launched`.
bool Checks(const Program& launched, const Program& compiled, size_t d) {
  const RuntimeChecks checks(launched, compiled);
  for (const ResolvedInst& inst : compiled.instructions()) {
    if (inst.row->MakesView()) {
      EXPECT_EQ(checks.NeedsReport(),
                checks.Checks(inst.results[0], 0) || checks.Checks(inst.results[0], 1));
      return checks.Checks(inst.results[0], d);
    }
  }
  ADD_FAILURE() << "no view";
  return false;
}

TEST(RuntimeChecks, NotWhatEveryLaunchChecks) {
  const Program program = WithView("", "4, ceildiv(%n, 3) + min(%m, 2)");
  EXPECT_FALSE(Checks(program, program, 0));
  EXPECT_FALSE(Checks(program, program, 1));
}

TEST(RuntimeChecks, WhatFollowsFromOtherValues) {
  const Program program = WithView("  %x = mov %n\n", "%x, %n");
  EXPECT_TRUE(Checks(program, program, 0));
  EXPECT_FALSE(Checks(program, program, 1));
}

// Passes may make an extent follow from parameters, but no launch has checked it.
TEST(RuntimeChecks, WhatPassesMadeOfThem) {
  const Program launched = WithView("  %x = mov %n\n", "%x, %m * 2");
  EXPECT_TRUE(Checks(launched, WithView("", "%n, %m * 2"), 0));
  EXPECT_FALSE(Checks(launched, WithView("", "%n, %m * 2"), 1));
  EXPECT_TRUE(Checks(launched, WithView("", "4, %n * 2"), 1));
  EXPECT_TRUE(Checks(launched, WithView("", "4, %m * 3"), 1));
  EXPECT_TRUE(Checks(launched, WithView("", "4, %m + 2"), 1));
  EXPECT_FALSE(Checks(launched, WithView("", "%m * 2, 4"), 0));
}

}  // namespace
}  // namespace tarsia::compiler::runtime_checks_test
