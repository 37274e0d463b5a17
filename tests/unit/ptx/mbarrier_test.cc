// mbarrier: phases, states, bytes, waits, and misuse.
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::mbarrier_test {
namespace {

constexpr char kHeader86[] = ".version 8.6\n.target sm_90a\n.address_size 64\n";

// An entry whose thread number is in r0; rd1 is the address of its word after the parameter, r1
// that of an mbarrier in shared memory, r2 that of another, r3 that of 64 words.
std::string Entry(const std::string& body) {
  return std::string(kHeader86) + R"(
.shared .align 16 .b8 bars[16];
.shared .align 16 .b8 box[256];
.visible .entry k(.param .u64 p) {
.reg .pred p<8>; .reg .b32 r<24>; .reg .b64 rd<16>;
ld.param.u64 rd0, [p]; mov.u32 r0, %tid.x; mul.wide.u32 rd1, r0, 4; add.u64 rd1, rd1, rd0;
mov.u32 r1, bars; add.u32 r2, r1, 8; mov.u32 r3, box; shl.b32 r4, r0, 2; add.u32 r4, r4, r3;
setp.eq.u32 p1, r0, 0;
)" + body +
         "\nret;\n}\n";
}

struct Outcome {
  LaunchReport report;
  std::vector<uint32_t> words;
};

Outcome RunThreads(const std::string& text, uint32_t threads, uint32_t blocks = 1,
                   uint32_t size = 1) {
  Machine machine(text);
  const uint64_t out = machine.Put(std::vector<uint32_t>(threads * blocks, 0));
  LaunchConfig config;
  config.cluster = {size, 1, 1};
  Outcome outcome;
  outcome.report = machine.Run("k", {blocks}, {threads}, {out}, config);
  outcome.words = machine.Get<uint32_t>(out, threads * blocks);
  return outcome;
}

void ExpectOne(const std::string& body, const std::string& words,
               FindingKind kind = FindingKind::kMbarrier, uint32_t threads = 1,
               uint32_t blocks = 1) {
  const LaunchReport report = RunThreads(Entry(body), threads, blocks, blocks).report;
  ASSERT_EQ(report.findings.size(), 1U) << Text(report) << body;
  EXPECT_EQ(report.findings[0].kind, kind) << Text(report);
  EXPECT_NE(report.findings[0].message.find(words), std::string::npos) << Text(report);
}

const std::string kInit1 = "mbarrier.init.shared::cta.b64 [r1], 1;\n";

// Threads hand words around a ring of phases: all write, arrive, wait, read, arrive, wait.
TEST(Mbarrier, OrdersPhases) {
  for (const std::string wait :
       {"mbarrier.test_wait.shared.b64 p2, [r1], rd3;", "mbarrier.try_wait.b64 p2, [rd2], rd3;",
        "mbarrier.try_wait.acquire.cta.shared::cta.b64 p2, [r1], rd3, 100;",
        "mbarrier.test_wait.relaxed.cluster.b64 p2, [rd2], rd3; fence.acq_rel.cta;",
        "mbarrier.test_wait.parity.shared.b64 p2, [r1], r6;",
        "mbarrier.try_wait.parity.relaxed.cta.b64 p2, [rd2], r6; fence.acq_rel.cta;",
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p2, [r1], r6, 5;"}) {
    const Outcome out = RunThreads(Entry(R"(
mov.u64 rd2, bars; cvta.shared.u64 rd2, rd2;
@p1 mbarrier.init.shared.b64 [r1], 64;
bar.sync 0;
mov.u32 r5, 0; mov.u32 r6, 0; mov.u32 r9, 0;
again:
shl.b32 r7, r5, 8; add.u32 r7, r7, r0; st.shared.u32 [r4], r7;
mbarrier.arrive.release.cta.shared::cta.b64 rd3, [r1];
one: )" + wait + R"(
@!p2 bra one;
xor.b32 r6, r6, 1;
add.u32 r7, r0, 1; and.b32 r7, r7, 63; shl.b32 r7, r7, 2; add.u32 r7, r7, r3;
ld.shared.u32 r8, [r7]; add.u32 r9, r9, r8;
mbarrier.arrive.b64 rd3, [rd2], 1;
two: )" + wait + R"(
@!p2 bra two;
xor.b32 r6, r6, 1;
add.u32 r5, r5, 1; setp.lt.u32 p3, r5, 5; @p3 bra again;
bar.sync 0;
@p1 mbarrier.inval.shared::cta.b64 [r1];
st.global.u32 [rd1], r9;
)"),
                                   64);
    EXPECT_EQ(Text(out.report), "") << wait;
    for (uint32_t i = 0; i < 64; ++i) {
      EXPECT_EQ(out.words[i], 256 * (0 + 1 + 2 + 3 + 4) + 5 * ((i + 1) % 64)) << wait;
    }
  }
  for (const Op op :
       {Op::kMbarrierInit, Op::kMbarrierInval, Op::kMbarrierWait, Op::kMbarrierWaitParity}) {
    Covers(op);
  }
}

// Counts, by one thread: what is pending before each arrival, and which phases are over.
TEST(Mbarrier, Counts) {
  const Outcome out = RunThreads(Entry(R"(
mbarrier.init.shared::cta.b64 [r1], 7;
mbarrier.arrive.shared::cta.b64 rd2, [r1], 2;
mbarrier.pending_count.b64 r5, rd2;
mbarrier.arrive_drop.release.cta.shared.b64 rd3, [r1], 1;
mbarrier.pending_count.b64 r6, rd3;
mbarrier.arrive.noComplete.release.cta.shared::cta.b64 rd4, [r1], 3;
mbarrier.pending_count.b64 r7, rd4;
mbarrier.test_wait.shared.b64 p2, [r1], rd2; selp.u32 r8, 1000, 0, p2;
mbarrier.arrive_drop.expect_tx.relaxed.cta.shared::cta.b64 rd5, [r1], 16;
mbarrier.test_wait.shared.b64 p2, [r1], rd2; selp.u32 r9, 2000, 0, p2;
mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [r1], 10;
mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [r1], 4;
mbarrier.complete_tx.shared.b64 [r1], 10;
mbarrier.test_wait.shared.b64 p2, [r1], rd2; selp.u32 r10, 4000, 0, p2;
mbarrier.arrive_drop.noComplete.shared.b64 rd6, [r1], 1;
mbarrier.pending_count.b64 r11, rd6;
mad.lo.u32 r5, r5, 10, r6; mad.lo.u32 r5, r5, 10, r7; mad.lo.u32 r5, r5, 10, r11;
mad.lo.u32 r5, r5, 10000, r8; add.u32 r5, r5, r9; add.u32 r5, r5, r10;
st.global.u32 [rd1], r5;
)"),
                                 1);
  EXPECT_EQ(Text(out.report), "");
  // 7, 5 and 4 pending; then 7 - 2 dropped = 5 in the next phase.
  EXPECT_EQ(out.words[0], 7545U * 10000 + 4000);
  for (const Op op : {Op::kMbarrierArrive, Op::kMbarrierArriveExpectTx, Op::kMbarrierBytes,
                      Op::kMbarrierArriveNoComplete, Op::kMbarrierPendingCount}) {
    Covers(op);
  }
}

// Every block arrives at the mbarriers of both, by addresses of the cluster.
TEST(Mbarrier, TakesArrivalsFromOtherBlocks) {
  const Outcome out = RunThreads(Entry(R"(
@p1 mbarrier.init.shared::cta.b64 [r1], 64;
@p1 fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.relaxed; barrier.cluster.wait;
mov.u32 r5, %cluster_ctarank; xor.b32 r6, r5, 1;
mapa.shared::cluster.u32 r7, r1, r6; mapa.shared::cluster.u32 r8, r4, r6;
add.u32 r9, r0, 100; mad.lo.u32 r9, r5, 1000, r9; st.shared::cluster.u32 [r8], r9;
and.b32 r10, r0, 1; setp.eq.u32 p3, r10, 0;
@p3 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r7];
@!p3 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [r7], 8;
@!p3 mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [r7], 8;
mapa.shared::cluster.u32 r11, r1, r5;
@p3 mbarrier.arrive.shared::cluster.b64 _, [r11];
@!p3 mbarrier.arrive_drop.relaxed.cluster.shared::cluster.b64 _, [r11], 1;
wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p2, [r1], 0;
@!p2 bra wait;
ld.shared.u32 r12, [r4];
mad.lo.u32 r13, r5, 32, r0; mul.wide.u32 rd1, r13, 4; add.u64 rd1, rd1, rd0; st.global.u32 [rd1], r12;
barrier.cluster.arrive; barrier.cluster.wait;
)"),
                                 32, 2, 2);
  EXPECT_EQ(Text(out.report), "");
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out.words[i], (1 - i / 32) * 1000 + i % 32 + 100);
  Covers(Op::kFenceMbarrierInit);
}

// cp.async copies arrive when they are there: with .noinc as one of the count, else besides.
TEST(Mbarrier, ArrivesWithCopies) {
  for (const std::string more : {"", ".noinc"}) {
    const std::string own = more.empty() ? "mbarrier.arrive.shared.b64 rd3, [r1];\n" : "";
    const Outcome out = RunThreads(Entry(R"(
st.global.u32 [rd1], r0;
@p1 mbarrier.init.shared.b64 [r1], 32;
bar.sync 0;
cp.async.ca.shared.global [r4], [rd1], 4;
cp.async.mbarrier.arrive)" + more + R"(.shared::cta.b64 [r1];
)" + own + R"(
wait: mbarrier.test_wait.parity.shared::cta.b64 p2, [r1], 0;
@!p2 bra wait;
xor.b32 r5, r0, 5; shl.b32 r5, r5, 2; add.u32 r5, r5, r3; ld.shared.u32 r6, [r5];
st.global.u32 [rd1], r6;
)"),
                                   32);
    EXPECT_EQ(Text(out.report), "") << more;
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out.words[i], i ^ 5) << more;
  }
  // Without the wait they are not there.
  ExpectOne(
      "st.global.u32 [rd1], 1; mbarrier.init.shared.b64 [r1], 1;\n"
      "cp.async.ca.shared.global [r4], [rd1], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [r1];\n"
      "ld.shared.u32 r5, [r4];",
      "has not been waited for", FindingKind::kAsync);
  Covers(Op::kCpAsyncMbarrier);
}

