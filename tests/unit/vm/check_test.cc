// Findings of --check, and programs without findings.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/vm/run_testing.h"

namespace tarsia::vm::check_test {
namespace {

std::string InShared(const std::string& body) {
  return "kernel k(%x: ptr<i32>)\n{\n  %g = view %x : global<i32>[64]\n"
         "  %s = alloc.shared : shared<i32>[64]\n  %v = fill 1 : i32 [64]\n" +
         body + "}\n";  // the body begins on line 6
}

std::string FindingsOf(const std::string& text) {
  std::vector<int32_t> x(64, 5);
  return Findings(text, Args().Out(x));
}

TEST(Check, AWriteThenAReadNeedsASync) {
  EXPECT_EQ(FindingsOf(InShared("  store %s[0], %v\n  %t = load %s[0] : [64]\n")), "race@7");
  EXPECT_EQ(FindingsOf(InShared("  store %s[0], %v\n  sync\n  %t = load %s[0] : [64]\n")), "");
}

TEST(Check, AReadThenAWriteNeedsASync) {
  EXPECT_EQ(FindingsOf(InShared("  store %s[0], %v\n  sync\n  %t = load %s[0] : [64]\n"
                                "  store %s[0], %v\n")),
            "race@9");
  EXPECT_EQ(FindingsOf(InShared("  store %s[0], %v\n  sync\n  %t = load %s[0] : [64]\n  sync\n"
                                "  store %s[0], %v\n")),
            "");
}

TEST(Check, TwoWritesNeedASync) {
  EXPECT_EQ(FindingsOf(InShared("  store %s[0], %v\n  store %s[0], %v\n")), "race@7");
}

// %p has the last half of the bytes of %o.
TEST(Check, TilesInThePlaceOfOthersNeedASync) {
  const auto body = [](const char* between) {
    return "  %o = alloc.shared at 0 : shared<i32>[64]\n  store %o[0], %v\n  sync\n" +
           std::string(between) + "  %p = alloc.shared at 128 : shared<i32>[64]\n";
  };
  const char* const writes = "  store %p[0], %v\n";
  EXPECT_EQ(FindingsOf(InShared(body("") + writes)), "");
  EXPECT_EQ(FindingsOf(InShared(body("  %t = load %o[32] : [32]\n") + writes)), "race@11");
  EXPECT_EQ(FindingsOf(InShared(body("  %t = load %o[32] : [32]\n  sync\n") + writes)), "");
}

TEST(Check, OtherBytesDoNotRace) {
  EXPECT_EQ(FindingsOf(InShared("  %h = fill 1 : i32 [32]\n  store %s[0], %h\n"
                                "  store %s[32], %h\n  sync\n  %t = load %s[0] : [64]\n")),
            "");
}

TEST(Check, TurnsOfALoopRaceWithEachOther) {
  EXPECT_EQ(FindingsOf(InShared("  for %i = 0 to 3 {\n    store %s[0], %v\n  }\n")), "race@7");
  EXPECT_EQ(FindingsOf(InShared("  for %i = 0 to 3 {\n    store %s[0], %v\n    sync\n"
                                "    %t = load %s[0] : [64]\n  }\n")),
            "race@7");
  EXPECT_EQ(FindingsOf(InShared("  for %i = 0 to 3 {\n    store %s[0], %v\n    sync\n"
                                "    %t = load %s[0] : [64]\n    sync\n  }\n")),
            "");
}

TEST(Check, FindingsAreCountedAndNameBothPlaces) {
  std::vector<int32_t> x(64);
  LaunchOptions options;
  options.check = true;
  const LaunchReport report = RunOk(
      InShared("  for %i = 0 to 3 {\n    store %s[0], %v\n    %t = load %s[0] : [64]\n    sync\n"
               "  }\n"),
      Args().Out(x), options);
  ASSERT_EQ(report.findings.size(), 1u);
  const launch::Finding& finding = report.findings[0];
  EXPECT_EQ(finding.count, 3u);
  EXPECT_EQ(finding.diagnostic.message,
            "`load` reads bytes of `%s` that `store` wrote without a `sync` in between");
  ASSERT_EQ(finding.diagnostic.notes.size(), 1u);
  EXPECT_EQ(finding.diagnostic.notes[0].location.line, 7u);
}

TEST(Check, UnwrittenBytesAreFound) {
  EXPECT_EQ(FindingsOf(InShared("  %t = load %s[0] : [64]\n")), "unwritten@6");
  EXPECT_EQ(FindingsOf(InShared("  %h = fill 1 : i32 [63]\n  store %s[0], %h\n  sync\n"
                                "  %t = load %s[0] : [63]\n")),
            "");
  EXPECT_EQ(FindingsOf(InShared("  %h = fill 1 : i32 [63]\n  store %s[0], %h\n  sync\n"
                                "  %t = load %s[1] : [63]\n")),
            "unwritten@9");
  // Outside of the tile nothing is read.
  EXPECT_EQ(FindingsOf(InShared("  store %s[0], %v\n  sync\n  %t = load %s[32] : [64]\n")), "");
}

// One fault, one finding.
TEST(Check, UnwrittenBytesAreFoundOnce) {
  EXPECT_EQ(FindingsOf(InShared("  %t = load %s[0] : [64]\n  %u = load %s[0] : [32]\n")),
            "unwritten@6");
}

TEST(Check, AnAllocationInALoopIsNewEachTurn) {
  EXPECT_EQ(
      FindingsOf(InShared("  for %i = 0 to 2 {\n    %l = alloc.shared : shared<i32>[64]\n"
                          "    if %i == 1 {\n      %t = load %l[0] : [64]\n      sync\n    }\n"
                          "    store %l[0], %v\n  }\n")),
      "unwritten@9");
}

TEST(Check, ElementsBelowAByteDoNotRace) {
  const std::string text = R"(
kernel k(%x: ptr<i32>)
{
  %s = alloc.shared : shared<u4>[8]
  %v = fill 3 : u4 [3]
  store %s[0], %v
  store %s[3], %v
  sync
  %t = load %s[0] : [6]
  sync
  store %s[2], %v
  store %s[4], %v
}
)";
  EXPECT_EQ(FindingsOf(text), "race@12");  // element 4 only
}

TEST(Check, AsynchronousCopiesNeedWaitAndSync) {
  const std::string start = "  copy.async %s[0], %g[0] : [64]\n  copy.commit\n";  // lines 6 and 7
  const std::string read = "  %t = load %s[0] : [64]\n";
  EXPECT_EQ(FindingsOf(InShared(start + read)), "read-before-wait@8");
  EXPECT_EQ(FindingsOf(InShared(start + "  sync\n" + read)), "read-before-wait@9");
  EXPECT_EQ(FindingsOf(InShared(start + "  copy.wait 0\n" + read)), "race@9");
  EXPECT_EQ(FindingsOf(InShared(start + "  copy.wait 0\n  sync\n" + read)), "");
  // A wait that leaves one group unfinished covers nothing here.
  EXPECT_EQ(FindingsOf(InShared(start + "  copy.wait 1\n  sync\n" + read)), "read-before-wait@10");
  // Without a commit there is no group to wait for.
  EXPECT_EQ(
      FindingsOf(InShared("  copy.async %s[0], %g[0] : [64]\n  copy.wait 0\n  sync\n" + read)),
      "read-before-wait@9");
  EXPECT_EQ(FindingsOf(InShared(start + "  store %s[0], %v\n")), "write-before-wait@8");
}

TEST(Check, BytesOfACopyComeWithItsWait) {
  std::vector<int32_t> x(128);
  for (size_t i = 0; i < 64; ++i) x[i] = static_cast<int32_t>(i) + 1;
  LaunchOptions options;
  options.check = true;
  RunOk(R"(
kernel k(%x: ptr<i32>)
{
  %g = view %x : global<i32>[64]
  %s = alloc.shared : shared<i32>[64]
  copy.async %s[0], %g[0] : [64]
  copy.commit
  sync
  %t = load %s[0] : [64]
  %right = load %g[0] : [64]
  %same = eq %t, %right
  %some = reduce.any %same axes [0]
  %none = not %some
  assert %none, "nothing has come yet"
  copy.wait 0
  sync
  %t = load %s[0] : [64]
  %same = eq %t, %right
  assert %same, "all has come"
}
)",
        Args().Out(x), options);
}

