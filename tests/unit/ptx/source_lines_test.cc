// The user's own line of an instruction, the other access of a race, groups and severities.
#include "ptx/parse/source_lines.h"

#include <algorithm>

#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::source_lines_test {
namespace {

std::string Entry(const std::string& body, const std::string& before = "") {
  return std::string(kHeader) + before + R"(
.visible .entry k(.param .u64 p) {
.reg .pred p<8>; .reg .b32 r<16>; .reg .b64 rd<8>;
ld.param.u64 rd0, [p]; mov.u32 r0, %tid.x; mul.wide.u32 rd1, r0, 4; add.u64 rd1, rd1, rd0;
mov.u32 r1, x; shl.b32 r2, r0, 2; add.u32 r2, r2, r1; mov.u32 r10, %ctaid.x;
)" + body +
         "\nret;\n}\n";
}

constexpr char kShared[] = ".shared .align 16 .b8 x[1024];\n";

LaunchReport RunOn(const std::string& text, uint32_t threads, uint32_t blocks = 1) {
  Machine machine(text);
  return machine.Run("k", {blocks}, {threads}, {machine.Put(std::vector<uint32_t>(64, 0))});
}

TEST(SourceLines, KnowsHeadersOfLibraries) {
  for (const char* file :
       {"/usr/local/cuda/include/cuda_fp16.hpp", "cuda_bf16.hpp", "cuda_fp16.h", "crt/sm_80_rt.hpp",
        "cooperative_groups.h", "cooperative_groups/details/helpers.h", "sm_30_intrinsics.hpp",
        "device_atomic_functions.hpp", "cuda_pipeline_helpers.h", "/opt/cutlass/include/cute/a.hpp",
        "cccl/cuda/std/__atomic/types/base.h", "../include/cuda/std/atomic", "mma.h"}) {
    EXPECT_TRUE(IsLibraryHeader(file)) << file;
  }
  for (const char* file :
       {"kernel.cu", "kernels/async.cuh", "src/flash_fwd_kernel.h", "common.h", "cuda_kernels.cu",
        "matmul.tsa", "ggml-cuda/mmq.cuh", "device_kernel.cu", "included/x.h"}) {
    EXPECT_FALSE(IsLibraryHeader(file)) << file;
  }
}

constexpr char kFiles[] =
    ".file 1 \"src/kernel.cu\"\n.file 2 \"/usr/local/cuda/include/cuda_fp16.hpp\"\n"
    ".file 3 \"src/tile.cuh\"\n";

// As nvcc writes it: each place that inlines before what is inlined there.
TEST(SourceLines, FollowsInlinedPlacesToTheUsersOwn) {
  const auto line_of = [](const std::string& locs) {
    const LaunchReport report =
        RunOn(Entry(locs + "\nld.global.u32 r3, [rd0+1];", std::string(kShared) + kFiles), 1);
    EXPECT_EQ(report.findings.size(), 1U);
    if (report.findings.size() != 1) return std::string();
    const Finding& finding = report.findings[0];
    return fmt::format("{}:{}", finding.source_file, finding.source_line);
  };
  EXPECT_EQ(line_of(".loc 1 17 3"), "1:17");
  EXPECT_EQ(line_of(".loc 1 17 3\n.loc 2 900 5, function_name $L__info_string0, inlined_at 1 17 3"),
            "1:17");
  EXPECT_EQ(line_of(".loc 1 17 3\n.loc 2 700 5, function_name $L__info_string0, inlined_at 1 17 3\n"
                    ".loc 2 800 1, function_name $L__info_string1, inlined_at 2 700 5"),
            "1:17");
  // A header of the user's own.
  EXPECT_EQ(line_of(".loc 1 17 3\n.loc 3 40 5, function_name $L__info_string0, inlined_at 1 17 3\n"
                    ".loc 2 800 1, function_name $L__info_string1, inlined_at 3 40 5"),
            "3:40");
  // The same place of a header, inlined in two places: that which was said last counts.
  EXPECT_EQ(line_of(".loc 1 17 3\n.loc 2 900 5, function_name $L__info_string0, inlined_at 1 17 3\n"
                    ".loc 1 18 3\n.loc 2 900 5, function_name $L__info_string0, inlined_at 1 18 3"),
            "1:18");
  // The same for what is inlined there in turn.
  EXPECT_EQ(line_of(".loc 1 17 3\n.loc 2 700 5, function_name $L__info_string0, inlined_at 1 17 3\n"
                    ".loc 1 18 3\n.loc 2 700 5, function_name $L__info_string0, inlined_at 1 18 3\n"
                    ".loc 2 800 1, function_name $L__info_string1, inlined_at 2 700 5"),
            "1:18");
  // A line without inlined_at is of no caller, whatever was said of the place before.
  EXPECT_EQ(line_of(".loc 3 40 5, function_name $L__info_string0, inlined_at 1 17 3\n"
                    ".loc 3 40 5\n.loc 3 41 5"),
            "3:41");
  // Nothing but headers: the innermost.
  EXPECT_EQ(line_of(".loc 2 900 5"), "2:900");
  // Line 0 is of what the compiler adds.
  EXPECT_EQ(line_of(".loc 1 17 3\n.loc 3 0 5, function_name $L__info_string0, inlined_at 1 17 3"),
            "1:17");
}

// What is no .loc is read over, as before.
TEST(SourceLines, TakesAnyRestOfTheLine) {
  for (const char* loc : {".loc 1 17", ".loc 1 17 3 is_stmt", ".loc 1 17 3, function_name x+16",
                          ".loc 1 17 3, function_name x, inlined_at 1"}) {
    const LaunchReport report = RunOn(
        Entry(std::string(loc) + "\nld.global.u32 r3, [rd0+1];", std::string(kShared) + kFiles), 1);
    ASSERT_EQ(report.findings.size(), 1U) << loc;
    EXPECT_EQ(report.findings[0].source_line, 17U) << loc;
  }
}

// ---- the other access --------------------------------------------------------------------------

TEST(RaceFinding, NamesTheOtherAccessAndTheOrder) {
  const auto expect = [](const std::string& body, AccessOrder order) {
    const LaunchReport report = RunOn(Entry(body, std::string(kShared) + kFiles), 64);
    ASSERT_EQ(report.findings.size(), 1U) << Text(report) << body;
    const Finding& finding = report.findings[0];
    EXPECT_EQ(finding.kind, FindingKind::kRace);
    EXPECT_EQ(finding.order, order) << Text(report);
    EXPECT_EQ(finding.source_line, 12U);
    ASSERT_TRUE(finding.other);
    EXPECT_EQ(finding.location.line - finding.other->location.line, 2U);
    EXPECT_NE(finding.message.find("(kernel.cu:10)"), std::string::npos) << finding.message;
    EXPECT_EQ(finding.severity, Severity::kCertain);
  };
  // Warp 0 goes first, and after a barrier the warp that came to it last.
  const std::string first = "xor.b32 r3, r2, 128; setp.lt.u32 p1, r0, 32;\n";
  const std::string here = "\n.loc 1 12 3\n";
  expect(first + ".loc 1 10 3\n@p1 st.shared.u32 [r2], r0;" + here + "@!p1 ld.shared.u32 r4, [r3];",
         AccessOrder::kReadAfterWrite);
  expect(first + "st.shared.u32 [r2], r0; bar.sync 0;\n.loc 1 10 3\n@!p1 ld.shared.u32 r4, [r2];" +
             here + "@p1 st.shared.u32 [r3], 77;",
         AccessOrder::kWriteAfterRead);
  expect(first + ".loc 1 10 3\n@p1 st.shared.u32 [r2], r0;" + here + "@!p1 st.shared.u32 [r3], 77;",
         AccessOrder::kWriteAfterWrite);
}

// ---- groups ------------------------------------------------------------------------------------

// One missing barrier, seen by each of the instructions that a line of the source became.
TEST(Groups, AreOfALineOfTheSource) {
  std::string body =
      "xor.b32 r3, r2, 128; setp.lt.u32 p1, r0, 32;\n.loc 1 10 3\n@p1 st.shared.u32 [r2], r0;\n"
      ".loc 1 12 3\n";
  for (int i = 0; i < 20; ++i) body += fmt::format("@!p1 ld.shared.u32 r{}, [r3];\n", 4 + i % 4);
  body += "@!p1 st.shared.u32 [r3], 77;\n";
  const LaunchReport report = RunOn(Entry(body, std::string(kShared) + kFiles), 64);
  EXPECT_EQ(report.findings.size(), 21U);
  const auto groups = GroupBySourceLine(report.findings);
  ASSERT_EQ(groups.size(), 2U);  // reads after the write, and a write after it
  EXPECT_EQ(groups[0].first.order, AccessOrder::kReadAfterWrite);
  EXPECT_EQ(groups[0].lines.size(), 20U);
  EXPECT_EQ(groups[0].first.location, report.findings[0].location);
  uint64_t count = 0;
  for (size_t i = 0; i < 20; ++i) count += report.findings[i].count;
  EXPECT_EQ(groups[0].first.count, count);
  EXPECT_EQ(groups[1].lines.size(), 1U);
}

TEST(Groups, WithoutASourceAreOfALineOfThePtx) {
  std::string body = "xor.b32 r3, r2, 128; setp.lt.u32 p1, r0, 32;\n@p1 st.shared.u32 [r2], r0;\n";
  for (int i = 0; i < 3; ++i) body += fmt::format("@!p1 ld.shared.u32 r{}, [r3];\n", 4 + i);
  const LaunchReport report = RunOn(Entry(body, kShared), 64);
  EXPECT_EQ(GroupBySourceLine(report.findings).size(), 3U);
}

// ---- severity ----------------------------------------------------------------------------------

// Block 0 writes a word and raises a flag; block 1 waits for the flag and reads the word.
LaunchReport HandOver(const std::string& raise, const std::string& look) {
  return RunOn(Entry("setp.ne.u32 p1, r10, 0;\n@p1 bra reader;\nst.global.u32 [rd0], 5;\n" + raise +
                         "\nbra end;\nreader:\n" + look +
                         " setp.eq.u32 p2, r4, 0;\n@p2 bra reader;\nld.global.u32 r5, [rd0];\nend:",
                     kShared),
               1, 2);
}

TEST(SeverityOfRaces, IsOfTheMemoryModelWhereAFlagIsSeen) {
  const auto severity = [](const std::string& raise, const std::string& look) {
    const LaunchReport report = HandOver(raise, look);
    EXPECT_EQ(report.findings.size(), 1U) << Text(report);
    return report.findings.empty() ? Severity::kCertain : report.findings[0].severity;
  };
  const std::string relaxed = "st.relaxed.gpu.global.u32 [rd0+128], 1;";
  const std::string look = "ld.relaxed.gpu.global.u32 r4, [rd0+128];";
  EXPECT_EQ(severity(relaxed, look), Severity::kMemoryModel);
  EXPECT_EQ(
      severity("st.volatile.global.u32 [rd0+128], 1;", "ld.volatile.global.u32 r4, [rd0+128];"),
      Severity::kMemoryModel);
  EXPECT_EQ(severity("st.release.gpu.global.u32 [rd0+128], 1;", look), Severity::kMemoryModel);
  EXPECT_EQ(severity(relaxed, "ld.acquire.gpu.global.u32 r4, [rd0+128];"), Severity::kMemoryModel);
  EXPECT_EQ(severity(relaxed, "atom.relaxed.gpu.global.add.u32 r4, [rd0+128], 0;"),
            Severity::kMemoryModel);
  // With both there is nothing to find.
  EXPECT_TRUE(HandOver("st.release.gpu.global.u32 [rd0+128], 1;",
                       "ld.acquire.gpu.global.u32 r4, [rd0+128];")
                  .ok());
}

// A flag that is raised before the word is written, or that nobody waits for, orders nothing.
TEST(SeverityOfRaces, IsCertainWhereNothingOrders) {
  LaunchReport report = RunOn(
      Entry("setp.ne.u32 p1, r10, 0;\n@p1 bra reader;\nst.relaxed.gpu.global.u32 [rd0+128], 1; "
            "bar.sync 0;\nst.global.u32 [rd0], 5;\nbra end;\nreader:\n"
            "ld.relaxed.gpu.global.u32 r4, [rd0+128];\nld.global.u32 r5, [rd0];\nend:",
            kShared),
      1, 2);
  ASSERT_EQ(report.findings.size(), 1U) << Text(report);
  EXPECT_EQ(report.findings[0].severity, Severity::kCertain);
  report = RunOn(
      Entry("st.global.u32 [rd0], r10;\nred.relaxed.gpu.global.add.u32 [rd0+128], 1;", kShared), 1,
      2);
  ASSERT_EQ(report.findings.size(), 1U) << Text(report);
  EXPECT_EQ(report.findings[0].severity, Severity::kCertain);
}

TEST(SeverityOfFindings, AFenceOfAProxyIsOfTheMemoryModel) {
  const LaunchReport report =
      RunOn(Entry("st.shared.u32 [x], 1; st.shared.u32 [x+4], 1; st.shared.u32 [x+8], 1; "
                  "st.shared.u32 [x+12], 1;\n"
                  "cp.async.bulk.global.shared::cta.bulk_group [rd0], [r1], 16;\n"
                  "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
                  kShared),
            1);
  ASSERT_EQ(report.findings.size(), 1U) << Text(report);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kProxy);
  EXPECT_EQ(report.findings[0].severity, Severity::kMemoryModel);
}

