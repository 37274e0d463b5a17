// Where undefined bits come from, and that one fault is one finding.
#include <algorithm>

#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::origin_test {
namespace {

constexpr uint32_t kFirstLine = 8;  // of a body

std::string Entry(const std::string& body, const std::string& before = "") {
  return std::string(kHeader) + before + R"(
.visible .entry k(.param .u64 p) {
.reg .pred p<8>; .reg .b16 h<8>; .reg .b32 r<16>; .reg .b64 rd<8>; .reg .f32 f<8>; .reg .b128 q<2>;
ld.param.u64 rd0, [p]; mov.u32 r0, %tid.x; mul.wide.u32 rd1, r0, 4; add.u64 rd1, rd1, rd0;
)" + body +
         "\nret;\n}\n";
}

LaunchReport RunOn(const std::string& text, uint32_t threads, bool defined = true) {
  Machine machine(text);
  const uint64_t address = defined ? machine.Put(std::vector<uint32_t>(64, 1)) : machine.Room(256);
  return machine.Run("k", {1}, {threads}, {address});
}

// Expects one finding, whose bits come from a line of the body, counted from 0.
void ExpectOrigin(const std::string& body, uint32_t line, const std::string& name,
                  uint32_t threads = 1, const std::string& before = "", bool defined = true) {
  const LaunchReport report = RunOn(Entry(body, before), threads, defined);
  ASSERT_EQ(report.findings.size(), 1U) << Text(report) << body;
  const Finding& finding = report.findings[0];
  EXPECT_EQ(finding.kind, FindingKind::kUninitialised) << Text(report);
  ASSERT_TRUE(finding.origin) << Text(report) << body;
  const auto lines_before = static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n'));
  EXPECT_EQ(finding.origin->location.line, kFirstLine - 1 + lines_before + line) << body;
  EXPECT_EQ(finding.origin_name, name) << body;
}

constexpr char kShared[] = ".shared .align 16 .b8 x[512];\n";

TEST(Origin, IsTheLoadOfWhatNobodyWrote) {
  ExpectOrigin("ld.global.u32 r1, [rd1];\nadd.u32 r2, r1, 1;\nst.global.u32 [rd1], r2;", 1,
               "the ld", 1, "", false);
  ExpectOrigin(
      "ld.shared.u32 r1, [x];\nshl.b32 r1, r1, 2;\nxor.b32 r2, r1, 5;\n"
      "mov.b32 {h1, h2}, r2;\ncvt.u32.u16 r3, h2;\nst.global.u32 [rd1], r3;",
      1, "the ld", 1, kShared);
  ExpectOrigin(
      "mov.u32 r1, x;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {r2}, [r1];\n"
      "st.global.u32 [rd1], r2;",
      2, "the ldmatrix", 32, kShared);
  ExpectOrigin("ld.shared.b128 q0, [x];\nmov.b128 {rd2, rd3}, q0;\nst.global.u64 [rd0], rd2;", 1,
               "the ld", 1, kShared);
}

// Through memory: what was stored there came from elsewhere.
TEST(Origin, GoesThroughMemory) {
  ExpectOrigin(
      "ld.shared.u32 r1, [x];\nst.shared.u32 [x+64], r1;\nld.shared.u32 r2, [x+64];\n"
      "st.global.u32 [rd1], r2;",
      1, "the ld", 1, kShared);
  ExpectOrigin(
      ".local .b32 v;\nld.shared.u32 r1, [x];\nst.local.u32 [v], r1;\n"
      "ld.local.u32 r2, [v];\nst.global.u32 [rd1], r2;",
      2, "the ld", 1, kShared);
  // A parameter of a call.
  ExpectOrigin(
      "{ .param .b32 a;\nld.shared.u32 r1, [x];\nst.param.b32 [a], r1;\n"
      "call f, (a); }",
      2, "the ld", 1,
      std::string(kShared) +
          ".global .b32 g;\n.func f(.param .b32 a) { .reg .b32 s; ld.param.b32 s, [a]; "
          "st.global.b32 [g], s; ret; }\n");
  // An asynchronous copy of what nobody wrote.
  ExpectOrigin(
      "mov.u32 r1, x;\ncp.async.ca.shared.global [r1], [rd0], 16;\n"
      "cp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.u32 r2, [x];\n"
      "st.global.u32 [rd1], r2;",
      2, "the cp", 1, kShared, false);
}

TEST(Origin, IsTheShuffleFromALaneThatTakesNoPart) {
  ExpectOrigin(
      "mov.u32 r1, 7;\nsetp.lt.u32 p1, r0, 8;\n@!p1 bra end;\n"
      "shfl.sync.idx.b32 r2, r1, 9, 31, 0xFF;\nadd.u32 r2, r2, 1;\n"
      "st.global.u32 [rd1], r2;\nend:",
      4, "the shfl", 32);
  // Of one that does take part it is what made its bits undefined.
  ExpectOrigin(
      "ld.shared.u32 r1, [x];\nshfl.sync.idx.b32 r2, r1, 3, 31, -1;\n"
      "st.global.u32 [rd1], r2;",
      1, "the ld", 32, kShared);
}

TEST(Origin, IsTheAllocaOrTheVariable) {
  ExpectOrigin("alloca.u64 rd2, 16;\nld.local.u32 r1, [rd2+4];\nst.global.u32 [rd1], r1;", 1,
               "the alloca");
  ExpectOrigin(
      ".local .align 4 .b8 depot[16];\nst.local.u32 [depot], 1;\n"
      "ld.local.u32 r1, [depot+4];\nst.global.u32 [rd1], r1;",
      1, "the local variable `depot`");
}

// A register that nobody wrote: the first to read it.
TEST(Origin, IsTheFirstReaderOfARegister) {
  ExpectOrigin("mov.u32 r1, r5;\nadd.u32 r2, r1, r1;\nst.global.u32 [rd1], r2;", 1, "the mov");
  ExpectOrigin("st.global.u32 [rd1], r5;", 1, "the st");
  ExpectOrigin("setp.eq.u32 p1, r5, 3;\n@p1 bra end;\nend:", 1, "the setp");
  // In some lanes alone.
  ExpectOrigin(
      "ld.shared.u32 r1, [x];\nsetp.lt.u32 p1, r0, 8;\n@p1 mov.u32 r1, 4;\n"
      "st.global.u32 [rd1], r1;",
      1, "the ld", 32, kShared);
}

TEST(Origin, ComesFromTheSourcesOfWhatLanesDoTogether) {
  ExpectOrigin("ld.shared.u32 r1, [x];\nredux.sync.add.s32 r2, r1, -1;\nst.global.u32 [rd1], r2;",
               1, "the ld", 32, kShared);
  ExpectOrigin(
      "ld.shared.u32 r1, [x];\nmov.u32 r2, 0; mov.u32 r3, 0; mov.f32 f1, 0f00000000;\n"
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f2, f3, f4, f5}, {r1, r2}, {r3}, "
      "{f1, f1, f1, f1};\nst.global.f32 [rd1], f2;",
      1, "the ld", 32, kShared);
}

