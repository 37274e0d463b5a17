// Since which target and version: what a module's header does not have is an error that names it.
#include "ptx/table/since.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ptx/table/table.h"
#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::since_test {
namespace {

std::string ErrorOf(const std::string& version, const std::string& target,
                    const std::string& instruction) {
  return ErrorsOf(".version " + version + "\n.target " + target +
                  "\n.address_size 64\n.visible .entry k() {\n"
                  ".reg .b16 h<8>; .reg .b32 r<16>; .reg .b64 d<4>; .reg .pred p;\n" +
                  instruction + "\nret;\n}\n");
}

void ExpectError(const std::string& errors, const std::string& text) {
  EXPECT_NE(errors.find(text), std::string::npos) << errors;
}

TEST(Since, Versions) {
  EXPECT_EQ(ParseVersion("8.4"), (PtxVersion{8, 4}));
  EXPECT_LT(*ParseVersion("8.4"), *ParseVersion("8.10"));
  EXPECT_LT(*ParseVersion("8.9"), *ParseVersion("9.0"));
  for (const char* const text : {"", "8", "8.", ".4", "8.4a", "-8.4", "8.-4", "99999.1"}) {
    EXPECT_FALSE(ParseVersion(text)) << text;
  }
}

TEST(Since, Targets) {
  const auto takes = [](const char* since, const char* target) {
    return ParseSince(std::string(since) + " 8.0").Takes(*ParseTarget(target));
  };
  EXPECT_TRUE(takes("sm_80", "sm_80"));
  EXPECT_TRUE(takes("sm_80", "sm_90a"));
  EXPECT_TRUE(takes("sm_90", "sm_120"));
  EXPECT_FALSE(takes("sm_90", "sm_89"));
  // What one architecture alone has.
  EXPECT_TRUE(takes("sm_90a", "sm_90a"));
  for (const char* const other : {"sm_90", "sm_100", "sm_100a", "sm_100f"}) {
    EXPECT_FALSE(takes("sm_90a", other)) << other;
  }
  EXPECT_TRUE(takes("sm_90a+", "sm_90a"));
  EXPECT_TRUE(takes("sm_90a+", "sm_120f"));
  EXPECT_FALSE(takes("sm_90a+", "sm_100"));
  for (const char* const text : {"sm_", "sm_90b", "sm_90aa", "compute_90", "debug"}) {
    EXPECT_FALSE(ParseTarget(text)) << text;
  }
}

// Every text of the tables is one, and names a word of its row.
TEST(Since, TablesAreWellFormed) {
  for (const Row& row : Rows()) {
    for (const auto& [word, since] : row.later_words) {
      EXPECT_NE(since.target.number, 0) << row.name << " " << word;
      EXPECT_NE(since.version.major, 0) << row.name << " " << word;
      bool known = false;
      for (const ModifierSlot& slot : row.slots) {
        known |= std::ranges::find(slot.words, word) != slot.words.end();
      }
      EXPECT_TRUE(known) << row.name << " " << word;
    }
  }
  EXPECT_EQ(RowOf(Op::kWgmmaHalf).since.target.suffix, 'a');
  EXPECT_FALSE(RowOf(Op::kWgmmaHalf).since.or_later);
}

TEST(Since, OlderModules) {
  EXPECT_EQ(ErrorOf("8.0", "sm_90a", "wgmma.fence.sync.aligned;"), "");
  for (const char* const target : {"sm_90", "sm_100", "sm_100a"}) {
    ExpectError(ErrorOf("8.6", target, "wgmma.fence.sync.aligned;"),
                std::string("error: `wgmma` needs .target sm_90a, and the module has ") + target +
                    " [too-old-target]");
  }
  ExpectError(ErrorOf("7.8", "sm_90a", "wgmma.fence.sync.aligned;"),
              "test.ptx:6:1: error: `wgmma` needs .version 8.0 or later, and the module has 7.8 "
              "[too-old-version]");
  ExpectError(ErrorOf("8.0", "sm_100", "setmaxnreg.inc.sync.aligned.u32 40;"),
              "needs .target sm_90a or a later one with a suffix, and the module has sm_100");
  EXPECT_EQ(ErrorOf("8.6", "sm_100a", "setmaxnreg.inc.sync.aligned.u32 40;"), "");
}

TEST(Since, WordsThatCameLater) {
  const char* const load = "ld.global.v8.f32 {r0, r1, r2, r3, r4, r5, r6, r7}, [d0];";
  ExpectError(ErrorOf("8.8", "sm_90", load),
              "test.ptx:6:10: error: `.v8` of `ld` needs .target sm_100 or later");
  ExpectError(ErrorOf("8.6", "sm_100", load), "`.v8` of `ld` needs .version 8.8 or later");
  EXPECT_EQ(ErrorOf("8.8", "sm_100", load), "");
  EXPECT_EQ(ErrorOf("6.3", "sm_75", "fma.rn.f16 h0, h1, h2, h3;"), "");
  ExpectError(ErrorOf("6.3", "sm_75", "fma.rn.bf16 h0, h1, h2, h3;"), "`.bf16` of `fma`");
}

TEST(Since, VersionsUpToNine) {
  EXPECT_EQ(ErrorOf("9.3", "sm_120a", "add.u32 r0, r1, r2;"), "");
  for (const char* const version : {"10.0", "0.9", "8.x"}) {
    EXPECT_NE(ErrorOf(version, "sm_80", "add.u32 r0, r1, r2;"), "") << version;
  }
}

}  // namespace
}  // namespace tarsia::ptx::since_test
