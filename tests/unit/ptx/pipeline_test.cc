// A pipeline as kernels for Hopper have it: one warp loads tiles into a ring of buffers, others
// wait for them and give the buffers back; over blocks, clusters and host threads; and its faulty
// twins.
#include <numeric>

#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::pipeline_test {
namespace {

constexpr uint32_t kTiles = 21;      // of a block
constexpr uint32_t kTileWords = 64;  // by two warps of readers
constexpr uint32_t kBlocks = 24;

// `wait_free` is the parity with which the loader waits for a buffer to be free in the first round;
// `free_count` how many readers give it back.
std::string Pipeline(int wait_free, int free_count, const std::string& give_back) {
  return fmt::format(R"(.version 8.6
.target sm_90a
.address_size 64
.shared .align 16 .b8 full[32];
.shared .align 16 .b8 free[32];
.shared .align 128 .b8 ring[1024];
.visible .entry k(.param .u64 in, .param .u64 out) {{
.reg .pred p<8>; .reg .b32 r<24>; .reg .b64 rd<8>;
ld.param.u64 rd0, [in]; ld.param.u64 rd1, [out];
mov.u32 r0, %tid.x; mov.u32 r1, full; mov.u32 r2, free; mov.u32 r3, ring; mov.u32 r4, %ctaid.x;
setp.ne.u32 p1, r0, 0; @p1 bra ready;
mov.u32 r5, 0;
init: shl.b32 r6, r5, 3; add.u32 r7, r1, r6; add.u32 r8, r2, r6;
mbarrier.init.shared.b64 [r7], 1; mbarrier.init.shared.b64 [r8], {};
add.u32 r5, r5, 1; setp.lt.u32 p2, r5, 4; @p2 bra init;
fence.mbarrier_init.release.cluster;
ready: bar.sync 0;
mul.lo.u32 r9, r4, {}; mul.wide.u32 rd2, r9, 4; add.u64 rd0, rd0, rd2;
mov.u32 r5, 0; mov.u32 r10, 0; mov.u32 r11, 0; mov.u32 r12, 0;
setp.gt.u32 p3, r0, 31; @p3 bra reader;
setp.ne.u32 p1, r0, 0; @p1 bra done;
loader:
shl.b32 r6, r10, 3; add.u32 r7, r1, r6; add.u32 r8, r2, r6; shl.b32 r13, r10, 8;
add.u32 r13, r13, r3; xor.b32 r14, r11, {};
wait_free: mbarrier.try_wait.parity.shared.b64 p4, [r8], r14;
@!p4 bra wait_free;
mbarrier.arrive.expect_tx.shared.b64 _, [r7], 256;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r13], [rd0], 256, [r7];
add.u64 rd0, rd0, 256;
add.u32 r10, r10, 1; setp.eq.u32 p5, r10, 4; selp.u32 r10, 0, r10, p5;
selp.u32 r15, 1, 0, p5; xor.b32 r11, r11, r15;
add.u32 r5, r5, 1; setp.lt.u32 p2, r5, {}; @p2 bra loader;
bra done;
reader:
sub.u32 r16, r0, 32; shl.b32 r17, r16, 2;
again:
shl.b32 r6, r10, 3; add.u32 r7, r1, r6; add.u32 r8, r2, r6; shl.b32 r13, r10, 8;
add.u32 r13, r13, r3; add.u32 r13, r13, r17;
wait_full: mbarrier.try_wait.parity.shared.b64 p4, [r7], r11;
@!p4 bra wait_full;
ld.shared.u32 r18, [r13]; add.u32 r19, r5, 1; mad.lo.u32 r12, r18, r19, r12;
{}
add.u32 r10, r10, 1; setp.eq.u32 p5, r10, 4; selp.u32 r10, 0, r10, p5;
selp.u32 r15, 1, 0, p5; xor.b32 r11, r11, r15;
add.u32 r5, r5, 1; setp.lt.u32 p2, r5, {}; @p2 bra again;
mad.lo.u32 r20, r4, 64, r16; mul.wide.u32 rd3, r20, 4; add.u64 rd3, rd3, rd1;
st.global.u32 [rd3], r12;
done:
ret; }}
)",
                     free_count, kTiles * kTileWords, wait_free, kTiles, give_back, kTiles);
}

const std::string kGiveBack = "mbarrier.arrive.shared.b64 _, [r8];";

LaunchReport RunPipeline(const std::string& text, int host_threads, uint32_t cluster) {
  Machine machine(text);
  std::vector<uint32_t> in(kBlocks * kTiles * kTileWords);
  std::iota(in.begin(), in.end(), 7U);
  const uint64_t from = machine.Put(in);
  const uint64_t to = machine.Put(std::vector<uint32_t>(kBlocks * kTileWords, 0));
  LaunchConfig config;
  config.host_threads = host_threads;
  config.cluster = {cluster, 1, 1};
  const LaunchReport report = machine.Run("k", {kBlocks}, {96}, {from, to}, config);
  std::vector<uint32_t> expected(kBlocks * kTileWords, 0);
  for (uint32_t block = 0; block < kBlocks; ++block) {
    for (uint32_t tile = 0; tile < kTiles; ++tile) {
      for (uint32_t i = 0; i < kTileWords; ++i) {
        expected[block * kTileWords + i] +=
            in[(block * kTiles + tile) * kTileWords + i] * (tile + 1);
      }
    }
  }
  if (report.ok()) {
    EXPECT_EQ(machine.Get<uint32_t>(to, expected.size()), expected);
  }
  return report;
}

TEST(Pipeline, Runs) {
  for (const int host_threads : {1, 3}) {
    for (const uint32_t cluster : {1U, 4U}) {
      const LaunchReport report = RunPipeline(Pipeline(1, 64, kGiveBack), host_threads, cluster);
      EXPECT_EQ(Text(report), "");
      // Waiting is cheap: hardly more instructions than without any.
      EXPECT_LT(report.warp_instructions, kBlocks * kTiles * 3 * 30U);
    }
  }
}

void ExpectKind(const std::string& text, FindingKind kind, const std::string& words) {
  const LaunchReport report = RunPipeline(text, 1, 1);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, kind) << Text(report);
  EXPECT_NE(Text(report).find(words), std::string::npos) << Text(report);
}

TEST(Pipeline, FindsItsFaults) {
  // The loader waits for buffers that nobody has filled yet.
  ExpectKind(Pipeline(0, 64, kGiveBack), FindingKind::kDeadlock,
             "in phase 0: 64 of 64 arrivals and 0 bytes missing");
  // One arrival for a warp where one for each thread is expected.
  ExpectKind(Pipeline(1, 64, "and.b32 r21, r0, 31; setp.eq.u32 p6, r21, 0;\n@p6 " + kGiveBack),
             FindingKind::kDeadlock, "62 of 64 arrivals");
  // Fewer arrivals are expected than come: those of one round end that of the next.
  ExpectKind(Pipeline(1, 48, kGiveBack), FindingKind::kDeadlock, "48 of 48 arrivals");
}

}  // namespace
}  // namespace tarsia::ptx::pipeline_test
