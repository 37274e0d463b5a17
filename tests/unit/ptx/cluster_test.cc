// Clusters: shapes, special registers, memory of other blocks, their barrier, and misuse.
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::cluster_test {
namespace {

constexpr char kShared[] = ".shared .align 16 .b8 x[256];\n";

// An entry whose threads have a number in r0 (over the grid), of their block in r1, a rank in r2;
// its parameter is in rd0, the address of the thread's word there in rd1.
std::string Entry(const std::string& body, const std::string& bounds = "",
                  const std::string& before = kShared) {
  return std::string(kHeader) + before + ".visible .entry k(.param .u64 p) " + bounds + R"({
.reg .pred p<8>; .reg .b32 r<24>; .reg .b64 rd<8>;
ld.param.u64 rd0, [p]; mov.u32 r1, %tid.x; mov.u32 r2, %cluster_ctarank; mov.u32 r3, %ctaid.x;
mov.u32 r4, %ntid.x; mad.lo.u32 r0, r3, r4, r1; mul.wide.u32 rd1, r0, 4; add.u64 rd1, rd1, rd0;
)" + body +
         "\nret;\n}\n";
}

LaunchConfig InClusters(Dim3 shape) {
  LaunchConfig config;
  config.cluster = shape;
  return config;
}

struct Outcome {
  LaunchReport report;
  std::vector<uint32_t> words;
};

Outcome RunClusters(const std::string& text, uint32_t blocks, uint32_t threads, uint32_t size) {
  Machine machine(text);
  const uint64_t out = machine.Put(std::vector<uint32_t>(blocks * threads, 0));
  Outcome outcome;
  outcome.report = machine.Run("k", {blocks}, {threads}, {out}, InClusters({size, 1, 1}));
  outcome.words = machine.Get<uint32_t>(out, blocks * threads);
  return outcome;
}

void ExpectOne(const std::string& text, FindingKind kind, const std::string& words,
               uint32_t size = 2, uint32_t threads = 32) {
  const LaunchReport report = RunClusters(text, size, threads, size).report;
  ASSERT_EQ(report.findings.size(), 1U) << Text(report) << text;
  EXPECT_EQ(report.findings[0].kind, kind) << Text(report);
  EXPECT_NE(report.findings[0].message.find(words), std::string::npos) << Text(report);
}

constexpr char kSync[] = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";

TEST(Cluster, KnowsItsShape) {
  Machine machine(std::string(kHeader) + R"(
.visible .entry k(.param .u64 p) {
.reg .pred q; .reg .b32 r<24>; .reg .b64 rd<4>;
ld.param.u64 rd0, [p];
mov.u32 r0, %ctaid.x; mov.u32 r1, %ctaid.y; mov.u32 r2, %ctaid.z;
mad.lo.u32 r3, r2, 6, r1; mad.lo.u32 r3, r3, 8, r0; mul.wide.u32 rd1, r3, 64; add.u64 rd1, rd1, rd0;
mov.u32 r4, %cluster_ctaid.x; mov.u32 r5, %cluster_ctaid.y; mov.u32 r6, %cluster_ctaid.z;
mov.u32 r7, %cluster_nctaid.x; mov.u32 r8, %cluster_nctaid.y; mov.u32 r9, %cluster_nctaid.z;
mov.u32 r10, %clusterid.x; mov.u32 r11, %clusterid.y; mov.u32 r12, %clusterid.z;
mov.u32 r13, %nclusterid.x; mov.u32 r14, %nclusterid.y; mov.u32 r15, %nclusterid.z;
mov.u32 r16, %cluster_ctarank; mov.u32 r17, %cluster_nctarank;
mov.pred q, %is_explicit_cluster; selp.u32 r18, 1, 0, q;
st.global.v4.u32 [rd1], {r4, r5, r6, r7}; st.global.v4.u32 [rd1+16], {r8, r9, r10, r11};
st.global.v4.u32 [rd1+32], {r12, r13, r14, r15}; st.global.v4.u32 [rd1+48], {r16, r17, r18, 0};
ret; }
)");
  const uint64_t out = machine.Room(8 * 6 * 2 * 64);
  EXPECT_EQ(Text(machine.Run("k", {8, 6, 2}, {1}, {out}, InClusters({4, 2, 1}))), "");
  const auto got = machine.Get<uint32_t>(out, 8 * 6 * 2 * 16);
  for (uint32_t z = 0; z < 2; ++z) {
    for (uint32_t y = 0; y < 6; ++y) {
      for (uint32_t x = 0; x < 8; ++x) {
        const uint32_t* at = &got[((z * 6 + y) * 8 + x) * 16];
        const std::vector<uint32_t> expected = {
            x % 4, y % 2, 0, 4, 2, 1, x / 4, y / 2, z, 2, 3, 2, y % 2 * 4 + x % 4, 8, 1, 0};
        EXPECT_EQ(std::vector<uint32_t>(at, at + 16), expected) << x << " " << y << " " << z;
      }
    }
  }
  EXPECT_EQ(Text(machine.Run("k", {8, 6, 2}, {1}, {out})), "");
  const auto alone = machine.Get<uint32_t>(out + 64, 16);
  EXPECT_EQ(alone, (std::vector<uint32_t>{0, 0, 0, 1, 1, 1, 1, 0, 0, 8, 6, 2, 0, 1, 0, 0}));
}

// Each block writes into the next one's memory and adds to the one after that.
TEST(Cluster, ReachesOtherBlocks) {
  for (const bool generic : {false, true}) {
    const std::string space = generic ? "" : ".shared::cluster";
    const std::string width = generic ? "u64" : "u32";
    const std::string address = generic ? "rd" : "r";
    const auto at = [&](const std::string& number) { return address + number; };
    std::string body =
        generic ? "mov.u64 rd2, x; cvta.shared::cluster.u64 rd2, rd2;\n" : "mov.u32 r12, x;\n";
    const std::string own = generic ? "rd2" : "r12";
    body += "mov.u32 r5, x; st.shared.u32 [r5], 0; st.shared.u32 [r5+4], 100;\n";
    body += kSync;
    body += "add.u32 r6, r2, 1; rem.u32 r6, r6, 4; add.u32 r7, r2, 2; rem.u32 r7, r7, 4;\n";
    body += fmt::format("mapa{}.{} {}, {}, r6; mapa{}.{} {}, {}, r7;\n", space, width, at("3"), own,
                        space, width, at("4"), own);
    body += fmt::format("getctarank{}.{} r8, {}; getctarank{}.{} r9, {};\n", space, width, at("4"),
                        space, width, own);
    body += fmt::format("setp.eq.u32 p1, r1, 0; @p1 st{}.u32 [{}], r0;\n", space, at("3"));
    body += fmt::format("atom{}.add.u32 r10, [{}+4], r1; red{}.add.u32 [{}+4], 1;\n", space,
                        at("4"), space, at("4"));
    body += kSync;
    body += fmt::format("ld{}.u32 r11, [{}]; ld.shared.u32 r13, [r5+4];\n", space, at("4"));
    body += "mad.lo.u32 r11, r11, 1000, r13; mad.lo.u32 r11, r8, 100000, r11;\n";
    body += "mad.lo.u32 r11, r9, 1000000, r11; st.global.u32 [rd1], r11;\n";
    body += kSync;
    const Outcome out = RunClusters(Entry(body), 8, 32, 4);
    EXPECT_EQ(Text(out.report), "") << body;
    for (uint32_t i = 0; i < 8 * 32; ++i) {
      const uint32_t block = i / 32;
      const uint32_t rank = block % 4;
      // The word of the block two on came from the block one on: its first thread.
      const uint32_t writer = (block / 4 * 4 + (rank + 1) % 4) * 32;
      const uint32_t sum = 100 + 31 * 32 / 2 + 32;
      EXPECT_EQ(out.words[i], rank * 1000000 + (rank + 2) % 4 * 100000 + writer * 1000 + sum);
    }
  }
  Covers(Op::kMapa);
  Covers(Op::kGetctarank);
}

TEST(Cluster, TellsSpacesApart) {
  const Outcome out = RunClusters(Entry(R"(
mov.u64 rd2, x; cvta.shared.u64 rd2, rd2;
mov.u32 r5, 1; mapa.u64 rd3, rd2, r5;
isspacep.shared::cta p1, rd3; isspacep.shared::cluster p2, rd3; isspacep.shared p3, rd2;
isspacep.global p4, rd3; cvta.to.shared::cluster.u64 rd4, rd3; cvt.u32.u64 r6, rd4; mov.u32 r7, x;
mapa.shared::cluster.u32 r8, r7, 1; setp.eq.u32 p5, r6, r8;
selp.u32 r9, 1, 0, p1; selp.u32 r10, 2, 0, p2; selp.u32 r11, 4, 0, p3; selp.u32 r12, 8, 0, p4;
selp.u32 r13, 16, 0, p5;
add.u32 r9, r9, r10; add.u32 r9, r9, r11; add.u32 r9, r9, r12; add.u32 r9, r9, r13;
st.global.u32 [rd1], r9;
)"),
                                  2, 1, 2);
  EXPECT_EQ(Text(out.report), "");
  EXPECT_EQ(out.words, (std::vector<uint32_t>{2 + 4 + 16, 1 + 2 + 4 + 16}));
}

// Threads that have ended are not waited for, and warps come one by one.
TEST(Cluster, MeetsAtItsBarrier) {
  const std::string body = R"(
mov.u32 r5, x; setp.eq.u32 p1, r1, 0; @p1 st.shared.u32 [r5], r0;
setp.gt.u32 p2, r1, 60; @p2 exit;
barrier.cluster.arrive.release;
barrier.cluster.wait.acquire;
xor.b32 r6, r2, 1; mapa.shared::cluster.u32 r7, r5, r6; ld.shared::cluster.u32 r8, [r7];
st.global.u32 [rd1], r8;
fence.acq_rel.cluster;
barrier.cluster.arrive.relaxed;
barrier.cluster.wait;
)";
  const Outcome out = RunClusters(Entry(body), 4, 70, 2);
  EXPECT_EQ(Text(out.report), "");
  for (uint32_t i = 0; i < 4 * 70; ++i) {
    EXPECT_EQ(out.words[i], i % 70 > 60 ? 0U : ((i / 70) ^ 1) * 70) << i;
  }
  Covers(Op::kClusterArrive);
  Covers(Op::kClusterWait);
}

