// What the emulator counts, against numbers worked out by hand.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "ptx/count/transactions.h"
#include "ptx/table/table.h"
#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::counts_test {
namespace {

LaunchConfig Counting(int host_threads = 1) {
  LaunchConfig config;
  config.counts = true;
  config.checks = false;  // threads write where others do on purpose
  config.host_threads = host_threads;
  return config;
}

// A kernel whose r0 is the thread's number, rd0 the address of 64 KiB of global memory and r1 that
// of 16 KiB of shared memory. `body` begins in line 9.
std::string Kernel(const std::string& body) {
  return std::string(kHeader) + R"(.shared .align 128 .b8 tile[16384];
.visible .entry k(.param .u64 p) {
.reg .pred q<4>; .reg .b16 h<4>; .reg .b32 r<16>; .reg .b64 rd<8>; .reg .f32 f<8>; .reg .b128 w<2>;
ld.param.u64 rd0, [p]; mov.u32 r0, %tid.x; mov.u32 r1, tile; mul.wide.u32 rd1, r0, 4;
add.u64 rd1, rd1, rd0; shl.b32 r2, r0, 2; add.u32 r2, r2, r1;
)" + body +
         "\nret;\n}\n";
}

LaunchReport RunCounting(const std::string& body, uint32_t threads, Dim3 grid = {1},
                         LaunchConfig config = Counting()) {
  Machine machine(Kernel(body));
  const uint64_t memory = machine.Put(std::vector<uint32_t>(16384, 1));
  LaunchReport report = machine.Run("k", grid, {threads}, {memory}, config);
  EXPECT_EQ(Text(report), "") << body;
  return report;
}

// The counts of one line of the body, from 0.
Counts OfLine(const LaunchReport& report, uint32_t line) {
  for (const LineCounts& one : report.counts.ByLine()) {
    if (one.line == line + 9) return one.counts;
  }
  return {};
}

// The counts of the last line of a body, in a block of `threads`.
Counts OfLast(const std::string& body, uint32_t threads = 32) {
  const auto line = static_cast<uint32_t>(std::ranges::count(body, '\n'));
  return OfLine(RunCounting(body, threads), line);
}

struct Case {
  const char* body;
  uint32_t threads;
  uint64_t actual;
  uint64_t ideal;
  uint64_t bytes;
};

TEST(Counts, OffCountsNothing) {
  const LaunchReport report = RunCounting("add.u32 r3, r0, 1;", 32, {1}, {});
  EXPECT_TRUE(report.counts.instructions.empty());
}

TEST(Counts, GlobalSectorsOfLoads) {
  const Case cases[] = {
      // 32 words side by side: 128 bytes, 4 sectors.
      {"ld.global.u32 r3, [rd1];", 32, 4, 4, 128},
      // The same, 4 bytes further: the last word is in a fifth sector.
      {"ld.global.u32 r3, [rd1+4];", 32, 5, 4, 128},
      // Half a warp: 64 bytes.
      {"ld.global.u32 r3, [rd1];", 16, 2, 2, 64},
      // One thread.
      {"ld.global.u32 r3, [rd1];", 1, 1, 1, 4},
      // Every second word: 8 sectors, half of whose bytes nobody asked for.
      {"mul.wide.u32 rd2, r0, 8; add.u64 rd2, rd2, rd0;\nld.global.u32 r3, [rd2];", 32, 8, 4, 128},
      // A word of each sector.
      {"mul.wide.u32 rd2, r0, 32; add.u64 rd2, rd2, rd0;\nld.global.u32 r3, [rd2];", 32, 32, 4,
       128},
      // The same word for all.
      {"ld.global.u32 r3, [rd0];", 32, 1, 1, 128},
      // Backwards, which is no worse.
      {"sub.u32 r4, 31, r0; mul.wide.u32 rd2, r4, 4; add.u64 rd2, rd2, rd0;\nld.global.u32 r3, "
       "[rd2];",
       32, 4, 4, 128},
      // Four words a thread: 512 bytes.
      {"mul.wide.u32 rd2, r0, 16; add.u64 rd2, rd2, rd0;\nld.global.v4.u32 {r3, r4, r5, r6}, "
       "[rd2];",
       32, 16, 16, 512},
      {"mul.wide.u32 rd2, r0, 16; add.u64 rd2, rd2, rd0;\nld.global.b128 w0, [rd2];", 32, 16, 16,
       512},
      // Bytes: 32 of them are a sector.
      {"cvt.u64.u32 rd2, r0; add.u64 rd2, rd2, rd0;\nld.global.u8 h0, [rd2];", 32, 1, 1, 32},
      // By a generic address.
      {"ld.u32 r3, [rd1+4];", 32, 5, 4, 128},
  };
  for (const Case& item : cases) {
    const Counts counts = OfLast(item.body, item.threads);
    EXPECT_EQ(counts.global_sectors, item.actual) << item.body;
    EXPECT_EQ(counts.global_ideal_sectors, item.ideal) << item.body;
    EXPECT_EQ(counts.global_read_bytes, item.bytes) << item.body;
    EXPECT_EQ(counts.global_written_bytes, 0U) << item.body;
    EXPECT_EQ(counts.shared_wavefronts, 0U) << item.body;
    EXPECT_EQ(counts.warp_instructions, 1U) << item.body;
    EXPECT_EQ(counts.thread_instructions, item.threads) << item.body;
  }
}

TEST(Counts, GlobalStoresAndAtomics) {
  const Counts store = OfLast("st.global.v2.u32 [rd0], {r0, r0};", 8);
  EXPECT_EQ(store.global_sectors, 1U);
  EXPECT_EQ(store.global_ideal_sectors, 1U);  // 8 distinct bytes
  EXPECT_EQ(store.global_written_bytes, 64U);
  EXPECT_EQ(store.global_read_bytes, 0U);
  const Counts atomic = OfLast("atom.global.add.u32 r3, [rd1+64], 1;", 24);
  EXPECT_EQ(atomic.atomics, 24U);
  EXPECT_EQ(atomic.global_sectors, 3U);
  EXPECT_EQ(atomic.global_read_bytes, 96U);
  EXPECT_EQ(atomic.global_written_bytes, 96U);
  const Counts reduction = OfLast("red.global.add.u32 [rd0], 1;");
  EXPECT_EQ(reduction.atomics, 32U);
  EXPECT_EQ(reduction.global_sectors, 1U);
  EXPECT_EQ(reduction.global_read_bytes, 0U);
  EXPECT_EQ(reduction.global_written_bytes, 128U);
}

// r2 is the thread's word of shared memory.
TEST(Counts, SharedWavefronts) {
  const auto scaled = [](int bytes, const std::string& access) {
    return fmt::format("mul.lo.u32 r4, r0, {}; add.u32 r4, r4, r1;\n{}", bytes, access);
  };
  struct {
    std::string body;
    uint64_t actual;
    uint64_t ideal;
  } cases[] = {
      {"st.shared.u32 [r2], r0;", 1, 1},
      // Words 2, 4, 32 apart: as many lanes want one bank.
      {scaled(8, "st.shared.u32 [r4], r0;"), 2, 1},
      {scaled(16, "st.shared.u32 [r4], r0;"), 4, 1},
      {scaled(128, "st.shared.u32 [r4], r0;"), 32, 1},
      // 33 words apart: every lane its own bank.
      {scaled(132, "st.shared.u32 [r4], r0;"), 1, 1},
      // All lanes the same word; and two bytes of a word.
      {scaled(0, "st.shared.u32 [r4], r0;"), 1, 1},
      {scaled(1, "st.shared.u8 [r4], h0;"), 1, 1},
      {scaled(2, "st.shared.u16 [r4], h0;"), 1, 1},
      // 64 bits: two halves of a warp; 128 bits: four quarters.
      {scaled(8, "st.shared.v2.u32 [r4], {r0, r0};"), 2, 2},
      {scaled(16, "st.shared.v2.u32 [r4], {r0, r0};"), 4, 2},
      {scaled(16, "st.shared.v4.u32 [r4], {r0, r0, r0, r0};"), 4, 4},
      {scaled(32, "st.shared.v4.u32 [r4], {r0, r0, r0, r0};"), 8, 4},
      {scaled(128, "st.shared.v4.u32 [r4], {r0, r0, r0, r0};"), 32, 4},
      {scaled(144, "st.shared.v4.u32 [r4], {r0, r0, r0, r0};"), 4, 4},
  };
  for (const auto& item : cases) {
    const std::string defined = "mov.u16 h0, 1;" + item.body;
    const Counts counts = OfLast(defined);
    EXPECT_EQ(counts.shared_wavefronts, item.actual) << item.body;
    EXPECT_EQ(counts.shared_ideal_wavefronts, item.ideal) << item.body;
    EXPECT_EQ(counts.shared_read_bytes, 0U) << item.body;
    EXPECT_EQ(counts.global_sectors, 0U) << item.body;
  }
  const Counts load = OfLast("st.shared.u32 [r2], r0;\nld.shared.u32 r3, [r2];", 20);
  EXPECT_EQ(load.shared_wavefronts, 1U);
  EXPECT_EQ(load.shared_read_bytes, 80U);
  EXPECT_EQ(load.shared_written_bytes, 0U);
  // Six lanes are of the first half alone.
  EXPECT_EQ(OfLast(scaled(8, "st.shared.v2.u32 [r4], {r0, r0};"), 6).shared_ideal_wavefronts, 1U);
}

TEST(Counts, SharedAtomicsFollowEachOther) {
  const std::string zero = "st.shared.u32 [r2], 0; bar.sync 0;\n";
  EXPECT_EQ(OfLast(zero + "red.shared.add.u32 [r2], 1;").shared_wavefronts, 1U);
  const Counts one = OfLast(zero + "red.shared.add.u32 [r1], 1;");
  EXPECT_EQ(one.shared_wavefronts, 32U);
  EXPECT_EQ(one.shared_ideal_wavefronts, 1U);
  EXPECT_EQ(one.atomics, 32U);
}

TEST(Counts, MatricesAreAPhaseEach) {
  const std::string fill =
      R"(mul.lo.u32 r4, r0, 16; add.u32 r4, r4, r1; st.shared.v4.u32 [r4], {r0, r0, r0, r0};
mul.lo.u32 r5, r0, 128; add.u32 r5, r5, r1; st.shared.v4.u32 [r5], {r0, r0, r0, r0};
bar.sync 0;
)";
  // Rows of 16 bytes side by side: all banks once.
  const Counts four =
      OfLast(fill + "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r6, r7, r8, r9}, [r4];");
  EXPECT_EQ(four.shared_wavefronts, 4U);
  EXPECT_EQ(four.shared_ideal_wavefronts, 4U);
  EXPECT_EQ(four.shared_read_bytes, 512U);
  // Rows 128 bytes apart: all in the same four banks, 8 wavefronts a matrix. Lanes from 16 on have
  // addresses that nobody looks at.
  const Counts two = OfLast(fill + "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {r6, r7}, [r5];");
  EXPECT_EQ(two.shared_wavefronts, 16U);
  EXPECT_EQ(two.shared_ideal_wavefronts, 2U);
  const Counts store = OfLast(fill + "stmatrix.sync.aligned.m8n8.x1.shared.b16 [r4], {r6};");
  EXPECT_EQ(store.shared_wavefronts, 1U);
  EXPECT_EQ(store.shared_written_bytes, 128U);
}

