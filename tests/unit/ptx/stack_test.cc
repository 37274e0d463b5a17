// Memory that a thread takes from its stack while it runs.
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::stack_test {
namespace {

// A thread's number times 8 bytes, in which it keeps numbers, while a function that it calls has
// variables and an allocation of its own.
constexpr const char* kText = R"(
.func (.param .b32 result) scribble (.param .b32 n) {
.reg .b32 a; .reg .b64 x, y; .local .b32 own[16];
ld.param.b32 a, [n];
st.local.u32 [own+60], a;
alloca.u64 x, 32;
st.local.u32 [x+28], -1;
ld.local.u32 a, [own+60];
st.param.b32 [result], a;
ret;
}
.visible .entry k(.param .u64 p) {
.reg .pred p<4>; .reg .b32 r<16>; .reg .b64 rd<16>; .local .b32 fixed[2];
ld.param.u64 rd0, [p]; mov.u32 r0, %tid.x; mul.wide.u32 rd1, r0, 16; add.u64 rd0, rd0, rd1;
st.local.u32 [fixed+4], 77;
stacksave.u64 rd2;
add.u32 r1, r0, 1; mul.wide.u32 rd3, r1, 8;
alloca.u64 rd4, rd3, 64;
and.b64 rd5, rd4, 63; cvt.u32.u64 r2, rd5;
add.u64 rd6, rd4, rd3;
st.local.u32 [rd4], r0; st.local.u32 [rd6+-4], r1;
{ .param .b32 n; .param .b32 result;
st.param.b32 [n], r0; call (result), scribble, (n); ld.param.b32 r3, [result]; }
ld.local.u32 r4, [rd4]; add.u32 r3, r3, r4;
ld.local.u32 r5, [rd6+-4];
stackrestore.u64 rd2;
stacksave.u64 rd7; sub.u64 rd7, rd7, rd2; cvt.u32.u64 r6, rd7;
alloca.u32 r7, 4; st.local.u32 [r7], 5; ld.local.u32 r7, [fixed+4]; add.u32 r6, r6, r7;
st.global.v4.u32 [rd0], {r2, r3, r5, r6};
ret;
}
)";

TEST(Stack, AllocatesByThread) {
  Machine machine(kHeader + std::string(kText));
  const uint64_t out = machine.Room(48 * 16);
  EXPECT_EQ(Text(machine.Run("k", {1}, {48}, {out})), "");
  const auto got = machine.Get<uint32_t>(out, 48 * 4);
  for (uint32_t i = 0; i < 48; ++i) {
    EXPECT_EQ(got[4 * i], 0U) << "aligned to 64";
    EXPECT_EQ(got[4 * i + 1], 2 * i);
    EXPECT_EQ(got[4 * i + 2], i + 1);
    EXPECT_EQ(got[4 * i + 3], 77U);
  }
  Covers(Op::kAlloca);
  Covers(Op::kStackSave);
  Covers(Op::kStackRestore);
}

std::string Entry(const std::string& body) {
  return std::string(kHeader) +
         ".visible .entry k(.param .u64 p) {\n.reg .b32 r<8>; .reg .b64 rd<8>;"
         "\nld.param.u64 rd0, [p];\n" +
         body + "\nret;\n}\n";
}

void ExpectFound(const std::string& body, FindingKind kind, const std::string& words) {
  Machine machine(Entry(body));
  const LaunchReport report = machine.Run("k", {1}, {1}, {machine.Room(64)});
  ASSERT_EQ(report.findings.size(), 1U) << body << Text(report);
  EXPECT_EQ(report.findings[0].kind, kind);
  EXPECT_NE(report.findings[0].message.find(words), std::string::npos) << Text(report);
}

TEST(Stack, FindsMisuse) {
  // What was there before the allocation is not to be read, nor what is freed.
  ExpectFound("alloca.u64 rd1, 16; ld.local.u32 r1, [rd1]; st.global.u32 [rd0], r1;",
              FindingKind::kUninitialised, "never written");
  ExpectFound(
      "stacksave.u64 rd2; alloca.u64 rd1, 16; st.local.u32 [rd1], 1;\n"
      "stackrestore.u64 rd2; alloca.u64 rd1, 16; ld.local.u32 r1, [rd1];\n"
      "st.global.u32 [rd0], r1;",
      FindingKind::kUninitialised, "never written");
  ExpectFound("stacksave.u32 r2; alloca.u64 rd1, 16; stackrestore.u32 r2; st.local.u32 [rd1], 1;",
              FindingKind::kOutOfBounds, "the thread has 0 bytes");
  ExpectFound("alloca.u64 rd1, 16; st.local.u32 [rd1+16], 1;", FindingKind::kOutOfBounds,
              "the thread has 16 bytes");
  ExpectFound("alloca.u64 rd1, 16; add.u64 rd1, rd1, 32; stackrestore.u64 rd1;",
              FindingKind::kOutOfBounds, "restores the stack to");
  ExpectFound("mov.u64 rd1, 0; stackrestore.u64 rd1;", FindingKind::kOutOfBounds,
              "restores the stack to");
  ExpectFound("alloca.u64 rd1, -16;", FindingKind::kLimit, "too deep");
  ExpectFound("loop: alloca.u64 rd1, 65536; bra loop;", FindingKind::kLimit, "too deep");
  EXPECT_NE(ErrorsOf(Entry("alloca.u64 rd1, 16, 12;")).find("no-such-form"), std::string::npos);
}

}  // namespace
}  // namespace tarsia::ptx::stack_test
