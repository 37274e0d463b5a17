// Races by PTX's memory model: for each way of ordering two accesses a program that uses it, in
// which nothing is found, and one that lacks it.
#include <set>
#include <tuple>
#include <utility>

#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::race_test {
namespace {

// r0 the thread, r1 the block, rd0 an array of 64 words in global memory, rd1 the thread's word of
// it, s 4096 bytes of shared memory, r2 its address and r3 that of the thread's word.
std::string Program(const std::string& body) {
  return std::string(kHeader) + R"(
.shared .align 16 .b8 s[4096];
.visible .entry k(.param .u64 p) {
.reg .pred p<8>; .reg .b16 h<8>; .reg .b32 r<32>; .reg .b64 rd<8>;
ld.param.u64 rd0, [p]; mov.u32 r0, %tid.x; mov.u32 r1, %ctaid.x;
mul.wide.u32 rd1, r0, 4; add.u64 rd1, rd1, rd0;
mov.u32 r2, s; shl.b32 r3, r0, 2; add.u32 r3, r3, r2;
)" + body +
         "\nret;\n}\n";
}

LaunchReport RunProgram(const std::string& body, uint32_t threads, Dim3 blocks = {1},
                        uint32_t cluster = 1) {
  Machine machine(Program(body));
  const uint64_t at = machine.Put(std::vector<uint32_t>(64, 0));
  LaunchConfig config;
  config.cluster = {cluster, 1, 1};
  return machine.Run("k", blocks, {threads}, {at}, config);
}

void ExpectClean(const std::string& body, uint32_t threads, uint32_t blocks = 1,
                 uint32_t cluster = 1) {
  EXPECT_EQ(Text(RunProgram(body, threads, {blocks}, cluster)), "") << body;
}

// One finding at least, and all of them of this kind, at one of these lines of the body (from 1): a
// race has two ends, and is reported at the one that comes later.
void ExpectRace(const std::string& body, std::set<uint32_t> lines, uint32_t threads,
                uint32_t blocks = 1, FindingKind kind = FindingKind::kRace, uint32_t cluster = 1) {
  const LaunchReport report = RunProgram(body, threads, {blocks}, cluster);
  EXPECT_FALSE(report.findings.empty()) << body;
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(finding.kind, kind) << Text(report);
    EXPECT_TRUE(lines.contains(finding.location.line - 10)) << Text(report);
  }
}

TEST(Race, SharedMemoryNeedsABarrier) {
  const std::string write = "st.shared.u32 [r3], r0;\n";
  const std::string read =
      "xor.b32 r4, r0, 33; shl.b32 r4, r4, 2; add.u32 r4, r4, r2;\n"
      "ld.shared.u32 r5, [r4]; st.global.u32 [rd1], r5;";
  // Told of once, at the later line: either warp may be the first.
  const LaunchReport report =
      RunProgram("st.shared.u32 [r3], 0;\nbar.sync 0;\n" + write + read, 64);
  ASSERT_EQ(report.findings.size(), 1U) << Text(report);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kRace);
  EXPECT_EQ(report.findings[0].location.line, 15U);
  EXPECT_EQ(report.findings[0].thread, (Dim3{0, 0, 0}));
  EXPECT_NE(
      report.findings[0].message.find("which thread 33,0,0 writes at line 13; nothing orders"),
      std::string::npos)
      << Text(report);
  ExpectClean(write + "bar.sync 0;\n" + read, 64);
  // A write after a read needs one as well.
  EXPECT_EQ(
      RunProgram(write + "bar.sync 0;\n" + read + "\nst.shared.u32 [r3], 1;", 64).findings.size(),
      1U);
  ExpectClean(write + "bar.sync 0;\n" + read + "\nbar.sync 0;\nst.shared.u32 [r3], 1;", 64);
}