TEST(Mbarrier, FindsMisuse) {
  ExpectOne("mbarrier.arrive.shared.b64 rd2, [r1];", "it was not initialised");
  ExpectOne(
      kInit1 +
          "mbarrier.inval.shared::cta.b64 [r1];\nmbarrier.test_wait.parity.shared.b64 p2, [r1], 0;",
      "the inval in line 13 ended it");
  ExpectOne("mbarrier.init.shared.b64 [r1], 0;", "a count of 0 is not in 1 to 1048575");
  ExpectOne("mbarrier.init.shared.b64 [r1], 0x100000;", "a count of 1048576");
  ExpectOne(kInit1 + kInit1, "initialised again without an inval");
  ExpectOne("mbarrier.init.shared.b64 [r1+4], 1;", "is not a multiple of 8",
            FindingKind::kMisaligned);
  ExpectOne("mbarrier.init.shared.b64 [r1+272], 1;", "the block has 272 bytes",
            FindingKind::kOutOfBounds);
  ExpectOne("mbarrier.init.b64 [rd0], 1;", "not in shared memory", FindingKind::kOutOfBounds);
  ExpectOne("mbarrier.init.shared.b64 [r1], 3;\nmbarrier.arrive.shared::cta.b64 rd2, [r1], 4;",
            "4 arrivals are too many for the mbarrier at 0x400 in phase 0: 3 of 3 arrivals");
  ExpectOne(kInit1 + "mbarrier.arrive.noComplete.shared.b64 rd2, [r1], 1;", ".noComplete");
  ExpectOne(kInit1 +
                "mbarrier.expect_tx.shared.b64 [r1], 0xFFFFF;\n"
                "mbarrier.expect_tx.shared.b64 [r1], 0xFFFFF;",
            "leaves -1048575 to 1048575");
  ExpectOne(kInit1 + "mbarrier.arrive.expect_tx.shared.b64 rd2, [r1], 64;",
            "the block has ended, and the mbarrier at 0x400 in phase 0: 0 of 1 arrivals and 64 "
            "bytes missing");
  ExpectOne(kInit1 +
                "mbarrier.arrive.shared.b64 rd2, [r1]; mbarrier.arrive.shared.b64 rd3, [r1];\n"
                "mbarrier.arrive.shared.b64 rd3, [r1];\n"
                "mbarrier.test_wait.shared.b64 p2, [r1], rd2;",
            "the state is 3 phases old");
  ExpectOne(kInit1 +
                "mbarrier.init.shared.b64 [r2], 1; mbarrier.arrive.shared.b64 rd2, [r1];\n"
                "mbarrier.test_wait.shared.b64 p2, [r2], rd2;",
            "the state belongs to another mbarrier");
  ExpectOne(kInit1 + "mbarrier.try_wait.parity.shared.b64 p2, [r1], 3;", "a parity of 3");
  ExpectOne(kInit1 + "ld.shared.u32 r5, [r1+4];", "it belongs to the mbarrier at 0x400");
  ExpectOne(kInit1 + "st.shared.u32 [r1], 1;", "it belongs to the mbarrier at 0x400");
  // That the count is 0 then follows from it.
  ExpectOne("mbarrier.init.shared.b64 [r1], r5;", "the count of the mbarrier depends on bits",
            FindingKind::kUninitialised);
  // Another block may not see the init.
  ExpectOne(
      "mbarrier.init.shared.b64 [r1], 2;\n"
      "barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n"
      "mov.u32 r5, %cluster_ctarank; xor.b32 r6, r5, 1; mapa.shared::cluster.u32 r7, r1, r6;\n"
      "setp.eq.u32 p3, r5, 0;\n@p3 mbarrier.arrive.shared::cluster.b64 _, [r7];\n"
      "barrier.cluster.arrive; barrier.cluster.wait;",
      "which thread 0,0,0 of block 1,0,0 writes at line 12; nothing orders", FindingKind::kRace, 1,
      2);
}