std::string RefusalOf(const std::string& bounds, Dim3 grid, Dim3 cluster) {
  Machine machine(Entry("", bounds));
  LaunchConfig config = InClusters(cluster);
  config.grid = grid;
  config.block = {32};
  const std::vector<uint8_t> parameters(8, 0);
  config.parameters = parameters;
  const auto report = Launch(machine.image(), "k", config);
  return report.ok() ? "" : report.error().message;
}

TEST(Cluster, RefusesBadShapes) {
  const auto starts = [](Dim3 shape) {
    return fmt::format("clusters of {} x {} x {} blocks cannot be launched: ", shape.x, shape.y,
                       shape.z);
  };
  EXPECT_EQ(RefusalOf("", {6}, {4, 1, 1}),
            starts({4, 1, 1}) + "the grid of 6 x 1 x 1 blocks is not a multiple of it");
  EXPECT_EQ(RefusalOf("", {64}, {32, 1, 1}), starts({32, 1, 1}) + "a cluster has 1 to 16 blocks");
  EXPECT_EQ(RefusalOf("", {64}, {2, 0, 1}), starts({2, 0, 1}) + "a cluster has 1 to 16 blocks");
  EXPECT_EQ(RefusalOf(".reqnctapercluster 2, 2 ", {4, 4}, {4, 1, 1}),
            starts({4, 1, 1}) + "the entry requires 2 x 2 x 1");
  EXPECT_EQ(RefusalOf(".reqnctapercluster 2, 2 ", {4, 3}, {0, 0, 0}),
            starts({2, 2, 1}) + "the grid of 4 x 3 x 1 blocks is not a multiple of it");
  EXPECT_EQ(RefusalOf(".explicitcluster ", {4}, {0, 0, 0}),
            starts({0, 0, 0}) + "the entry wants a launch that names its clusters");
  EXPECT_EQ(RefusalOf(".explicitcluster .maxclusterrank 4 ", {16}, {8, 1, 1}),
            starts({8, 1, 1}) + "the entry takes at most 4 blocks");
  EXPECT_EQ(RefusalOf(".explicitcluster .maxclusterrank 8 ", {16}, {8, 1, 1}), "");
  EXPECT_EQ(RefusalOf(".reqnctapercluster 2, 2 ", {4, 4}, {2, 2, 1}), "");
  EXPECT_EQ(RefusalOf("", {16}, {16, 1, 1}), "");
}