TEST(Counts, LocalWordsOfAWarpLieTogether) {
  const std::string array = ".local .align 16 .b8 mine[64]; ";
  EXPECT_EQ(OfLast(array + "st.local.u32 [mine+8], r0;").local_sectors, 4U);
  EXPECT_EQ(OfLast(array + "st.local.u32 [mine+8], r0;", 8).local_sectors, 1U);
  const Counts wide = OfLast(array + "st.local.v4.u32 [mine], {r0, r0, r0, r0};");
  EXPECT_EQ(wide.local_sectors, 16U);
  EXPECT_EQ(wide.local_written_bytes, 512U);
  // Each thread another word of its array: every fourth thread has the same of 16 words, and those
  // lie in different sectors but for lanes 0 to 7, 8 to 15.. of one word.
  const Counts own =
      OfLast(array +
             "and.b32 r3, r0, 3; shl.b32 r3, r3, 2; mov.u32 r4, mine; add.u32 r4, r4, r3;\n"
             "st.local.u32 [r4], r0;");
  EXPECT_EQ(own.local_sectors, 16U);  // 4 words, of each 4 sectors
  const Counts read = OfLast(array + "st.local.u32 [mine], r0;\nld.local.u32 r3, [mine];");
  EXPECT_EQ(read.local_read_bytes, 128U);
  EXPECT_EQ(read.local_written_bytes, 0U);
}