TEST(Check, BlocksMustNotShareWhatTheyWrite) {
  const auto kernel = [](const std::string& body) {
    return "kernel k(%x: ptr<i32>)\n  grid (3)\n{\n  %b = block.x\n"
           "  %g = view %x : global<i32>[64]\n  %v = fill %b : i32 [8]\n" +
           body + "}\n";  // from line 7
  };
  EXPECT_EQ(FindingsOf(kernel("  store %g[%b * 8], %v\n")), "");
  EXPECT_EQ(FindingsOf(kernel("  store %g[%b * 4], %v\n")), "race-between-blocks@7");
  EXPECT_EQ(FindingsOf(kernel("  %t = load %g[0] : [8]\n  store %g[%b * 8], %t\n")),
            "race-between-blocks@7");
  EXPECT_EQ(FindingsOf(kernel("  %t = load %g[%b * 8] : [24]\n  store %g[%b * 8], %v\n")),
            "race-between-blocks@8");
  EXPECT_EQ(FindingsOf(kernel("  %t = load %g[0] : [8]\n")), "");
  EXPECT_EQ(FindingsOf(kernel("  red.add %g[0], %v\n")), "");
  EXPECT_EQ(FindingsOf(kernel("  if %b == 0 {\n    store %g[0], %v\n  } else {\n"
                              "    red.add %g[0], %v\n  }\n")),
            "race-between-blocks@10");
}