TEST(Race, LanesOfAWarpNeedASyncwarp) {
  const std::string write = "st.shared.u32 [r3], r0;\n";
  const std::string read = "xor.b32 r4, r3, 4;\nld.shared.u32 r5, [r4];";
  ExpectRace(write + read, {3}, 32);
  ExpectClean(write + "bar.warp.sync -1;\n" + read, 32);
  // A shuffle brings lanes together and orders nothing.
  ExpectRace(write + "shfl.sync.idx.b32 r6, r0, 0, 31, -1;\n" + read, {4}, 32);
  // Of half a warp only its own half is in order.
  const std::string half =
      "setp.lt.u32 p0, r0, 16;\nselp.b32 r7, 0xFFFF, 0xFFFF0000, p0;\nbar.warp.sync r7;\n";
  ExpectClean(write + half + read, 32);
  ExpectRace(write + half + "xor.b32 r4, r3, 64;\nld.shared.u32 r5, [r4];", {6}, 32);
}

TEST(Race, NamedBarriersOrderWhoArrivesBeforeWhoWaits) {
  // Threads 0..31 produce, 32..63 consume.
  const auto body = [](const std::string& first, const std::string& second) {
    return "setp.ge.u32 p0, r0, 32;\n@p0 bra consume;\nst.shared.u32 [r3], r0;\n" + first +
           "\nbra end;\nconsume:\n" + second + "\nld.shared.u32 r5, [r3+-128];\nend:";
  };
  ExpectClean(body("barrier.arrive 1, 64;", "barrier.sync 1, 64;"), 64);
  ExpectRace(body("", ""), {8}, 64);
  // The other way round nothing orders the producer's write before the read.
  ExpectRace(
      "setp.ge.u32 p0, r0, 32;\n@p0 bra consume;\nbarrier.sync 1, 64;\n"
      "st.shared.u32 [r3], r0;\nbra end;\nconsume:\nbarrier.arrive 1, 64;\n"
      "ld.shared.u32 r5, [r3+-128];\nend:",
      {8}, 64);
}

// Block 0 writes data and then a flag; block 1 waits for the flag and reads.
std::string Handshake(const std::string& before, const std::string& set, const std::string& get,
                      const std::string& after) {
  return "setp.ne.u32 p0, r1, 0;\n@p0 bra reader;\nst.global.u32 [rd0], 7;\n" + before + "\n" +
         set + "\nbra end;\nreader:\n" + get + "\nsetp.eq.u32 p1, r4, 0;\n@p1 bra reader;\n" +
         after + "\nld.global.u32 r5, [rd0];\nend:";
}

TEST(Race, ReleaseAndAcquireOfSufficientScope) {
  const std::string release = "st.release.gpu.global.u32 [rd0+64], 1;";
  const std::string acquire = "ld.acquire.gpu.global.u32 r4, [rd0+64];";
  ExpectClean(Handshake("", release, acquire, ""), 1, 2);
  ExpectClean(Handshake("", "st.release.sys.global.u32 [rd0+64], 1;", acquire, ""), 1, 2);
  // Relaxed alone orders nothing.
  const std::string set = "st.relaxed.gpu.global.u32 [rd0+64], 1;";
  const std::string get = "ld.relaxed.gpu.global.u32 r4, [rd0+64];";
  ExpectRace(Handshake("", set, get, ""), {12}, 1, 2);
  ExpectRace(Handshake("", release, get, ""), {12}, 1, 2);
  ExpectRace(Handshake("", set, acquire, ""), {12}, 1, 2);
  // Fences do, on both sides.
  ExpectClean(Handshake("fence.acq_rel.gpu;", set, get, "fence.acq_rel.gpu;"), 1, 2);
  ExpectClean(Handshake("membar.gl;", set, get, "membar.gl;"), 1, 2);
  ExpectClean(Handshake("fence.acq_rel.gpu;", "st.volatile.global.u32 [rd0+64], 1;",
                        "ld.volatile.global.u32 r4, [rd0+64];", "fence.acq_rel.gpu;"),
              1, 2);
  ExpectRace(Handshake("fence.acq_rel.gpu;", set, get, ""), {12}, 1, 2);
  ExpectRace(Handshake("", set, get, "fence.acq_rel.gpu;"), {12}, 1, 2);
  // Not wide enough for two blocks.
  ExpectRace(Handshake("fence.acq_rel.cta;", set, get, "fence.acq_rel.gpu;"), {12}, 1, 2);
  ExpectRace(Handshake("membar.gl;", set, get, "membar.cta;"), {12}, 1, 2);
}