// ---- one fault, one finding --------------------------------------------------------------------

// Whether a run has one finding, of this kind.
void ExpectOnly(FindingKind kind, const std::string& body, uint32_t threads = 1,
                bool defined = true) {
  const LaunchReport report = RunOn(Entry(body, kShared), threads, defined);
  ASSERT_EQ(report.findings.size(), 1U) << Text(report) << body;
  EXPECT_EQ(report.findings[0].kind, kind) << Text(report);
}

TEST(OneFault, WhatABadAccessLoadsIsDefined) {
  for (const char* load : {
           "ld.global.u32 r1, [rd0+256];",
           "ld.global.v2.u32 {r1, r2}, [rd0+256];",
           "atom.global.add.u32 r1, [rd0+256], 1;",
           "atom.global.cas.b32 r1, [rd0+256], 1, 2;",
           "ld.shared.u32 r1, [x+512];",
           "mov.u32 r2, x; cp.async.ca.shared.global [r2], [rd0+256], 16; cp.async.commit_group; "
           "cp.async.wait_group 0; ld.shared.u32 r1, [x+4];",
       }) {
    ExpectOnly(FindingKind::kOutOfBounds, std::string(load) +
                                              "\nadd.u32 r1, r1, 1;\nst.global.u32 [rd0], r1;\n"
                                              "setp.eq.u32 p1, r1, 0;\n@p1 bra end;\nend:");
  }
  ExpectOnly(FindingKind::kMisaligned, "ld.global.u32 r1, [rd0+2];\nst.global.u32 [rd0], r1;");
  ExpectOnly(FindingKind::kOutOfBounds, "ld.global.b128 q0, [rd0+256];\nst.global.b128 [rd0], q0;");
  ExpectOnly(FindingKind::kOutOfBounds,
             "atom.global.exch.b128 q0, [rd0+256], q1;\nst.global.b128 [rd0], q0;");
  ExpectOnly(FindingKind::kOutOfBounds,
             "mov.u32 r1, x; add.u32 r1, r1, 512;\n"
             "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r2}, [r1];\nst.global.u32 [rd1], r2;",
             32);
}

