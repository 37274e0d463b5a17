// Launches: which blocks run, how far they are, and where a launch stands that is stopped.
#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::launch_test {
namespace {

// Thread 0 of each block adds 1 to the word of its number.
constexpr char kMarkBlocks[] = R"(.visible .entry k(.param .u64 p) {
.reg .b32 r<4>; .reg .b64 rd<4>;
ld.param.u64 rd0, [p]; mov.u32 r0, %ctaid.x; mov.u32 r1, %ctaid.y; mad.lo.u32 r0, r1, 4, r0;
mul.wide.u32 rd1, r0, 4; add.u64 rd1, rd1, rd0; red.global.add.u32 [rd1], 1;
ret; }
)";

TEST(Launch, RunsBlocksOfARange) {
  struct {
    uint64_t first;
    uint64_t end;
    uint64_t blocks;
  } cases[] = {{0, UINT64_MAX, 12}, {3, 7, 4}, {0, 1, 1}, {11, 40, 1}, {12, 20, 0}, {5, 5, 0}};
  for (const auto& item : cases) {
    for (const int threads : {1, 3}) {
      Machine machine(std::string(kHeader) + kMarkBlocks);
      const uint64_t memory = machine.Put(std::vector<uint32_t>(12, 0));
      LaunchConfig config;
      config.first_block = item.first;
      config.end_block = item.end;
      config.host_threads = threads;
      const LaunchReport report = machine.Run("k", {4, 3}, {1}, {memory}, config);
      EXPECT_EQ(Text(report), "");
      EXPECT_EQ(report.blocks, item.blocks);
      const auto words = machine.Get<uint32_t>(memory, 12);
      for (uint64_t i = 0; i < 12; ++i) {
        EXPECT_EQ(words[i], i >= item.first && i < item.end ? 1U : 0U) << item.first << " " << i;
      }
    }
  }
}