TEST(Race, ScopesOfTheFlagItself) {
  // Strong, but each within its block: the flag's own accesses race, and hand nothing on.
  const LaunchReport report = RunProgram(Handshake("", "st.release.cta.global.u32 [rd0+64], 1;",
                                                   "ld.acquire.cta.global.u32 r4, [rd0+64];", ""),
                                         1, {2});
  ASSERT_EQ(report.findings.size(), 2U) << Text(report);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kRace);
  EXPECT_EQ(report.findings[0].location.line, 18U);
  EXPECT_EQ(report.findings[1].location.line, 22U);
}

// A relaxed write hands on what a fence before it released, as far as its own scope reaches.
TEST(Race, FlagsOfNarrowerScopeThanTheirFence) {
  const LaunchReport report =
      RunProgram(Handshake("fence.acq_rel.gpu;", "st.relaxed.cta.global.u32 [rd0+64], 1;",
                           "ld.relaxed.gpu.global.u32 r4, [rd0+64];", "fence.acq_rel.gpu;"),
                 1, {2});
  ASSERT_EQ(report.findings.size(), 2U) << Text(report);
  EXPECT_EQ(report.findings[0].location.line, 18U);
  EXPECT_EQ(report.findings[1].location.line, 22U);
}

TEST(Race, ScopesReachAsFarAsTheCluster) {
  // From block 0 to block `reader`, in clusters of two.
  const auto to = [](uint32_t reader) {
    return fmt::format("setp.ne.u32 p2, r1, 0; setp.ne.and.u32 p2, r1, {}, p2; @p2 exit;\n",
                       reader) +
           Handshake("fence.acq_rel.cluster;", "st.relaxed.gpu.global.u32 [rd0+64], 1;",
                     "ld.relaxed.gpu.global.u32 r4, [rd0+64];", "fence.acq_rel.cluster;");
  };
  ExpectClean(to(1), 1, 4, 2);
  ExpectRace(to(2), {13}, 1, 4, FindingKind::kRace, 2);
  // Blocks that lie beside each other in y alone.
  const LaunchReport report = RunProgram("mov.u32 r1, %ctaid.y;\n" + to(1), 1, {2, 2}, 2);
  EXPECT_FALSE(report.findings.empty());
}

// What was released is handed on by the atomics that add to it, and not by writes over it.
TEST(Race, WhatIsReleasedLastsUntilTheNextWrite) {
  ExpectClean(
      "cvt.u64.u32 rd2, r1; shl.b64 rd2, rd2, 2; add.u64 rd2, rd2, rd0;\n"
      "setp.eq.u32 p0, r1, 3;\n@p0 bra last;\nst.global.u32 [rd2], r1;\n"
      "red.release.gpu.global.add.u32 [rd0+128], 1;\nbra end;\nlast:\n"
      "ld.acquire.gpu.global.u32 r4, [rd0+128];\nsetp.ne.u32 p1, r4, 3;\n@p1 bra last;\n"
      "ld.global.u32 r5, [rd0];\nld.global.u32 r5, [rd0+4];\nld.global.u32 r5, [rd0+8];\nend:",
      1, 4);
  for (const std::string over : {"release", "relaxed"}) {
    ExpectRace(
        "setp.eq.u32 p0, r1, 1;\n@p0 bra second;\nsetp.eq.u32 p0, r1, 2;\n@p0 bra third;\n"
        "st.global.u32 [rd0], 7;\nst.release.gpu.global.u32 [rd0+64], 1;\nbra end;\nsecond:\n"
        "ld.relaxed.gpu.global.u32 r4, [rd0+64];\nsetp.ne.u32 p1, r4, 1; @p1 bra second;\nst." +
            over +
            ".gpu.global.u32 [rd0+64], 2;\nbra end;\nthird:\n"
            "ld.acquire.gpu.global.u32 r4, [rd0+64];\nsetp.ne.u32 p1, r4, 2; @p1 bra third;\n"
            "ld.global.u32 r5, [rd0];\nend:",
        {16}, 1, 3);
  }
}