// A loop of waits that can never end is found soon, whatever it waits with.
// Thread 0 writes a word and arrives; thread 32 waits and reads it.
TEST(Mbarrier, RelaxedArrivalsAndWaitsOrderNothing) {
  const auto findings = [](const std::string& arrive, const std::string& wait) {
    return RunThreads(Entry("@p1 mbarrier.init.shared.b64 [r1], 1; bar.sync 0;\n"
                            "setp.eq.u32 p3, r0, 32; @p1 st.shared.u32 [r3], 7;\n@p1 " +
                            arrive + ".cta.shared::cta.b64 rd3, [r1];\n@!p3 bra end;\n" +
                            "again: mbarrier.try_wait.parity." + wait +
                            ".cta.shared::cta.b64 p2, [r1], 0; @!p2 bra again;\n"
                            "ld.shared.u32 r8, [r3];\nend:"),
                      64)
        .report;
  };
  EXPECT_EQ(Text(findings("mbarrier.arrive.release", "acquire")), "");
  EXPECT_EQ(Text(findings("fence.acq_rel.cta; @p1 mbarrier.arrive.relaxed", "acquire")), "");
  for (const LaunchReport& report : {findings("mbarrier.arrive.relaxed", "acquire"),
                                     findings("mbarrier.arrive.release", "relaxed")}) {
    ASSERT_EQ(report.findings.size(), 1U) << Text(report);
    EXPECT_EQ(report.findings[0].kind, FindingKind::kRace) << Text(report);
  }
}