TEST(Cluster, FindsMisuse) {
  const std::string sync = kSync;
  const std::string peer =
      "mov.u32 r5, x; st.shared.u32 [r5], 1; xor.b32 r6, r2, 1;\n"
      "mapa.shared::cluster.u32 r7, r5, r6;\n";
  // No barrier before the first access.
  ExpectOne(Entry(peer + "st.shared::cluster.u32 [r7], 1;\n" + sync), FindingKind::kRace,
            "need not have begun");
  // Nor after the last: block 1 has ended when block 0 reads, since it does not wait for it.
  ExpectOne(Entry(peer + sync +
                  "setp.eq.u32 p1, r2, 1; @p1 exit;\n"
                  "ld.shared::cluster.u32 r10, [r7];"),
            FindingKind::kRace, "the block of rank 1 has ended");
  ExpectOne(Entry("mov.u32 r5, x; mapa.shared::cluster.u32 r7, r5, 2;"), FindingKind::kOutOfBounds,
            "rank 2 of a cluster of 2 blocks");
  ExpectOne(
      Entry(sync + "mov.u32 r5, x; add.u32 r5, r5, 0x5000000; ld.shared::cluster.u32 r6, [r5];"),
      FindingKind::kOutOfBounds, "the block of rank 4 of a cluster of 2 blocks");
  ExpectOne(Entry(peer + sync + "ld.shared.u32 r8, [r7];\n" + sync), FindingKind::kOutOfBounds,
            "without .shared::cluster");
  ExpectOne(Entry(peer + sync + "ld.shared::cluster.u32 r8, [r7+256];\n" + sync),
            FindingKind::kOutOfBounds, "the block has 256 bytes");
  ExpectOne(Entry("mapa.u64 rd2, rd0, 0;"), FindingKind::kOutOfBounds,
            "no address of shared memory");
  ExpectOne(Entry("barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;"),
            FindingKind::kDivergence, "without a wait in between");
  ExpectOne(Entry("barrier.cluster.wait;"), FindingKind::kDivergence, "without having arrived");
  ExpectOne(Entry("setp.gt.u32 p1, r1, 20; @p1 barrier.cluster.arrive.aligned;\n"
                  "@!p1 barrier.cluster.arrive; barrier.cluster.wait;"),
            FindingKind::kDivergence, "all lanes must come to it together");
}