// The reader sees two releases of the other block before its fence: it is ordered after both.
TEST(Race, FencesAcquireAllThatWasSeen) {
  ExpectClean(
      "setp.ne.u32 p0, r1, 0;\n@p0 bra reader;\nst.release.gpu.global.u32 [rd0+64], 1;\n"
      "answer:\nld.relaxed.gpu.global.u32 r4, [rd0+96];\nsetp.eq.u32 p1, r4, 0; @p1 bra answer;\n"
      "st.global.u32 [rd0], 7;\nst.release.gpu.global.u32 [rd0+64], 2;\nbra end;\nreader:\n"
      "ld.relaxed.gpu.global.u32 r4, [rd0+64];\nsetp.ne.u32 p1, r4, 1; @p1 bra reader;\n"
      "st.relaxed.gpu.global.u32 [rd0+96], 1;\nsecond:\n"
      "ld.relaxed.gpu.global.u32 r4, [rd0+64];\nsetp.ne.u32 p1, r4, 2; @p1 bra second;\n"
      "fence.acq_rel.gpu;\nld.global.u32 r5, [rd0];\nend:",
      1, 2);
}

// A strong write leaves the record of another block's, which it is not ordered after.
TEST(Race, StrongWritesAreAllRemembered) {
  ExpectRace(
      "setp.eq.u32 p0, r1, 1;\n@p0 bra second;\nsetp.eq.u32 p0, r1, 2;\n@p0 bra third;\n"
      "st.relaxed.gpu.global.u32 [rd0], 1;\nbra end;\nsecond:\n"
      "ld.relaxed.gpu.global.u32 r4, [rd0];\nsetp.ne.u32 p1, r4, 1; @p1 bra second;\n"
      "st.relaxed.gpu.global.u32 [rd0], 2;\nst.release.gpu.global.u32 [rd0+64], 1;\nbra end;\n"
      "third:\nld.acquire.gpu.global.u32 r4, [rd0+64];\nsetp.ne.u32 p1, r4, 1; @p1 bra third;\n"
      "ld.global.u32 r5, [rd0];\nend:",
      {16}, 1, 3);
}

TEST(Race, RelaxedArrivalsAtTheClustersBarrier) {
  const auto body = [](const std::string& fence, const std::string& sem) {
    return "setp.eq.u32 p0, r1, 0;\n@p0 st.global.u32 [rd0], 7;\n" + fence +
           "\nbarrier.cluster.arrive" + sem +
           ";\nbarrier.cluster.wait;\n@!p0 ld.global.u32 r4, [rd0];";
  };
  ExpectClean(body("", ""), 1, 2, 2);
  ExpectClean(body("", ".release"), 1, 2, 2);
  ExpectClean(body("fence.acq_rel.cluster;", ".relaxed"), 1, 2, 2);
  ExpectRace(body("", ".relaxed"), {6}, 1, 2, FindingKind::kRace, 2);
}

TEST(Race, AtomicsAreHarmlessAmongThemselvesAndOrderNothing) {
  ExpectClean("red.global.add.u32 [rd0], 1;", 64, 3);
  ExpectClean("atom.shared.add.u32 r4, [s], 1;\nld.volatile.shared.u32 r5, [s];", 64);
  ExpectRace("red.cta.global.add.u32 [rd0], 1;", {1}, 64, 3);
  ExpectRace("red.global.add.u32 [rd0], 1;\nld.global.u32 r4, [rd0];", {1, 2}, 64);
  ExpectRace("ld.global.u32 r4, [rd0];\nadd.u32 r4, r4, 1;\nst.global.u32 [rd0], r4;", {1, 3}, 64);
  // The last block is the one that finds all others counted: only with fences may it read.
  const auto last = [](const std::string& sem) {
    return "cvt.u64.u32 rd2, r1; shl.b64 rd2, rd2, 2; add.u64 rd2, rd2, rd0;\n"
           "st.global.u32 [rd2], r1;\natom." +
           sem +
           ".gpu.global.add.u32 r4, [rd0+128], 1;\n"
           "setp.ne.u32 p0, r4, 3;\n@p0 bra end;\nld.global.u32 r5, [rd0];\n"
           "ld.global.u32 r5, [rd0+4];\nld.global.u32 r5, [rd0+8];\nend:";
  };
  ExpectClean(last("acq_rel"), 1, 4);
  const LaunchReport report = RunProgram(last("relaxed"), 1, {4});
  EXPECT_EQ(report.findings.size(), 3U) << Text(report);
}