TEST(Counts, GenericAddressesBySpace) {
  // Even lanes write shared memory, odd lanes global memory.
  const Counts counts = OfLast(
      "cvta.shared.u64 rd2, 0; cvt.u64.u32 rd3, r2; add.u64 rd3, rd3, rd2; and.b32 r3, r0, 1; "
      "setp.eq.u32 q0, r3, 0; selp.u64 rd4, rd3, rd1, q0;\nst.u32 [rd4], r0;");
  EXPECT_EQ(counts.shared_wavefronts, 1U);
  EXPECT_EQ(counts.shared_written_bytes, 64U);
  EXPECT_EQ(counts.global_sectors, 4U);
  EXPECT_EQ(counts.global_ideal_sectors, 2U);
  EXPECT_EQ(counts.global_written_bytes, 64U);
}

TEST(Counts, AsynchronousCopies) {
  const LaunchReport report = RunCounting(
      "mul.wide.u32 rd2, r0, 16; add.u64 rd2, rd2, rd0; mul.lo.u32 r4, r0, 16; add.u32 r4, r4, "
      "r1;\n"
      "cp.async.cg.shared.global [r4], [rd2], 16;\n"
      "cp.async.ca.shared.global [r4+4096], [rd1+4], 4, 2;\n"
      "cp.async.wait_all;",
      32);
  const Counts whole = OfLine(report, 1);
  EXPECT_EQ(whole.async_bytes, 512U);
  EXPECT_EQ(whole.global_sectors, 16U);
  EXPECT_EQ(whole.global_read_bytes, 512U);
  EXPECT_EQ(whole.shared_wavefronts, 4U);
  EXPECT_EQ(whole.shared_written_bytes, 512U);
  // Of every word two bytes are read, from the second word on: 32 words that lie in 5 sectors. In
  // shared memory they are 16 bytes apart.
  const Counts part = OfLine(report, 2);
  EXPECT_EQ(part.async_bytes, 128U);
  EXPECT_EQ(part.global_read_bytes, 64U);
  EXPECT_EQ(part.global_sectors, 5U);
  EXPECT_EQ(part.global_ideal_sectors, 2U);
  EXPECT_EQ(part.shared_wavefronts, 4U);
  const auto total = report.counts.Total();
  EXPECT_EQ(total.classes[static_cast<size_t>(InstClass::kCopyAsync)], 2U);
  EXPECT_EQ(total.classes[static_cast<size_t>(InstClass::kSynchronise)], 1U);
}