// What has been reported counts as defined, in registers and in memory.
TEST(OneFault, WhatIsReportedIsNotReportedAgain) {
  ExpectOnly(FindingKind::kUninitialised,
             "st.global.u32 [rd0], r5;\nst.global.u32 [rd0+4], r5;\nld.global.u32 r1, [rd0];\n"
             "st.global.u32 [rd0+8], r1;");
  ExpectOnly(FindingKind::kUninitialised,
             "setp.eq.u32 p1, r5, 3;\n@p1 bra next;\nnext:\n@p1 bra end;\nend:");
  ExpectOnly(FindingKind::kUninitialised,
             "red.global.add.u32 [rd1], 1;\nred.global.add.u32 [rd1], 1;\n"
             "ld.global.u32 r1, [rd1];\nst.global.u32 [rd1], r1;",
             1, false);
  ExpectOnly(FindingKind::kUninitialised,
             "atom.global.add.u32 r1, [rd1], 1;\nst.global.u32 [rd1+4], r1;", 1, false);
}

// An undefined address says nothing of where it points.
TEST(OneFault, AnUndefinedAddressIsNotOutOfBounds) {
  for (const char* access : {"ld.global.u32 r1, [rd5];", "st.global.u32 [rd5], 1;",
                             "red.global.add.u32 [rd5], 1;", "ld.shared.u32 r1, [r5];"}) {
    ExpectOnly(FindingKind::kUninitialised, access);
  }
}

// A thread that waits for bytes that never come, because their copy was wrong, waits for that
// fault.
TEST(OneFault, NobodyIsToldThatABadCopyDoesNotCome) {
  const std::string begin =
      "mov.u32 r1, x; mbarrier.init.shared.b64 [x], 1; fence.mbarrier_init.release.cluster;\n"
      "add.u32 r2, r1, 64; mbarrier.arrive.expect_tx.shared.b64 rd2, [x], 32;\n";
  const std::string wait = "\nagain: mbarrier.try_wait.shared.b64 p1, [x], rd2;\n@!p1 bra again;";
  ExpectOnly(FindingKind::kOutOfBounds,
             begin +
                 "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [r2], "
                 "[rd0+240], 32, [r1];" +
                 wait);
  ExpectOnly(FindingKind::kMisaligned,
             begin +
                 "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [r2+8], "
                 "[rd0], 32, [r1];" +
                 wait);
}

}  // namespace
}  // namespace tarsia::ptx::origin_test
