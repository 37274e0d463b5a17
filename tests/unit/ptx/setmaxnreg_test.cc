// setmaxnreg: what a block's pool has room for, and warps that go alone.
#include <gtest/gtest.h>

#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::setmaxnreg_test {
namespace {

// A block of `warps` warps of `registers` registers a thread (0: not said).
std::string FindingsOf(const std::string& body, uint32_t warps, int registers) {
  const std::string bound = registers == 0 ? "" : fmt::format(".maxnreg {} ", registers);
  Machine machine(std::string(kHeader) + ".visible .entry k() " + bound + R"({
.reg .pred p; .reg .b32 t, w, g;
mov.u32 t, %tid.x; shr.u32 w, t, 5; shr.u32 g, t, 7; setp.eq.u32 p, g, 0;
)" + body + "\nret;\n}\n");
  return Text(machine.Run("k", {1}, {warps * 32}, {}));
}

// The first warpgroup takes what the second gives.
std::string TakeAndGive(int take, int give) {
  return fmt::format(
      "@!p bra other;\nsetmaxnreg.inc.sync.aligned.u32 {};\nbra end;\n"
      "other: setmaxnreg.dec.sync.aligned.u32 {};\nend:",
      take, give);
}

TEST(Setmaxnreg, TakesWhatOthersGive) {
  EXPECT_EQ(FindingsOf(TakeAndGive(232, 24), 8, 128), "");
  EXPECT_EQ(FindingsOf(TakeAndGive(216, 40), 8, 128), "");
  // Where the number at the start is unknown there is nothing to check.
  EXPECT_EQ(FindingsOf(TakeAndGive(256, 240), 8, 0), "");
  Covers(Op::kSetmaxnreg);
}

TEST(Setmaxnreg, WaitsForEver) {
  const std::string findings = FindingsOf(TakeAndGive(240, 24), 8, 128);
  EXPECT_NE(findings.find("deadlock: no thread can go on; warp 3: line 8: registers"),
            std::string::npos)
      << findings;
}

TEST(Setmaxnreg, InTheWrongDirection) {
  const std::string findings = FindingsOf(TakeAndGive(120, 136), 8, 128);
  EXPECT_NE(findings.find("limit: it would increase a thread's 128 registers to 120"),
            std::string::npos)
      << findings;
  EXPECT_NE(findings.find("limit: it would decrease a thread's 128 registers to 136"),
            std::string::npos)
      << findings;
}

TEST(Setmaxnreg, ByPartOfAWarpgroup) {
  const std::string alone = "setp.ne.u32 p, w, 1;\n@p setmaxnreg.dec.sync.aligned.u32 64;";
  EXPECT_NE(FindingsOf(alone, 4, 128)
                .find("divergence: all four warps of a warpgroup must execute "
                      "it, and warp 1 ends without it"),
            std::string::npos);
  EXPECT_NE(
      FindingsOf("setmaxnreg.dec.sync.aligned.u32 64;", 3, 128)
          .find("divergence: all four warps of a warpgroup must execute it, and the block has "
                "3 of this one"),
      std::string::npos);
}

TEST(Setmaxnreg, Numbers) {
  const auto error = [](const std::string& number) {
    return ErrorsOf(std::string(kHeader) +
                    ".visible .entry k() {\nsetmaxnreg.inc.sync.aligned.u32 " + number +
                    ";\nret;\n}\n");
  };
  EXPECT_EQ(error("24"), "");
  EXPECT_EQ(error("256"), "");
  for (const char* const number : {"20", "36", "16", "264", "%tid.x"}) {
    EXPECT_NE(error(number).find("no-such-form"), std::string::npos) << number;
  }
}

}  // namespace
}  // namespace tarsia::ptx::setmaxnreg_test