// The last block to add one is ordered after the atomics of all others, and of nothing else of
// theirs.
TEST(Race, AnAtomicIsBehindThoseThatItSaw) {
  const std::string last =
      "atom.global.add.u32 r4, [rd0], 1;\nsetp.ne.u32 p1, r4, 4; @p1 bra end;\n"
      "st.global.u32 [rd0], 0;\n";
  ExpectClean(last + "end:", 1, 5);
  ExpectRace("st.global.u32 [rd0+4], r1;\n" + last + "ld.global.u32 r5, [rd0+4];\nend:", {1, 5}, 1,
             5);
  ExpectRace("atom.cta.global.add.u32 r4, [rd0], 1;", {1}, 1, 5);
  // Block 1 saw the weak store of block 0, which orders nothing: block 2 races with it, too.
  const LaunchReport report = RunProgram(
      "setp.ne.u32 p0, r1, 0; setp.ne.u32 p1, r1, 2;\n@!p0 st.global.u32 [rd0], 0;\n"
      "@p0 atom.global.add.u32 r4, [rd0], 1;\n@!p1 st.global.u32 [rd0], 0;",
      1, {3});
  EXPECT_EQ(report.findings.size(), 2U) << Text(report);
}

// A thread's own atomic, or any strong access, does not hide what it did before.
TEST(Race, StrongAccessesHideNoWeakOnes) {
  const std::string first = "setp.ne.u32 p0, r0, 0; setp.ne.or.u32 p0, r1, 0, p0;\n";
  const std::string add = "\natom.shared.add.u32 r4, [s], 1;";
  ExpectRace(first + "@!p0 st.shared.u32 [s], 0;" + add, {3}, 64);
  ExpectRace(first + "@!p0 st.shared.u32 [s], 0;" + add, {3}, 2);
  ExpectRace(first + "@!p0 ld.shared.u32 r4, [s];" + add, {3}, 64);
  ExpectClean(first + "@!p0 st.shared.u32 [s], 0;\nbar.sync 0;" + add, 64);
  const std::string count = "\natom.global.add.u32 r4, [rd0], 1;";
  ExpectRace(first + "@!p0 st.global.u32 [rd0], 0;" + count, {3}, 1, 2);
  ExpectRace(first + "@!p0 ld.global.u32 r5, [rd0];" + count, {3}, 1, 2);
  ExpectRace(first + "@!p0 atom.cta.global.add.u32 r4, [rd0], 1;" + count, {3}, 1, 2);
  ExpectRace(first +
                 "@!p0 st.global.u32 [rd0], 0;\nld.relaxed.gpu.global.u32 r4, [rd0];\n"
                 "st.relaxed.gpu.global.u32 [rd0], r4;",
             {3, 4}, 1, 2);
  ExpectClean(first + "@!p0 st.relaxed.gpu.global.u32 [rd0], 0;" + count, 1, 2);
  // What an atomic left there is no excuse for a store of the same value.
  ExpectRace(first + "@p0 atom.global.exch.b32 r4, [rd0], 0;\n@!p0 st.global.u32 [rd0], 0;", {3}, 1,
             2);
  ExpectRace(first + "@!p0 atom.global.exch.b32 r4, [rd0], 0;\n@p0 st.global.u32 [rd0], 0;", {3}, 1,
             2);
}