TEST(Mbarrier, FindsDeadlocks) {
  for (const std::string wait : {"mbarrier.try_wait.parity.shared.b64 p2, [r1], r5;",
                                 "mbarrier.test_wait.parity.shared.b64 p2, [r1], r5;"}) {
    const LaunchReport report = RunThreads(Entry(R"(
@p1 mbarrier.init.shared.b64 [r1], 2;
bar.sync 0;
@p1 mbarrier.arrive.expect_tx.release.cta.shared.b64 rd2, [r1], 96;
mov.u32 r5, 0;
setp.gt.u32 p3, r0, 31; @p3 bar.sync 1;
loop: )" + wait + R"(
@!p2 bra loop;
)"),
                                           64)
                                    .report;
    ASSERT_EQ(report.findings.size(), 1U) << Text(report);
    EXPECT_EQ(report.findings[0].kind, FindingKind::kDeadlock);
    EXPECT_EQ(report.findings[0].message,
              "no thread can go on; warp 0: line 18: the mbarrier at 0x400 in phase 0: 1 of 2 "
              "arrivals and 96 bytes missing (lanes 0xffffffff); warp 1: line 17: barrier 1 (lanes "
              "0xffffffff); barrier 1 has 32 of 64 threads");
    EXPECT_LT(report.warp_instructions, 10000U);
  }
}

// A wait with a limit of time gives up where nobody comes; lanes that wait for each other get by.
TEST(Mbarrier, GivesUp) {
  const Outcome out = RunThreads(Entry(R"(
@p1 mbarrier.init.shared.b64 [r1], 1;
bar.sync 0;
mov.u32 r5, 0;
loop: mbarrier.try_wait.parity.shared.b64 p2, [r1], 0;
add.u32 r5, r5, 1; setp.lt.u32 p3, r5, 10; @p3 bra loop;
@p1 mbarrier.arrive.shared.b64 rd2, [r1];
mov.u32 r6, 0;
spin: mbarrier.try_wait.parity.shared.b64 p2, [r1], 0;
@!p2 bra spin;
st.global.u32 [rd1], r5;
)"),
                                 64);
  EXPECT_EQ(Text(out.report), "");
  EXPECT_EQ(out.words, std::vector<uint32_t>(64, 10));
  // Lane 0 waits for an arrival of the others, which wait for it after the loop.
  const Outcome lanes = RunThreads(Entry(R"(
@p1 mbarrier.init.shared.b64 [r1], 31;
bar.sync 0;
@!p1 bra other;
spin: mbarrier.try_wait.parity.shared.b64 p2, [r1], 0;
@!p2 bra spin;
bra meet;
other: add.u32 r5, r0, 1;
meet:
@!p1 mbarrier.arrive.shared.b64 rd2, [r1];
bar.sync 0;
st.global.u32 [rd1], 1;
)"),
                                   32);
  EXPECT_EQ(Text(lanes.report), "");
}

}  // namespace
}  // namespace tarsia::ptx::mbarrier_test