TEST(Counts, TensorOperations) {
  const Counts half = OfLast(
      "mov.u32 r3, 0; mov.f32 f0, 0f00000000;\nmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{f1, f2, f3, f4}, {r3, r3, r3, r3}, {r3, r3}, {f0, f0, f0, f0};",
      64);
  EXPECT_EQ(half.tensor_operations, 2U * 2 * 16 * 8 * 16);  // two warps
  const Counts integers = OfLast(
      "mov.u32 r3, 0;\nmma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {r4, r5}, {r3}, {r3}, {r3, "
      "r3};");
  EXPECT_EQ(integers.tensor_operations, 2U * 8 * 8 * 16);
}

TEST(Counts, PartialWarpsAndGuards) {
  // 40 threads: a whole warp and one of 8.
  const Counts all = OfLast("add.u32 r3, r0, 1;", 40);
  EXPECT_EQ(all.warp_instructions, 2U);
  EXPECT_EQ(all.thread_instructions, 40U);
  // The guard holds in 5 lanes of the first warp and none of the second, which executes it too.
  const Counts guarded = OfLast("setp.lt.u32 q0, r0, 5;\n@q0 ld.global.u32 r3, [rd1];", 40);
  EXPECT_EQ(guarded.warp_instructions, 2U);
  EXPECT_EQ(guarded.thread_instructions, 5U);
  EXPECT_EQ(guarded.global_sectors, 1U);
  EXPECT_EQ(guarded.global_read_bytes, 20U);
}

