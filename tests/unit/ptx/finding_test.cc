// What the emulator reports: each kind of finding, with its place and its words; and what it must
// not report.
#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::finding_test {
namespace {

std::string Entry(const std::string& body, const std::string& before = "") {
  return std::string(kHeader) + before + R"(
.visible .entry k(.param .u64 p) {
.reg .pred p<8>; .reg .b16 h<8>; .reg .b32 r<16>; .reg .b64 rd<8>; .reg .f32 f<8>;
ld.param.u64 rd0, [p]; mov.u32 r0, %tid.x; mul.wide.u32 rd1, r0, 4; add.u64 rd1, rd1, rd0;
)" + body +
         "\nret;\n}\n";
}

struct Outcome {
  LaunchReport report;
  std::string text;
  uint64_t address = 0;
};

// Runs on an array of 64 words.
Outcome RunOn(const std::string& text, uint32_t threads, bool defined = true,
              LaunchConfig config = {}) {
  Machine machine(text);
  Outcome out;
  out.address = defined ? machine.Put(std::vector<uint32_t>(64, 1)) : machine.Room(256);
  out.report = machine.Run("k", {1}, {threads}, {out.address}, config);
  out.text = Text(out.report);
  return out;
}

// Expects one finding, and that its message holds the words.
void ExpectOne(const std::string& text, uint32_t threads, FindingKind kind,
               const std::string& words, bool defined = true) {
  const Outcome out = RunOn(text, threads, defined);
  ASSERT_EQ(out.report.findings.size(), 1U) << out.text << text;
  EXPECT_EQ(out.report.findings[0].kind, kind) << out.text;
  EXPECT_NE(out.report.findings[0].message.find(words), std::string::npos) << out.text;
}

TEST(Finding, OutOfBounds) {
  const Outcome out = RunOn(Entry("ld.global.u32 r1, [rd1+252];\nst.global.u32 [rd1], 5;"), 4);
  ASSERT_EQ(out.report.findings.size(), 1U) << out.text;
  const Finding& finding = out.report.findings[0];
  EXPECT_EQ(finding.kind, FindingKind::kOutOfBounds);
  EXPECT_EQ(finding.location.line, 8U);
  EXPECT_EQ(finding.thread, (Dim3{1, 0, 0}));
  EXPECT_EQ(finding.count, 3U);
  EXPECT_EQ(finding.message,
            fmt::format("reads 4 bytes at global address 0x{:x}: 0 bytes past the allocation of "
                        "256 bytes at 0x{:x}",
                        out.address + 256, out.address));
  ExpectOne(Entry("mov.u64 rd2, 0; st.u32 [rd2], 1;"), 1, FindingKind::kOutOfBounds,
            "no allocation");
  ExpectOne(Entry("mov.u32 r1, 0; ld.shared.u32 r2, [r1];", ".shared .b8 x[16];\n"), 1,
            FindingKind::kOutOfBounds, "shared address 0x0");
  ExpectOne(Entry("ld.shared.u32 r2, [x+16];", ".shared .b8 x[16];\n"), 1,
            FindingKind::kOutOfBounds, "the block has 16 bytes");
  ExpectOne(Entry(".local .b8 x[16]; st.local.u32 [x+16], 1;"), 1, FindingKind::kOutOfBounds,
            "local address");
  ExpectOne(Entry("st.global.u32 [c], 1;", ".const .b32 c = 4;\n"), 1, FindingKind::kOutOfBounds,
            "constant");
  ExpectOne(Entry("ld.param.u32 r1, [p+8];"), 1, FindingKind::kOutOfBounds,
            "8 bytes of parameters");
}

// What is handed on through memory must be there, too.
TEST(Finding, StrongAccessesOutOfBounds) {
  for (const char* access :
       {"st.release.gpu.shared.b32 [rd2], 1;", "ld.acquire.gpu.shared.b32 r2, [rd2];",
        "atom.acq_rel.gpu.shared.add.u32 r2, [rd2], 1;"}) {
    ExpectOne(Entry("fence.acq_rel.gpu; atom.release.gpu.global.add.u32 r3, [rd0], 1;\n"
                    "mov.u64 rd2, 0x70000000000; " +
                    std::string(access)),
              1, FindingKind::kOutOfBounds, "");
  }
}

TEST(Finding, Misaligned) {
  ExpectOne(Entry("ld.global.u32 r1, [rd0+2];"), 1, FindingKind::kMisaligned,
            "is not a multiple of 4");
  ExpectOne(Entry("ld.global.v4.u32 {r1, r2, r3, r4}, [rd0+8];"), 1, FindingKind::kMisaligned,
            "reads 16 bytes");
}

TEST(Finding, Uninitialised) {
  ExpectOne(Entry("st.global.u32 [rd1], r5;"), 1, FindingKind::kUninitialised, "stores bits");
  ExpectOne(Entry("setp.eq.u32 p1, r5, 3;\n@p1 bra end;\nend:"), 1, FindingKind::kUninitialised,
            "the guard");
  ExpectOne(Entry("and.b64 rd5, rd5, 63; and.b64 rd5, rd5, -4; add.u64 rd5, rd5, rd0;\n"
                  "ld.global.u32 r1, [rd5];"),
            1, FindingKind::kUninitialised, "the address");
  ExpectOne(Entry("ld.shared.u32 r1, [x]; add.u32 r1, r1, 1; st.global.u32 [rd1], r1;",
                  ".shared .align 4 .b8 x[16];\n"),
            1, FindingKind::kUninitialised, "stores bits");
  ExpectOne(Entry("ld.global.u32 r1, [rd1]; st.global.u32 [rd1], r1;"), 1,
            FindingKind::kUninitialised, "stores bits", false);
  ExpectOne(Entry("red.global.add.u32 [rd1], 1;"), 1, FindingKind::kUninitialised, "updates",
            false);
  ExpectOne(Entry("red.global.or.b32 [rd1], r5;"), 1, FindingKind::kUninitialised, "updates");
}

// Changing a part of a word whose other bits were never written, as code for 4-bit codes and for
// halves of pairs does: the other bits go back to where they were.
TEST(Finding, UndefinedBitsMayGoBack) {
  const auto findings = [](const std::string& body, const std::string& before = "") {
    return RunOn(Entry(body, before), 1, false).report.findings.size();
  };
  const std::string load = "ld.global.u8 r1, [rd1+1];\n";
  for (const char* merge : {
           "and.b32 r1, r1, 0xF0; or.b32 r1, r1, 5; st.global.u8 [rd1+1], r1;",
           "shl.b32 r1, r1, 8; and.b32 r1, r1, 0xF000; or.b32 r1, r1, 0x500; shr.u32 r1, r1, 8;"
           "st.global.u8 [rd1+1], r1;",
           "lop3.b32 r1, r1, 0xF0, 5, 0xEA; st.global.u8 [rd1+1], r1;",
           "bfi.b32 r1, 5, r1, 0, 4; st.global.u8 [rd1+1], r1;",
           "bfe.u32 r1, r1, 4, 4; shl.b32 r1, r1, 4; st.global.u8 [rd1+1], r1;",
           "cvt.u16.u32 h1, r1; and.b16 h1, h1, 0x0F; mov.b16 h2, h1; xor.b16 h2, h2, 0x30;"
           "st.global.u8 [rd1+1], h2;",
           "mov.b32 {h1, h2}, r1; and.b16 h1, h1, 0xF; mov.b32 r1, {h1, h2}; st.global.u8 [rd1+1], "
           "r1;",
           "setp.eq.u32 p1, r0, 0; and.b32 r1, r1, 15; selp.b32 r1, r1, r5, p1;"
           "st.global.u8 [rd1+1], r1;",
       }) {
    EXPECT_EQ(findings(load + merge), 0U) << merge;
  }
  // They do not where another place, other bits of it or changed bits are stored, nor where nothing
  // else is.
  for (const char* other : {
           "and.b32 r1, r1, 0xF0; or.b32 r1, r1, 5; st.global.u8 [rd1+2], r1;",
           "and.b32 r1, r1, 0xF0; shr.u32 r1, r1, 1; st.global.u8 [rd1+1], r1;",
           "and.b32 r1, r1, 0xF0; xor.b32 r1, r1, 0x10; st.global.u8 [rd1+1], r1;",
           "and.b32 r1, r1, 0xF0; not.b32 r1, r1; st.global.u8 [rd1+1], r1;",
           "lop3.b32 r1, r1, 0xF0, 5, 0x3F; st.global.u8 [rd1+1], r1;",
           "and.b32 r1, r1, 0xF0; add.u32 r1, r1, 16; st.global.u8 [rd1+1], r1;",
           "and.b32 r1, r1, 0xF0; and.b32 r2, r5, 0xF; or.b32 r1, r1, r2; st.global.u8 [rd1+1], "
           "r1;",
           "st.global.u8 [rd1+1], r1;",
           "and.b32 r1, r1, 0xF0; st.global.u8 [rd1+1], 7; st.global.u8 [rd1+1], r1;",
           "and.b32 r5, r5, 0xF0; st.global.u8 [rd1+1], r5;",
       }) {
    EXPECT_EQ(findings(load + other), 1U) << other;
  }
}

// The loop around a compare-and-swap asks whether its word has changed, not what is in it.
TEST(Finding, CompareAndSwapMayCarryUndefinedBits) {
  const auto loop = [](const std::string& merge,
                       const std::string& compare = "setp.ne.u32 p1, r3, r1;") {
    return "ld.relaxed.gpu.global.u32 r1, [rd0];\nagain:\n" + merge +
           "atom.relaxed.gpu.global.cas.b32 r3, [rd0], r1, r2;\n" + compare +
           "\nmov.b32 r1, r3;\n@p1 bra again;\n";
  };
  const std::string mine =
      "mov.u32 r4, 15; mul.lo.u32 r6, r0, 4; shl.b32 r4, r4, r6; not.b32 r7, r4;"
      "and.b32 r4, r4, 0x33333333; and.b32 r2, r1, r7; or.b32 r2, r2, r4;\n";
  // Eight threads write a code each, so that their words change under them; then all of it is
  // known.
  const Outcome all = RunOn(Entry(loop(mine) + "bar.sync 0;\nld.relaxed.gpu.global.u32 r1, [rd0];\n"
                                               "st.global.u32 [rd1+32], r1;"),
                            8, false);
  EXPECT_EQ(all.text, "");
  // Of seven codes the last is not.
  const Outcome some =
      RunOn(Entry(loop(mine) + "bar.sync 0;\nld.relaxed.gpu.global.u32 r1, [rd0];\n"
                               "st.global.u32 [rd1+32], r1;"),
            7, false);
  EXPECT_EQ(some.report.findings.size(), 1U) << some.text;
  // Adding to what is there asks what it is; so does comparing with a number.
  EXPECT_EQ(RunOn(Entry(loop("add.u32 r2, r1, 1;\n")), 1, false).report.findings.size(), 2U);
  EXPECT_EQ(RunOn(Entry(loop(mine, "setp.ne.u32 p1, r3, 7; setp.ne.u32 p1, r3, r3;")), 1, false)
                .report.findings.size(),
            1U);
  EXPECT_EQ(RunOn(Entry("atom.relaxed.gpu.global.cas.b32 r3, [rd0], 0, 1;"), 1, false)
                .report.findings.size(),
            1U);
}

// Defined bits decide, whatever the others are.
TEST(Finding, DefinednessIsByBit) {
  const auto clean = [](const std::string& body) {
    EXPECT_EQ(RunOn(Entry(body + "\nst.global.u32 [rd1], r1;"), 1).text, "") << body;
  };
  const auto dirty = [](const std::string& body) {
    EXPECT_EQ(RunOn(Entry(body + "\nst.global.u32 [rd1], r1;"), 1).report.findings.size(), 1U)
        << body;
  };
  clean("and.b32 r1, r5, 0;");
  dirty("and.b32 r1, r5, 1;");
  clean("or.b32 r1, r5, -1;");
  dirty("or.b32 r1, r5, 0x7FFFFFFF;");
  clean("mov.u16 h1, 5; mov.b32 r2, {h1, h2}; and.b32 r1, r2, 0xFFFF;");
  dirty("mov.u16 h1, 5; mov.b32 r2, {h1, h2}; and.b32 r1, r2, 0x1FFFF;");
  clean("mov.u16 h1, 5; mov.b32 r2, {h2, h1}; shr.u32 r1, r2, 16;");
  clean("mov.u16 h1, 5; mov.b32 r2, {h1, h2}; shl.b32 r1, r2, 16;");
  dirty("mov.u16 h1, 5; mov.b32 r2, {h1, h2}; shl.b32 r1, r2, 15;");
  clean("mov.u16 h1, 5; mov.b32 r2, {h1, h2}; prmt.b32 r1, r2, 7, 0x4510;");
  dirty("mov.u16 h1, 5; mov.b32 r2, {h1, h2}; prmt.b32 r1, r2, 7, 0x4520;");
  clean("mov.u16 h1, 5; mov.b32 r2, {h1, h2}; bfe.u32 r1, r2, 0, 16;");
  dirty("mov.u16 h1, 5; mov.b32 r2, {h1, h2}; bfe.u32 r1, r2, 8, 16;");
  clean("mov.u16 h1, 5; mov.b32 r2, {h1, h2}; bfi.b32 r1, 3, r2, 16, 16;");
  clean("mov.u16 h1, 5; mov.b32 r2, {h1, h2}; shf.l.wrap.b32 r1, r2, 1, 0;");
  clean("mov.u16 h1, 5; mov.b32 r2, {h1, h2}; cvt.u32.u16 r1, h1;");
  clean("mov.u16 h1, 5; mov.b32 r2, {h1, h2}; add.u32 r2, r2, 7; and.b32 r1, r2, 0xFFFF;");
  dirty("mov.u16 h1, 5; mov.b32 r2, {h2, h1}; add.u32 r2, r2, 7; shr.u32 r1, r2, 16;");
  clean("lop3.b32 r1, r5, 12, 12, 0xC0; lop3.b32 r1, r5, 0, 7, 0xCA; and.b32 r1, r1, 0;");
  clean("lop3.b32 r1, r5, 9, 9, 0xCA;");  // r5 ? 9 : 9
  dirty("lop3.b32 r1, r5, 9, 8, 0xCA;");
  clean("setp.eq.u32 p1, r0, 0; selp.u32 r1, 4, r5, p1;");
  dirty("setp.eq.u32 p1, r0, 1; selp.u32 r1, 4, r5, p1;");
  clean(
      "mov.b32 r2, {h1, h2}; mov.u16 h3, 2; mov.b32 r3, {h3, h4}; add.f16x2 r4, r3, r3; "
      "and.b32 r1, r4, 0xFFFF;");
  clean("sub.u32 r1, r0, r0; mul.lo.u32 r1, r1, 3;");
}

// Writers of single bits of a word make them defined, and leave the others as they were.
TEST(Finding, BitwiseAtomicsDefineBits) {
  const std::string shared = ".shared .align 4 .b8 x[16];\n";
  const std::string tail = " ld.shared.u32 r1, [x]; and.b32 r1, r1, 0xFF; st.global.u32 [rd1], r1;";
  const auto findings = [&](const std::string& body) {
    return RunOn(Entry(body + tail, shared), 1).report.findings.size();
  };
  EXPECT_EQ(findings("red.shared.and.b32 [x], 0xFFFFFF00; red.shared.or.b32 [x], 7;"), 0U);
  EXPECT_EQ(findings("red.shared.and.b32 [x], 0xFFFFFF01; red.shared.or.b32 [x], 6;"), 1U);
  EXPECT_EQ(findings("red.shared.or.b32 [x], 0xFF;"), 0U);
  EXPECT_EQ(findings("red.shared.xor.b32 [x], 0xFF;"), 1U);
  EXPECT_EQ(findings("atom.shared.exch.b32 r2, [x], 0;"), 0U);
}

TEST(Finding, UndefinedBitsGoThroughMemoryAndLanes) {
  // Two bytes of four are written; the others stay undefined through a copy of all four.
  ExpectOne(Entry("st.shared.u16 [x], 5; ld.shared.u32 r1, [x]; st.shared.u32 [x+4], r1;\n"
                  "ld.shared.u16 r2, [x+4]; st.global.u32 [rd1], r2;\n"
                  "ld.shared.u16 r2, [x+6]; st.global.u32 [rd1], r2;",
                  ".shared .align 4 .b8 x[16];\n"),
            1, FindingKind::kUninitialised, "stores bits");
  ExpectOne(Entry("setp.lt.u32 p1, r0, 8;\n@p1 mov.u32 r1, 1;\n"
                  "shfl.sync.idx.b32 r2, r1, 4, 31, -1; st.global.u32 [rd1], r2;\n"
                  "shfl.sync.idx.b32 r2, r1, 9, 31, -1; st.global.u32 [rd1], r2;"),
            32, FindingKind::kUninitialised, "stores bits");
}

TEST(Finding, AsyncCopyNotWaitedFor) {
  const std::string shared = ".shared .align 16 .b8 x[512];\n";
  const std::string copy =
      "mov.u32 r1, x; cp.async.ca.shared.global [r1], [rd0], 16; cp.async.commit_group;\n";
  ExpectOne(Entry(copy + "ld.shared.u32 r2, [x];\ncp.async.wait_group 0;", shared), 1,
            FindingKind::kAsync, "that has not been waited for");
  ExpectOne(Entry(copy + "cp.async.wait_group 1; st.shared.u32 [x], 2;", shared), 1,
            FindingKind::kAsync, "that has not been waited for");
  EXPECT_EQ(RunOn(Entry(copy + "cp.async.wait_group 0; ld.shared.u32 r2, [x];", shared), 1).text,
            "");
}

TEST(Finding, DivergentCollectives) {
  // Lanes of the mask that never come: a deadlock too.
  Outcome out = RunOn(
      Entry("setp.lt.u32 p1, r0, 5;\n@!p1 bra end;\nshfl.sync.idx.b32 r1, r0, 0, 31, -1;\nend:\n"
            "bar.sync 0;"),
      32);
  ASSERT_EQ(out.report.findings.size(), 2U) << out.text;
  EXPECT_NE(out.text.find("divergence: lanes 0x0000001f wait for lanes 0xffffffe0, which never"),
            std::string::npos)
      << out.text;
  EXPECT_NE(out.text.find("deadlock"), std::string::npos);
  // A lane that is not in the mask.
  ExpectOne(Entry("shfl.sync.idx.b32 r1, r0, 0, 31, 0x7FFFFFFF;"), 32, FindingKind::kDivergence,
            "not in its mask");
  // Lanes that have ended.
  ExpectOne(Entry("setp.gt.u32 p1, r0, 20;\n@p1 exit;\nvote.sync.any.pred p2, p1, -1;"), 32,
            FindingKind::kDivergence, "do not exist or have ended");
  // bar.sync by a part of a warp.
  ExpectOne(Entry("setp.gt.u32 p1, r0, 20;\n@p1 bra other;\nbar.sync 0;\nbra end;\n"
                  "other:\nbarrier.sync 0;\nend:"),
            32, FindingKind::kDivergence, "all lanes must come to it together");
  // ldmatrix by a part of a warp.
  ExpectOne(Entry("setp.gt.u32 p1, r0, 20; mov.u32 r1, x;\n"
                  "@p1 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r2}, [r1];",
                  ".shared .align 16 .b8 x[512];\n"),
            32, FindingKind::kDivergence, "all lanes must execute it together");
}

TEST(Finding, Deadlock) {
  const Outcome out =
      RunOn(Entry("setp.lt.u32 p1, r0, 32;\n@p1 bar.sync 1, 64;\n@!p1 bar.sync 2, 64;"), 64);
  ASSERT_EQ(out.report.findings.size(), 1U) << out.text;
  EXPECT_FALSE(out.report.finished);
  EXPECT_EQ(out.report.findings[0].kind, FindingKind::kDeadlock);
  EXPECT_EQ(out.report.findings[0].location.line, 9U);
  EXPECT_EQ(out.report.findings[0].message,
            "no thread can go on; warp 0: line 9: barrier 1 (lanes 0xffffffff); warp 1: line 10: "
            "barrier 2 (lanes 0xffffffff); barrier 1 has 32 of 64 threads; barrier 2 has 32 of 64 "
            "threads");
}

TEST(Finding, Limit) {
  LaunchConfig config;
  config.instruction_limit = 10000;
  const Outcome out = RunOn(Entry("again: bra again;"), 32, true, config);
  ASSERT_EQ(out.report.findings.size(), 1U) << out.text;
  EXPECT_EQ(out.report.findings[0].kind, FindingKind::kLimit);
  EXPECT_EQ(out.report.findings[0].location.line, 8U);
  EXPECT_FALSE(out.report.finished);
  const Outcome deep = RunOn(Entry("call down;", ".func down() { call down; ret; }\n"), 32);
  ASSERT_EQ(deep.report.findings.size(), 1U) << deep.text;
  EXPECT_EQ(deep.report.findings[0].kind, FindingKind::kLimit);
}

TEST(Finding, NamesTheLineOfTheSource) {
  const Outcome out =
      RunOn(Entry(".loc 1 17 3\nld.global.u32 r1, [rd0+1];", ".file 1 \"kernel.cu\"\n"), 1);
  ASSERT_EQ(out.report.findings.size(), 1U);
  EXPECT_EQ(out.report.findings[0].source_file, 1U);
  EXPECT_EQ(out.report.findings[0].source_line, 17U);
}

}  // namespace
}  // namespace tarsia::ptx::finding_test