TEST(Cluster, SaysWhoWaitsForWhat) {
  const LaunchReport report =
      RunClusters(Entry("setp.eq.u32 p1, r2, 0; @p1 bra one;\nbar.sync 3, 64;\none:\n"
                        "barrier.cluster.arrive;\nbarrier.cluster.wait;"),
                  2, 32, 2)
          .report;
  ASSERT_EQ(report.findings.size(), 1U) << Text(report);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kDeadlock);
  EXPECT_EQ(report.findings[0].message,
            "no thread can go on; block 0,0,0; warp 0: line 13: barrier.cluster (lanes 0xffffffff);"
            " block 1,0,0; warp 0: line 10: barrier 3 (lanes 0xffffffff); barrier 3 has 32 of 64 "
            "threads; barrier.cluster has 32 of 64 threads");
}

TEST(Cluster, CountsDependentLaunches) {
  Machine machine(
      Entry("griddepcontrol.wait; setp.lt.u32 p1, r1, 5;\n"
            "@p1 griddepcontrol.launch_dependents;"));
  const LaunchReport report = machine.Run("k", {3}, {32}, {machine.Room(4)});
  EXPECT_EQ(Text(report), "");
  EXPECT_EQ(report.dependency_waits, 96U);
  EXPECT_EQ(report.dependents_launched, 15U);
}

}  // namespace
}  // namespace tarsia::ptx::cluster_test