TEST(Counts, DivergenceAndLoops) {
  const LaunchReport report = RunCounting(
      "mov.u32 r3, 0; and.b32 r4, r0, 3;\n"  // 0
      "loop: add.u32 r3, r3, 1;\n"           // 1
      "setp.le.u32 q0, r3, r4;\n"            // 2
      "@q0 bra loop;\n"                      // 3
      "setp.eq.u32 q1, r4, 0;\n"             // 4
      "@q1 bra other;\n"                     // 5
      "add.u32 r5, r3, 1;\n"                 // 6
      "bra meet;\n"                          // 7
      "other: add.u32 r5, r3, 2;\n"          // 8
      "meet: st.global.u32 [rd1], r5;",      // 9
      32);
  // Lane i goes round (i mod 4) + 1 times: the warp 4 times, with 32, 24, 16 and 8 lanes.
  EXPECT_EQ(OfLine(report, 1).warp_instructions, 4U);
  EXPECT_EQ(OfLine(report, 1).thread_instructions, 80U);
  EXPECT_EQ(OfLine(report, 3).warp_instructions, 4U);
  EXPECT_EQ(OfLine(report, 3).thread_instructions, 48U);  // those that go back
  // A quarter of the lanes goes the other way.
  EXPECT_EQ(OfLine(report, 6).warp_instructions, 1U);
  EXPECT_EQ(OfLine(report, 6).thread_instructions, 24U);
  EXPECT_EQ(OfLine(report, 8).thread_instructions, 8U);
  EXPECT_EQ(OfLine(report, 9).warp_instructions, 1U);
  EXPECT_EQ(OfLine(report, 9).thread_instructions, 32U);
}

// An instruction for which lanes wait runs once, in all of them.
TEST(Counts, WaitingIsNotCounted) {
  const LaunchReport report = RunCounting(
      "and.b32 r3, r0, 1; setp.eq.u32 q0, r3, 0;\n"
      "@q0 bra even;\n"
      "add.u32 r4, r0, 3;\n"
      "bra meet;\n"
      "even: add.u32 r4, r0, 2; add.u32 r4, r4, 1;\n"
      "meet: bar.warp.sync 0xffffffff;\n"
      "shfl.sync.bfly.b32 r5, r4, 1, 31, -1;\n"
      "bar.sync 0;",
      64);
  EXPECT_EQ(OfLine(report, 5).warp_instructions, 2U);
  EXPECT_EQ(OfLine(report, 5).thread_instructions, 64U);
  EXPECT_EQ(OfLine(report, 6).warp_instructions, 2U);
  EXPECT_EQ(OfLine(report, 7).warp_instructions, 2U);
  EXPECT_EQ(OfLine(report, 7).barriers, 2U);
  EXPECT_EQ(report.counts.Total().counts.barriers, 2U);
  EXPECT_EQ(report.counts.Total().counts.warp_instructions, report.warp_instructions);
}

// Where some lanes end within a branch, those that stay meet nowhere: they come to the instruction
// one after the other, and the first wait there.
TEST(Counts, LanesThatComeOneAfterTheOther) {
  const LaunchReport report = RunCounting(
      "setp.lt.u32 q0, r0, 16; setp.eq.u32 q1, r0, 31;\n"
      "@q0 bra meet;\n"
      "@q1 ret;\n"
      "add.u32 r4, r0, 3; add.u32 r4, r4, 1; add.u32 r4, r4, 1;\n"
      "meet: bar.warp.sync 0x7fffffff;\n"
      "add.u32 r5, r0, 1;",
      32);
  EXPECT_EQ(OfLine(report, 4).warp_instructions, 1U);
  EXPECT_EQ(OfLine(report, 4).thread_instructions, 31U);
  EXPECT_EQ(OfLine(report, 5).warp_instructions, 2U);
  EXPECT_EQ(OfLine(report, 5).thread_instructions, 31U);
}

TEST(Counts, ShufflesOfLanesThatComeApart) {
  // The two halves come to the shuffle by different ways and at different times.
  const LaunchReport report = RunCounting(
      "setp.lt.u32 q0, r0, 16; mov.u32 r4, r0;\n"
      "@q0 bra low;\n"
      "shfl.sync.bfly.b32 r5, r4, 1, 31, 0xffff0000;\n"
      "bra meet;\n"
      "low: shfl.sync.bfly.b32 r5, r4, 1, 31, 0xffff;\n"
      "meet: st.global.u32 [rd1], r5;",
      32);
  EXPECT_EQ(OfLine(report, 2).thread_instructions, 16U);
  EXPECT_EQ(OfLine(report, 4).thread_instructions, 16U);
}