// In global memory a block may replace what it has read, and a loop what it wrote in the previous
// iteration; it must not read or write its writes elsewhere before a sync.
TEST(Check, ABlockMayReplaceWhatItRead) {
  const auto kernel = [](const std::string& body) {
    return "kernel k(%x: ptr<i32>)\n{\n  %g = view %x : global<i32>[64]\n"
           "  %t = load %g[0] : [8]\n  %t = add %t, 1\n  store %g[0], %t\n" +
           body + "}\n";  // from line 7
  };
  EXPECT_EQ(FindingsOf(kernel("")), "");
  EXPECT_EQ(FindingsOf(kernel("  %t = load %g[0] : [8]\n")), "race@7");
  EXPECT_EQ(FindingsOf(kernel("  store %g[0], %t\n")), "race@7");
  EXPECT_EQ(FindingsOf(kernel("  sync\n  for %i = 0 to 3 {\n    store %g[0], %t\n  }\n")), "");
  EXPECT_EQ(FindingsOf(kernel("  sync\n  %t = load %g[0] : [8]\n  store %g[0], %t\n")), "");
}

TEST(Check, ScratchMustBeWrittenOrLeftZero) {
  const auto kernel = [](const std::string& body) {
    return "kernel k(%x: ptr<i32>)\n{\n" + body + "}\n";
  };
  EXPECT_EQ(FindingsOf(kernel("  %s = alloc.global : global<i32>[4]\n  %t = load %s[0] : [4]\n")),
            "unwritten@4");
  EXPECT_EQ(FindingsOf(kernel("  %s = alloc.global zeroed : global<i32>[4]\n"
                              "  %t = load %s[0] : [4]\n")),
            "");
  EXPECT_EQ(FindingsOf(kernel("  %s = alloc.global zeroed : global<i32>[4]\n"
                              "  %v = fill 9 : i32 [1]\n  store %s[2], %v\n")),
            "not-left-zero@3");
}

TEST(Check, ReplicasThatDifferAreFound) {
  // Two threads hold each element of the target, and each has its own byte.
  const std::string text = R"(
kernel k(%x: ptr<i32>)
  warps 1
{
  %i = iota : u8 [32] spatial(32)
  %r = view %i : reg<u8>[16] spatial(16) * replicate(2)
  %s = alloc.shared : shared<u8>[16]
  store %s[0], %r
  %same = mul %i, 0 : [32] spatial(32)
  %z = view %same : reg<u8>[16] spatial(16) * replicate(2)
  sync
  store %s[0], %z
}
)";
  EXPECT_EQ(FindingsOf(text), "replicas-differ@8");
}

TEST(Check, PlainRunsFindNothing) {
  std::vector<int32_t> x(64);
  EXPECT_TRUE(RunOk(InShared("  %t = load %s[0] : [64]\n"), Args().Out(x)).findings.empty());
}

}  // namespace
}  // namespace tarsia::vm::check_test