// What is found, in whatever order the blocks come and on however many host threads.
TEST(Race, FindingsDoNotDependOnTheOrderOfBlocks) {
  using Found = std::tuple<uint32_t, AccessOrder, uint32_t>;  // the lines of both accesses
  const auto find = [](const std::string& body, uint64_t seed, int host_threads) {
    Machine machine(Program(body));
    const uint64_t at = machine.Put(std::vector<uint32_t>(64, 0));
    LaunchConfig config;
    config.seed = seed;
    config.host_threads = host_threads;
    const LaunchReport report = machine.Run("k", {12}, {32}, {at}, config);
    EXPECT_TRUE(report.finished) << body;
    std::set<Found> all;
    for (const Finding& finding : report.findings) {
      EXPECT_EQ(finding.kind, FindingKind::kRace) << Text(report);
      EXPECT_EQ(finding.severity, Severity::kCertain) << Text(report);
      const uint32_t other = finding.other ? finding.other->location.line - 10 : 0;
      all.emplace(finding.location.line - 10, finding.order, other);
    }
    return all;
  };
  constexpr AccessOrder kRaw = AccessOrder::kReadAfterWrite;
  constexpr AccessOrder kWar = AccessOrder::kWriteAfterRead;
  constexpr AccessOrder kWaw = AccessOrder::kWriteAfterWrite;
  const std::string parity = "and.b32 r4, r1, 1; setp.eq.u32 p0, r4, 0; setp.eq.u32 p1, r1, 5;\n";
  const std::pair<std::string, std::set<Found>> programs[] = {
      // A store that the same thread's atomic follows.
      {parity + "@p1 st.global.u32 [rd1], 0;\natom.global.add.u32 r5, [rd1], 1;", {{3, kWaw, 2}}},
      // One block writes what all others read, at two lines of three.
      {parity + "@p0 ld.global.u32 r5, [rd1];\n@p1 st.global.u32 [rd1], r1;\nbar.sync 0;\n"
                "@p0 ld.global.u32 r5, [rd1];\n@p1 ld.global.u32 r5, [rd1];",
       {{3, kWar, 2}, {5, kRaw, 3}}},
      // Stores of two values, at a line for each.
      {parity + "@p0 st.global.u32 [rd1], 1;\n@!p0 st.global.u32 [rd1], 2;", {{3, kWaw, 2}}},
      // Stores of one value, after which each block stores another.
      {parity + "st.global.u32 [rd1], 1;\nst.global.u32 [rd1], 2;", {{3, kWaw, 2}}},
      // Atomics of which one is too narrow, and a plain read that a later one of its thread hides.
      {parity + "@p1 ld.global.u32 r5, [rd1];\n@!p1 ld.relaxed.gpu.global.u32 r5, [rd1];\n"
                "@p1 red.cta.global.add.u32 [rd1], 1;\n@!p1 red.global.add.u32 [rd1], 1;",
       {{4, kWar, 3}, {5, kWar, 2}}},
      // The last of all to count, with one instruction or another, sets the counter back.
      {parity + "@p0 atom.global.add.u32 r4, [rd0], 1;\n@!p0 atom.global.add.u32 r4, [rd0], 1;\n"
                "setp.eq.u32 p1, r4, 383; @p1 st.global.u32 [rd0], 0;",
       {}},
      // All update in place what their neighbours read.
      {"xor.b32 r4, r0, 1; mul.wide.u32 rd2, r4, 4; add.u64 rd2, rd2, rd0;\n"
       "ld.global.u32 r5, [rd2];\nadd.u32 r5, r5, r1;\nbar.sync 0;\nst.global.u32 [rd1], r5;",
       {{5, kWar, 2}}},
      // Two instructions read what a third writes.
      {parity + "@p0 ld.global.u32 r5, [rd1];\n@!p0 ld.global.u32 r5, [rd1];\n"
                "@p1 st.global.u32 [rd1], 0;",
       {{4, kWar, 2}}},
      // An atomic does not see a plain store before it.
      {parity + "@p1 st.global.u32 [rd1], 1;\natom.global.add.u32 r5, [rd1], 1;\n"
                "ld.global.u32 r5, [rd1];",
       {{3, kWaw, 2}, {4, kRaw, 2}}},
      // Stores of one value, beside others of two.
      {"st.global.u16 [rd0], 1;\nst.global.u16 [rd0+2], 2;\nst.global.u16 [rd0+2], 3;\n"
       "st.global.u16 [rd0], 1;",
       {{3, kWaw, 2}}},
      // Everybody sets a flag, or two that lie in one word, again and again.
      {"st.global.u32 [rd0], 1;", {}},
      {"st.global.u16 [rd0], 1;\nst.global.u16 [rd0+2], 2;\nst.global.u16 [rd0], 1;\n"
       "st.global.u16 [rd0+2], 2;",
       {}},
      // Read through the cache that knows of no writes.
      {parity + "@p1 ld.global.nc.u32 r5, [rd1];\n@!p1 st.global.u32 [rd1], 0;", {{3, kWar, 2}}},
  };
  for (const auto& [body, expected] : programs) {
    for (const int host_threads : {1, 2, 8}) {
      for (uint64_t seed = 0; seed < 8; ++seed) {
        EXPECT_EQ(find(body, seed, host_threads), expected)
            << body << "\nseed " << seed << ", " << host_threads << " host threads";
      }
    }
  }
}