TEST(Counts, ClassesOfInstructions) {
  const LaunchReport report = RunCounting(
      "mov.f32 f0, 0f3F800000;\n"  // move
      "add.f32 f1, f0, f0; fma.rn.f32 f2, f1, f0, f0;\n"
      "cvt.f64.f32 rd2, f2; add.f64 rd3, rd2, rd2;\n"
      "cvt.rn.f16.f32 h0, f2; add.f16 h1, h0, h0;\n"
      "xor.b32 r3, r0, 5; shl.b32 r3, r3, 1;\n"
      "setp.lt.u32 q0, r3, 7;\n"
      "vote.sync.any.pred q1, q0, -1;\n"
      "membar.gl; prefetch.global.L2 [rd0];",
      32);
  std::map<std::string_view, uint64_t> classes;
  const LineCounts total = report.counts.Total();
  for (size_t i = 0; i < total.classes.size(); ++i) {
    if (total.classes[i] != 0) classes[NameOf(static_cast<InstClass>(i))] = total.classes[i];
  }
  const std::map<std::string_view, uint64_t> expected = {
      {"constant", 1},    {"move", 3}, {"integer", 3}, {"logic", 3},   {"f32", 2},
      {"convert", 2},     {"f64", 1},  {"half", 1},    {"compare", 1}, {"lanes", 1},
      {"synchronise", 1}, {"hint", 1}, {"control", 1}};
  EXPECT_EQ(classes, expected);
}

TEST(Counts, CallsCountTheCallee) {
  const std::string text = std::string(kHeader) + R"(
.func (.param .b32 out) twice(.param .b32 in) {
.reg .b32 r<4>;
ld.param.u32 r0, [in];
add.u32 r1, r0, r0;
st.param.b32 [out], r1;
ret;
}
.visible .entry k(.param .u64 p) {
.reg .b32 r<4>; .reg .b64 rd<4>;
ld.param.u64 rd0, [p];
mov.u32 r0, %tid.x;
{ .param .b32 a; .param .b32 b; st.param.b32 [a], r0; call (b), twice, (a); ld.param.b32 r1, [b]; }
mul.wide.u32 rd1, r0, 4; add.u64 rd1, rd1, rd0; st.global.u32 [rd1], r1;
ret; }
)";
  Machine machine(text);
  const uint64_t memory = machine.Room(256);
  const LaunchReport report = machine.Run("k", {2}, {32}, {memory}, Counting());
  EXPECT_EQ(Text(report), "");
  const auto lines = report.counts.ByLine();
  const auto line = std::ranges::find(lines, 8U, &LineCounts::line);
  ASSERT_NE(line, lines.end());
  EXPECT_EQ(line->counts.warp_instructions, 2U);
  EXPECT_EQ(line->counts.thread_instructions, 64U);
  EXPECT_EQ(report.counts.Total().counts.constant_read_bytes, 2U * 32 * 8);
  EXPECT_EQ(report.counts.Total().counts.local_read_bytes, 0U);
}

TEST(Counts, SourceLines) {
  const LaunchReport report = RunCounting(
      ".loc 1 7 3\nadd.u32 r3, r0, 1;\n.loc 1 9 3\nadd.u32 r3, r3, 1;\nadd.u32 r3, r3, 1;\n.loc 1 "
      "7 "
      "5\nld.global.u32 r4, [rd1];",
      32);
  const auto lines = report.counts.BySourceLine();
  ASSERT_EQ(lines.size(), 3U);  // and what stands before the first .loc
  EXPECT_EQ(lines[0].line, 0U);
  EXPECT_EQ(lines[1].file, 1U);
  EXPECT_EQ(lines[1].line, 7U);
  EXPECT_EQ(lines[1].counts.warp_instructions, 3U);  // with ret
  EXPECT_EQ(lines[1].counts.global_sectors, 4U);
  EXPECT_EQ(lines[2].line, 9U);
  EXPECT_EQ(lines[2].counts.warp_instructions, 2U);
}