TEST(Launch, SaysHowFarItIs) {
  Machine machine(std::string(kHeader) + kMarkBlocks);
  const uint64_t memory = machine.Put(std::vector<uint32_t>(12, 0));
  std::vector<uint64_t> done;
  LaunchConfig config;
  config.first_block = 2;
  config.progress = [&](uint64_t blocks, uint64_t total) {
    EXPECT_EQ(total, 10U);
    done.push_back(blocks);
  };
  EXPECT_EQ(Text(machine.Run("k", {4, 3}, {1}, {memory}, config)), "");
  EXPECT_EQ(done, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(Launch, SaysWhereItWasStopped) {
  // Warps 0 and 1 wait at a barrier for warp 2, half of whose lanes go round for ever while the
  // others wait for them. The .loc is that of line 12.
  Machine machine(std::string(kHeader) + R"(.file 1 "/src/loop.cu", 1700000000, 300
.visible .entry k(.param .u64 p) {
.reg .pred q<4>; .reg .b32 r<4>; .reg .b64 rd<2>;
ld.param.u64 rd0, [p]; mov.u32 r0, %tid.x;
setp.lt.u32 q0, r0, 64; setp.lt.u32 q1, r0, 80;
@q0 bra wait;
@q1 bra meet;
.loc 1 77 3
again: ld.volatile.global.u32 r1, [rd0]; bra again;
meet: bar.warp.sync -1;
wait: bar.sync 0;
ret; }
)");
  const uint64_t memory = machine.Put(std::vector<uint32_t>(12, 0));
  LaunchConfig config;
  config.instruction_limit = 2000;
  const LaunchReport report = machine.Run("k", {1}, {96}, {memory}, config);
  ASSERT_EQ(report.findings.size(), 1U) << Text(report);
  const Finding& finding = report.findings[0];
  EXPECT_EQ(finding.kind, FindingKind::kLimit);
  EXPECT_EQ(finding.message,
            "the launch ran more than 2000 instructions of warps; warps 0 to 1: line 14: barrier 0 "
            "(lanes 0xffffffff); warp 2: line 12: runs (lanes 0xffff0000), line 13: lanes of its "
            "warp (lanes 0x0000ffff); barrier 0 has 64 of 96 threads");
  // Where threads run, not where they wait.
  EXPECT_EQ(finding.location.line, 12U);
  EXPECT_EQ(finding.source_line, 77U);
  EXPECT_EQ(finding.thread, (Dim3{80, 0, 0}));
}

// Lanes that have come to where the ways of a branch meet, and wait there for the others.
TEST(Launch, SaysWhichLanesWaitForOthers) {
  Machine machine(std::string(kHeader) + R"(.visible .entry k(.param .u64 p) {
.reg .pred q; .reg .b32 r<4>; .reg .b64 rd<2>;
ld.param.u64 rd0, [p]; mov.u32 r0, %tid.x; mov.u32 r2, 0;
again: add.u32 r2, r2, r0; setp.ne.u32 q, r2, 0;
@q bra again;
st.global.u32 [rd0], r2;
ret; }
)");
  const uint64_t memory = machine.Put(std::vector<uint32_t>(4, 0));
  LaunchConfig config;
  config.instruction_limit = 3000;
  const LaunchReport report = machine.Run("k", {1}, {32}, {memory}, config);
  ASSERT_EQ(report.findings.size(), 1U) << Text(report);
  const std::string& message = report.findings[0].message;
  EXPECT_NE(message.find("runs (lanes 0xfffffffe)"), std::string::npos) << message;
  EXPECT_NE(message.find(", line 9: others of its warp (lanes 0x00000001)"), std::string::npos)
      << message;
}

TEST(Launch, KnowsTheFilesOfTheSource) {
  const std::string text =
      std::string(kHeader) +
      ".file 1 \"a.cu\"\n.file 2 \"/b/c.h\", 12, 34\n.visible .entry k() { ret; }\n";
  const SourceFile source("test.ptx", text);
  Diagnostics diagnostics;
  const auto module = ParseModule(source, &diagnostics);
  ASSERT_NE(module, nullptr) << diagnostics.Render(source);
  EXPECT_EQ(module->files, (std::map<uint32_t, std::string>{{1, "a.cu"}, {2, "/b/c.h"}}));
}

// 256 blocks read and write 1 MiB of 64 MiB, 16 bytes a thread, and read another 128 KiB all of
// them; beside that each block's shared memory is watched, which does not count.
TEST(Launch, ShadowsWhatIsTouchedAlone) {
  Machine machine(std::string(kHeader) + R"(
.shared .align 16 .b8 tile[4096];
.visible .entry k(.param .u64 p, .param .u64 s) {
.reg .b32 r<8>; .reg .b64 rd<6>;
ld.param.u64 rd0, [p]; ld.param.u64 rd3, [s];
mov.u32 r0, %ctaid.x; mov.u32 r1, %tid.x; mad.lo.u32 r2, r0, 256, r1;
mul.wide.u32 rd1, r2, 16; add.u64 rd1, rd1, rd0;
and.b32 r3, r2, 8191; mul.wide.u32 rd4, r3, 16; add.u64 rd4, rd4, rd3;
ld.global.v4.u32 {r4, r5, r6, r7}, [rd4];
shl.b32 r3, r1, 4; mov.u32 r2, tile; add.u32 r3, r3, r2;
st.shared.v4.u32 [r3], {r4, r5, r6, r7};
ld.global.v4.u32 {r4, r5, r6, r7}, [rd1];
add.u32 r4, r4, 1;
st.global.v4.u32 [rd1], {r4, r5, r6, r7};
ret; }
)");
  constexpr uint64_t kTouched = (1 << 20) + (1 << 17);
  const uint64_t all = machine.Put(std::vector<uint8_t>(64 << 20));
  const uint64_t other = machine.Put(std::vector<uint8_t>(1 << 17));
  const LaunchReport report = machine.Run("k", {256}, {256}, {all, other});
  EXPECT_EQ(Text(report), "");
  EXPECT_EQ(report.shadowed_bytes, kTouched);
  EXPECT_GE(report.shadow_bytes, 2 * kTouched);
  // The undefined bits, a byte for each, are beside it.
  EXPECT_LE(report.shadow_bytes, 11 * kTouched);
}

}  // namespace
}  // namespace tarsia::ptx::launch_test