// Of equal findings the one of the least block and thread is reported.
TEST(Race, NamesTheLeastBlockAndThread) {
  const std::string body = "setp.gt.u32 p0, r1, 3;\nmov.u64 rd3, 64; @p0 ld.global.u32 r4, [rd3];";
  for (const uint64_t seed : {0, 1, 2, 3, 4}) {
    Machine machine(Program(body));
    LaunchConfig config;
    config.seed = seed;
    const LaunchReport report =
        machine.Run("k", {40}, {32}, {machine.Put(std::vector<uint32_t>(64, 0))}, config);
    ASSERT_EQ(report.findings.size(), 1U) << Text(report);
    EXPECT_EQ(report.findings[0].block, (Dim3{4, 0, 0}));
    EXPECT_EQ(report.findings[0].thread, (Dim3{0, 0, 0}));
    EXPECT_EQ(report.findings[0].count, 36U * 32);
  }
}

TEST(Race, BytesBesideEachOtherAreApart) {
  ExpectClean("add.u32 r4, r2, r0;\nst.shared.u8 [r4], r0;", 64);
  ExpectClean(
      "shl.b32 r4, r0, 1; add.u32 r4, r2, r4;\nst.shared.u16 [r4], r0;\nbar.sync 0;\n"
      "ld.shared.u32 r5, [r3+-0];",
      32);
  ExpectRace("setp.ne.u32 p0, r0, 0;\n@p0 st.shared.u8 [s+2], 1;\n@!p0 st.shared.u16 [s+2], 2;",
             {3}, 2);
  // A barrier for some of a word's writers is none for the others.
  ExpectRace("add.u32 r4, r2, r0;\nst.shared.u8 [r4], r0;\nld.shared.u32 r5, [s];", {3}, 4);
  // A write between the two, beside them, hides neither reads nor writes.
  const std::string one_each =
      "setp.eq.u32 p0, r0, 0; setp.eq.u32 p1, r0, 1; setp.eq.u32 p2, r0, 2;\n";
  ExpectRace(one_each +
                 "@p0 ld.shared.u8 r4, [s];\n@p1 st.shared.u8 [s+1], 1;\n"
                 "@p2 st.shared.u8 [s], 1;",
             {4}, 3);
  ExpectRace(one_each +
                 "@p0 st.shared.u8 [s], 1;\n@p1 st.shared.u8 [s+1], 1;\n"
                 "@p2 ld.shared.u8 r4, [s];",
             {4}, 3);
}

TEST(Race, ThreadsThatWriteTheSameValue) {
  ExpectClean("st.shared.u32 [s], 1;", 64);
  ExpectRace("st.shared.u32 [s], r0;", {1}, 64);
  ExpectRace("st.shared.u32 [s], r0;", {1}, 32);
  ExpectRace("and.b32 r4, r0, 31; setp.eq.u32 p0, r4, 0;\n@p0 st.shared.u32 [s], r0;", {2}, 64);
  // Over what somebody reads the same value is a race as well.
  ExpectRace("setp.eq.u32 p0, r0, 0;\n@p0 ld.global.u32 r4, [rd0];\n@!p0 st.global.u32 [rd0], 0;",
             {3}, 2);
  ExpectClean("st.global.u32 [rd0], 5;", 32, 4);
}