// The same numbers with any number of threads of the host, and from run to run.
TEST(Counts, RepeatExactly) {
  const std::string body =
      "mov.u32 r5, %ctaid.x; and.b32 r5, r5, 7; mov.u32 r3, 0;\n"
      "loop: add.u32 r3, r3, 1; red.global.add.u32 [rd1], 1; st.shared.u32 [r2], r3; bar.sync 0;\n"
      "setp.le.u32 q0, r3, r5;\n"
      "@q0 bra loop;";
  const LaunchReport once = RunCounting(body, 96, {50});
  for (const int threads : {1, 2, 5}) {
    const LaunchReport again = RunCounting(body, 96, {50}, Counting(threads));
    ASSERT_EQ(again.counts.instructions.size(), once.counts.instructions.size());
    for (size_t i = 0; i < once.counts.instructions.size(); ++i) {
      EXPECT_EQ(again.counts.instructions[i].counts, once.counts.instructions[i].counts);
    }
  }
  // Block b goes round (b mod 8) + 1 times: 6 rounds of 36 and two blocks of 1 and 2.
  EXPECT_EQ(OfLine(once, 3).warp_instructions, 3U * (6 * 36 + 1 + 2));
  EXPECT_EQ(once.counts.Total().counts.atomics, 96U * (6 * 36 + 1 + 2));
}

TEST(Counts, EveryRowHasAClass) {
  for (const Row& row : Rows()) {
    EXPECT_TRUE(FindClassRule(row.mnemonic).has_value()) << row.mnemonic;
  }
}

// ---- the rules, by themselves ---------------------------------------------------------------

WarpAccess Strided(uint32_t mask, uint32_t bytes, uint64_t first, uint64_t stride) {
  WarpAccess access{mask, bytes, {}};
  for (size_t lane = 0; lane < kLanes; ++lane) access.address[lane] = first + lane * stride;
  return access;
}

TEST(Transactions, OverlappingAccessesAreOneSector) {
  // 8 bytes each, 4 apart: 32 words and one more.
  const Transactions sectors = GlobalSectors(Strided(kAllLanes, 8, 1024, 4));
  EXPECT_EQ(sectors.actual, 5U);
  EXPECT_EQ(sectors.ideal, 5U);  // 132 bytes
  // 32 bytes each, at the end of the address space.
  EXPECT_EQ(GlobalSectors(Strided(kAllLanes, 32, 1 << 20, 32)).actual, 32U);
  EXPECT_EQ(SectorsOf(31, 2), 2U);
  EXPECT_EQ(SectorsOf(32, 32), 1U);
  EXPECT_EQ(SectorsOf(40, 0), 0U);
  EXPECT_EQ(IdealSectors(33), 2U);
}

// Against a plain count: for each phase and bank, the set of its words.
TEST(Transactions, BankConflictsOfRandomAddresses) {
  std::mt19937 random(20240601);
  for (int round = 0; round < 2000; ++round) {
    const uint32_t bytes = 1U << (random() % 5);
    WarpAccess access{static_cast<uint32_t>(random()), bytes, {}};
    for (uint64_t& address : access.address) address = random() % 256 * bytes;
    const size_t lanes = bytes <= 4 ? 32 : 128 / bytes;
    uint64_t wavefronts = 0;
    for (size_t first = 0; first < kLanes; first += lanes) {
      std::map<uint64_t, std::set<uint64_t>> words_of_bank;
      for (size_t lane = first; lane < first + lanes; ++lane) {
        if ((access.mask >> lane & 1) == 0) continue;
        for (uint64_t byte = access.address[lane]; byte < access.address[lane] + bytes; ++byte) {
          words_of_bank[byte / 4 % 32].insert(byte / 4);
        }
      }
      size_t busiest = 0;
      for (const auto& [bank, words] : words_of_bank) busiest = std::max(busiest, words.size());
      wavefronts += busiest;
    }
    EXPECT_EQ(SharedWavefronts(access, false).actual, wavefronts) << bytes;
    std::set<uint64_t> sectors;
    std::set<uint64_t> distinct;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if ((access.mask >> lane & 1) == 0) continue;
      for (uint64_t byte = access.address[lane]; byte < access.address[lane] + bytes; ++byte) {
        sectors.insert(byte / 32);
        distinct.insert(byte);
      }
    }
    EXPECT_EQ(GlobalSectors(access).actual, sectors.size()) << bytes;
    EXPECT_EQ(GlobalSectors(access).ideal, (distinct.size() + 31) / 32) << bytes;
  }
}

}  // namespace
}  // namespace tarsia::ptx::counts_test