// ---- the order of blocks -----------------------------------------------------------------------

// Each block draws the next ticket and writes it at its number.
std::vector<uint32_t> OrderOf(uint64_t seed, uint32_t blocks, uint64_t first = 0,
                              uint64_t end = UINT64_MAX) {
  Machine machine(std::string(kHeader) + R"(
.visible .entry k(.param .u64 p) {
.reg .b32 r<4>; .reg .b64 rd<4>;
ld.param.u64 rd0, [p]; mov.u32 r0, %ctaid.x; mul.wide.u32 rd1, r0, 4; add.u64 rd1, rd1, rd0;
atom.global.add.u32 r1, [rd0], 1; st.global.u32 [rd1+4], r1; ret; }
)");
  LaunchConfig config;
  config.seed = seed;
  config.first_block = first;
  config.end_block = end;
  const uint64_t address = machine.Put(std::vector<uint32_t>(blocks + 1, 0));
  const LaunchReport report = machine.Run("k", {blocks}, {1}, {address}, config);
  EXPECT_TRUE(report.ok()) << Text(report);
  auto order = machine.Get<uint32_t>(address + 4, blocks);
  EXPECT_EQ(machine.Get<uint32_t>(address, 1)[0], std::min<uint64_t>(end, blocks) - first);
  return order;
}

TEST(Seed, OrdersTheBlocks) {
  for (const uint32_t blocks : {1U, 2U, 7U, 64U, 100U, 1000U}) {
    std::vector<uint32_t> in_order(blocks);
    for (uint32_t i = 0; i < blocks; ++i) in_order[i] = i;
    EXPECT_EQ(OrderOf(0, blocks), in_order);
    for (const uint64_t seed : {1U, 2U, 77U}) {
      std::vector<uint32_t> order = OrderOf(seed, blocks);
      EXPECT_EQ(order, OrderOf(seed, blocks));
      EXPECT_TRUE(blocks < 64 || order != in_order) << seed;
      std::sort(order.begin(), order.end());
      EXPECT_EQ(order, in_order) << "each block runs once";
    }
    EXPECT_TRUE(blocks < 64 || OrderOf(1, blocks) != OrderOf(2, blocks));
  }
  const std::vector<uint32_t> some = OrderOf(5, 100, 10, 30);
  EXPECT_EQ(std::count(some.begin(), some.end(), 0U), 81);  // 80 that did not run, and the first
}

}  // namespace
}  // namespace tarsia::ptx::source_lines_test