TEST(Race, ReadersAreAllRemembered) {
  // Thread 40 reads what 5 readers of other warps read after it; then thread 0 writes.
  ExpectRace("setp.eq.u32 p0, r0, 0;\n@!p0 ld.shared.u32 r4, [s];\n@p0 st.shared.u32 [s], 1;",
             {2, 3}, 64);
  // Readers of both warps come to the barrier, but for one of them that reads after it.
  ExpectRace(
      "st.shared.u32 [r3], 0;\nbar.sync 0;\nld.shared.u32 r4, [s];\nbar.sync 0;\n"
      "setp.eq.u32 p0, r0, 33;\n@p0 ld.shared.u32 r4, [s];\nsetp.eq.u32 p1, r0, 0;\n"
      "@p1 st.shared.u32 [s], 1;",
      {6, 8}, 64);
  // Two lanes read, and either of them writes.
  for (const int writer : {0, 1}) {
    ExpectRace(fmt::format("setp.lt.u32 p0, r0, 2; setp.eq.u32 p1, r0, {};\n"
                           "@p0 ld.shared.u32 r4, [s];\n@p1 st.shared.u32 [s], 1;",
                           writer),
               {3}, 32);
  }
}

TEST(Race, NonCoherentLoadsOfWhatIsWritten) {
  ExpectClean("ld.global.nc.u32 r4, [rd1];\nst.shared.u32 [r3], r4;", 32);
  ExpectRace("st.global.u32 [rd1], 1;\nld.global.nc.u32 r4, [rd1];", {2}, 32);
  ExpectRace("ld.global.nc.u32 r4, [rd1];\nst.global.u32 [rd1], 1;", {2}, 32);
  ExpectRace("ld.global.nc.u32 r4, [rd1];\nld.global.u32 r5, [rd1];\nst.global.u32 [rd1], 1;", {3},
             32);
}

TEST(Race, AsynchronousCopies) {
  const std::string copy =
      "shl.b32 r4, r0, 4; add.u32 r4, r4, r2; cvt.u64.u32 rd2, r0; shl.b64 rd2, rd2, 4; "
      "add.u64 rd2, rd2, rd0;\ncp.async.ca.shared.global [r4], [rd2], 16;\n"
      "cp.async.commit_group;\n";
  const std::string read = "xor.b32 r5, r4, 16;\nld.shared.u32 r6, [r5];";
  ExpectClean(copy + "cp.async.wait_group 0;\nbar.sync 0;\n" + read, 16);
  ExpectRace(copy + read, {5}, 16, 1, FindingKind::kAsync);
  // Waited for, but not by the reader.
  ExpectRace(copy + "cp.async.wait_group 0;\n" + read, {6}, 16);
  // The barrier comes first: what it orders is not the copy's end.
  ExpectRace(copy + "bar.sync 0;\n" + read, {6}, 16, 1, FindingKind::kAsync);
  // The source is written while the copy reads it.
  ExpectRace(copy + "st.global.u32 [rd2], 1;\ncp.async.wait_group 0;", {4}, 4, 1,
             FindingKind::kAsync);
  ExpectClean(copy + "cp.async.wait_all;\nst.global.u32 [rd2], 1;", 4);
}

// A barrier of all threads does not wait for those that have ended: what they did came before it.
TEST(Race, BarriersComeAfterWhatEndedBefore) {
  const std::string leave =
      "st.shared.u32 [r3], 9;\nbar.sync 0;\n"
      "setp.ge.u32 p0, r0, 32;\n@p0 st.shared.u32 [r3], r0;\n@p0 exit;\n";
  const std::string read = "add.u32 r4, r3, 128; ld.shared.u32 r5, [r4]; st.global.u32 [rd1], r5;";
  ExpectClean(leave + "bar.sync 0;\n" + read, 64);
  ExpectClean(leave + "barrier.cluster.arrive;\nbarrier.cluster.wait;\n" + read, 64);
  ExpectRace(leave + read, {4, 6}, 64);
  // One that counts its threads is complete without them.
  ExpectRace(leave + "bar.sync 1, 32;\n" + read, {4, 7}, 64);
}

TEST(Race, NothingIsLookedForWithoutChecks) {
  Machine machine(
      Program("st.shared.u32 [s], r0;\nld.shared.u32 r4, [s+4];\nadd.u32 r4, r4, 1;\n"
              "st.global.u32 [rd1], r4;"));
  LaunchConfig config;
  config.checks = false;
  const uint64_t at = machine.Put(std::vector<uint32_t>(64, 0));
  EXPECT_EQ(Text(machine.Run("k", {1}, {32}, {at}, config)), "");
  EXPECT_EQ(machine.Get<uint32_t>(at, 1)[0], 1U);
}

}  // namespace
}  // namespace tarsia::ptx::race_test
