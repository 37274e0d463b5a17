// Branches, calls, ends and barriers.
#include <functional>

#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::control_test {
namespace {

// Runs a kernel over `threads` threads that stores r9 of each thread.
std::vector<uint32_t> RunThreads(const std::string& body, uint32_t threads,
                                 const std::string& before = "") {
  Machine machine(std::string(kHeader) + before + R"(
.visible .entry k(.param .u64 p) {
.reg .pred p<8>; .reg .b32 r<16>; .reg .b64 rd<8>;
mov.u32 r0, %tid.x;
mov.u32 r9, 0;
)" + body + R"(
store:
ld.param.u64 rd0, [p];
mul.wide.u32 rd1, r0, 4; add.u64 rd1, rd1, rd0;
st.global.u32 [rd1], r9;
ret;
}
)");
  const uint64_t out = machine.Put(std::vector<uint32_t>(threads, 0xABABABAB));
  EXPECT_EQ(Text(machine.Run("k", {1}, {threads}, {out})), "");
  return machine.Get<uint32_t>(out, threads);
}

void ExpectEach(const std::vector<uint32_t>& got,
                const std::function<uint32_t(uint32_t)>& formula) {
  for (uint32_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], formula(i)) << "thread " << i;
}

TEST(Control, BranchesToManyPlaces) {
  const auto got = RunThreads(R"(
rem.u32 r1, r0, 4;
targets: .branchtargets zero, one, two, one;
brx.idx r1, targets;
zero: mov.u32 r9, 100; bra meet;
one: mov.u32 r9, 200; bra meet;
two: mov.u32 r9, 300;
meet: add.u32 r9, r9, r0;
activemask.b32 r2; setp.eq.u32 p1, r2, -1; @!p1 add.u32 r9, r9, 1000;
)",
                              64);
  ExpectEach(got, [](uint32_t i) { return (i % 4 == 0 ? 100U : i % 4 == 2 ? 300U : 200U) + i; });
  Covers(Op::kBrx);
  Covers(Op::kBra);
  Covers(Op::kActivemask);
}

TEST(Control, EndsThreadsEarly) {
  // A thread that exits stores nothing; the others still meet at the barrier.
  const auto got = RunThreads(R"(
setp.lt.u32 p1, r0, 5;
@p1 exit;
setp.gt.u32 p2, r0, 60;
@p2 ret;
brkpt;
bar.sync 0;
mov.u32 r9, 1;
)",
                              70);
  ExpectEach(got, [](uint32_t i) { return i < 5 || i > 60 ? 0xABABABABU : 1U; });
  Covers(Op::kExit);
  Covers(Op::kRet);
  Covers(Op::kBrkpt);
}

// Lanes that end within a function are not waited for where the ways of their caller meet.
TEST(Control, EndsThreadsWithinACall) {
  const std::string leave = R"(
.func leave (.param .b32 n) {
.reg .b32 a; .reg .pred q;
ld.param.b32 a, [n]; setp.lt.u32 q, a, 4;
@q exit;
ret;
}
)";
  const auto got = RunThreads(R"(
setp.lt.u32 p1, r0, 16;
@p1 bra other;
mov.u32 r9, 1; bra meet;
other: mov.u32 r9, 2;
{ .param .b32 n; st.param.b32 [n], r0; call leave, (n); }
meet: activemask.b32 r2; setp.eq.u32 p2, r2, 0xFFFFFFF0; @p2 add.u32 r9, r9, 10;
)",
                              32, leave);
  ExpectEach(got, [](uint32_t i) { return i < 4 ? 0xABABABABU : i < 16 ? 12U : 11U; });
}

// Every lane takes a lock that other lanes of its warp wait for: the lane that has it must not wait
// for them after the loop. Afterwards all are together again.
TEST(Control, LanesHandALockAround) {
  const auto got = RunThreads(R"(
mov.u32 r1, lock; setp.ne.u32 p1, r0, 0;
@!p1 st.shared.v2.u32 [r1], {0, 0};
bar.sync 0;
setp.gt.u32 p4, r0, 40; @p4 bra meet;
spin: atom.shared.cas.b32 r2, [r1], 0, 1;
setp.ne.u32 p2, r2, 0;
@p2 bra spin;
membar.cta;
ld.volatile.shared.u32 r3, [r1+4]; add.u32 r3, r3, 1; st.volatile.shared.u32 [r1+4], r3;
membar.cta;
atom.shared.exch.b32 r2, [r1], 0;
meet:
bar.sync 0;
ld.shared.u32 r9, [r1+4];
)",
                              64, ".shared .align 8 .b8 lock[8];\n");
  ExpectEach(got, [](uint32_t) { return 41U; });
}

// What nvcc makes of an early return: a branch to the one `ret`. A lane that goes there ends, and
// holds up neither barriers nor other .aligned instructions.
TEST(Control, EarlyReturns) {
  const std::string lines = R"(
.visible .entry k(.param .u64 p, .param .u64 n) {
.reg .pred p<4>; .reg .b32 r<8>; .reg .b64 rd<4>;
.shared .b32 buf;
ld.param.u64 rd0, [p]; ld.param.u32 r1, [n]; mov.u32 r0, %tid.x; setp.ge.u32 p1, r0, r1;
@p1 bra END;
setp.ne.u32 p2, r0, 0; @p2 bra L1;
st.shared.u32 [buf], 7;
L1: bar.sync 0;
ld.shared.u32 r3, [buf]; mul.wide.u32 rd2, r0, 4; add.u64 rd2, rd2, rd0; st.global.u32 [rd2], r3;
)";
  for (const std::string end : {"END: ret;\n}\n", "END: bra.uni LAST;\nLAST: exit;\n}\n"}) {
    for (const uint32_t count : {10, 40, 64}) {
      Machine machine(kHeader + lines + end);
      const uint64_t out = machine.Put(std::vector<uint32_t>(64, 1));
      EXPECT_EQ(Text(machine.Run("k", {1}, {64}, {out, count})), "");
      const auto got = machine.Get<uint32_t>(out, 64);
      for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], i < count ? 7U : 1U);
    }
  }
}

// Lanes come to one barrier by several ways, some of which go past it: nvcc threads a jump so when
// it knows that all threads take the way through the barrier.
TEST(Control, WaysToOneBarrier) {
  const auto got = RunThreads(R"(
setp.eq.u32 p1, r0, 0; setp.gt.u32 p2, r0, 1000; setp.lt.u32 p3, r0, 40;
@p1 bra first;
@!p3 bra inner;
@p2 bra store;
bra meet;
first:
@p2 bra store;
mov.u32 r9, 50;
bra meet;
inner:
setp.lt.u32 p4, r0, 50; @p4 bra left;
@p2 bra beside;
bra meet;
left:
@p2 bra beside;
mov.u32 r9, 300;
bra meet;
meet:
bar.sync 0;
behind:
activemask.b32 r2; setp.eq.u32 p5, r2, -1; @p5 add.u32 r9, r9, 7;
bra store;
beside: mov.u32 r9, 9999; bra behind;
)",
                              64);
  ExpectEach(got, [](uint32_t i) { return (i == 0 ? 50U : i >= 40 && i < 50 ? 300U : 0U) + 7; });
}

// The same where lanes may leave on the way, so that nothing but the end comes after all paths.
TEST(Control, AlignedInstructionsGatherLanes) {
  const auto got = RunThreads(R"(
setp.lt.u32 p1, r0, 20; setp.gt.u32 p2, r0, 1000;
@p1 bra low;
@p2 bra leave;
mov.u32 r1, 0x10001;
bra both;
low: mov.u32 r1, 0x10001;
both:
movmatrix.sync.aligned.m8n8.trans.b16 r2, r1;
add.u32 r9, r2, r0;
bra store;
leave: st.shared.u32 [s], 1; ret;
)",
                              32, ".shared .b32 s;\n");
  ExpectEach(got, [](uint32_t i) { return 0x10001U + i; });
}

// Lanes wait at a barrier for others of their warp that end first, and for one that sleeps until
// the other warp comes, late.
TEST(Control, LanesGatherBehindASleeper) {
  const auto got = RunThreads(R"(
mov.u32 r1, m; setp.ne.u32 p1, r0, 0; setp.gt.u32 p2, r0, 1000; setp.eq.u32 p3, r0, 32;
@!p1 mbarrier.init.shared.b64 [r1], 1;
bar.sync 0;
@!p1 bra sleep;
setp.lt.u32 p6, r0, 32; @p6 bra near;
mov.u32 r6, 0;
late: add.u32 r6, r6, 1; setp.lt.u32 p6, r6, 5000; @p6 bra late;
near:
@p2 bra store;
bra meet;
sleep: mbarrier.try_wait.parity.shared.b64 p4, [r1], 0; @!p4 bra sleep;
@p2 bra store;
meet:
@p3 mbarrier.arrive.shared.b64 rd2, [r1];
setp.gt.u32 p5, r0, 60; @p5 bra out;
bar.sync 0;
mov.u32 r9, 5;
bra store;
out: exit;
)",
                              64, ".shared .align 8 .b64 m;\n");
  ExpectEach(got, [](uint32_t i) { return i > 60 ? 0xABABABABU : 5U; });
}

// Lanes of a warp at barriers in both arms of a branch: each is reported, and all go on.
TEST(Control, BarriersInBothArms) {
  Machine machine(std::string(kHeader) + R"(
.visible .entry k() {
.reg .pred p; .reg .b32 r;
mov.u32 r, %tid.x; setp.lt.u32 p, r, 16;
@p bra other;
bar.sync 0;
bra done;
other:
bar.sync 0;
mov.u32 r, 1;
done: ret;
}
)");
  const LaunchReport report = machine.Run("k", {1}, {32}, {});
  EXPECT_TRUE(report.finished) << Text(report);
  ASSERT_EQ(report.findings.size(), 2U) << Text(report);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kDivergence);
  EXPECT_EQ(report.findings[0].location.line, 9U);
  EXPECT_EQ(report.findings[1].kind, FindingKind::kDivergence);
  EXPECT_EQ(report.findings[1].location.line, 12U);
}

TEST(Control, CallsRecursively) {
  const std::string factorial = R"(
.func (.param .b32 result) factorial (.param .b32 n) {
.reg .b32 a<4>; .reg .pred q;
ld.param.b32 a1, [n];
mov.u32 a2, 1;
setp.lt.u32 q, a1, 2;
@q bra done;
sub.u32 a3, a1, 1;
{
.param .b32 argument; .param .b32 value;
st.param.b32 [argument+0], a3;
call.uni (value), factorial, (argument);
ld.param.b32 a2, [value+0];
}
mul.lo.u32 a2, a2, a1;
done:
st.param.b32 [result+0], a2;
ret;
}
)";
  const auto got = RunThreads(R"(
rem.u32 r1, r0, 10;
{
.param .b32 argument; .param .b32 value;
st.param::func.b32 [argument], r1;
call (value), factorial, (argument);
ld.param::func.b32 r9, [value];
}
)",
                              40, factorial);
  ExpectEach(got, [](uint32_t i) {
    uint32_t product = 1;
    for (uint32_t k = 2; k <= i % 10; ++k) product *= k;
    return product;
  });
  Covers(Op::kCall);
}

TEST(Control, PassesArraysToFunctions) {
  const auto got = RunThreads(R"(
{
.param .align 8 .b8 pair[16]; .param .align 4 .b8 both[8];
cvt.u64.u32 rd2, r0;
st.param.b64 [pair], rd2; st.param.v2.b32 [pair+8], {r0, 7};
call (both), mix, (pair);
ld.param.v2.b32 {r1, r2}, [both];
}
mad.lo.u32 r9, r1, 1000, r2;
)",
                              32, R"(
.func (.param .align 4 .b8 out[8]) mix (.param .align 8 .b8 in[16]) {
.reg .b32 a<4>; .reg .b64 b;
ld.param.b64 b, [in]; cvt.u32.u64 a1, b; ld.param.b32 a2, [in+8]; ld.param.b32 a3, [in+12];
add.u32 a1, a1, a2;
st.param.b32 [out], a1; st.param.b32 [out+4], a3;
}
)");
  ExpectEach(got, [](uint32_t i) { return 2 * i * 1000 + 7; });
}

TEST(Control, Prints) {
  Machine machine(std::string(kHeader) + R"(
.extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 list);
.global .align 1 .b8 text[22] = {37, 51, 100, 32, 37, 108, 108, 120, 32, 37, 46, 50, 102, 32, 37, 99, 37, 37, 10, 0, 0, 0};
.visible .entry k() {
.local .align 8 .b8 list[32];
.reg .b64 rd<4>;
mov.u64 rd1, text; cvta.global.u64 rd1, rd1;
mov.u64 rd2, list; cvta.local.u64 rd2, rd2;
st.local.u32 [list], -5; st.local.u64 [list+8], 0x123456789; st.local.f64 [list+16], 0d3FF8000000000000; st.local.u32 [list+24], 65;
{ .param .b64 a; .param .b64 b; .param .b32 c;
st.param.b64 [a], rd1; st.param.b64 [b], rd2;
call.uni (c), vprintf, (a, b); }
}
)");
  const LaunchReport report = machine.Run("k", {1}, {1}, {});
  EXPECT_EQ(report.output, " -5 123456789 1.50 A%\n");
  EXPECT_EQ(Text(report), "");
}

TEST(Control, Traps) {
  Machine machine(std::string(kHeader) +
                  ".visible .entry k() {\n.reg .pred p; .reg .b32 r;\n"
                  "mov.u32 r, %tid.x; setp.eq.u32 p, r, 3;\n@p trap;\nret; }\n");
  const LaunchReport report = machine.Run("k", {1}, {32}, {});
  EXPECT_FALSE(report.finished);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kTrap);
  EXPECT_EQ(report.findings[0].thread.x, 3U);
  EXPECT_EQ(report.findings[0].location.line, 7U);
  Covers(Op::kTrap);
}

TEST(Control, RunsThroughBarriers) {
  // Two halves of a block hand a value to and fro; one only arrives at a barrier.
  const auto got = RunThreads(R"(
mov.u32 r5, box;
shl.b32 r6, r0, 2; add.u32 r6, r6, r5;
setp.ge.u32 p1, r0, 32;
@p1 bra taker;
st.shared.u32 [r6], r0;
bar.arrive 1, 64;
barrier.sync 2, 64;
ld.shared.u32 r9, [r6+128];
bra both;
taker:
bar.sync 1, 64;
ld.shared.u32 r1, [r6+-128];
add.u32 r1, r1, 1000; st.shared.u32 [r6], r1;
mov.u32 r9, r1;
barrier.arrive 2, 64;
both:
membar.cta; fence.acq_rel.gpu; fence.proxy.async; nanosleep.u32 20; griddepcontrol.wait;
barrier.sync.aligned 0;
)",
                              64, ".shared .align 4 .b8 box[256];\n");
  ExpectEach(got, [](uint32_t i) { return i % 32 + 1000; });
  for (const Op op :
       {Op::kBarSync, Op::kBarArrive, Op::kBarrierSync, Op::kBarrierArrive, Op::kMembar, Op::kFence,
        Op::kFenceProxy, Op::kNanosleep, Op::kGriddepcontrol}) {
    Covers(op);
  }
}

TEST(Control, ReducesAtBarriers) {
  const auto got = RunThreads(R"(
setp.lt.u32 p1, r0, 40;
bar.red.popc.u32 r1, 0, p1;
bar.red.and.pred p2, 0, p1;
barrier.red.or.pred p3, 1, 96, p1;
barrier.red.popc.aligned.u32 r2, 2, 96, !p1;
selp.u32 r3, 1000, 0, p2; selp.u32 r4, 10000, 0, p3;
mad.lo.u32 r9, r2, 100000, r1; add.u32 r9, r9, r3; add.u32 r9, r9, r4;
)",
                              96);
  ExpectEach(got, [](uint32_t) { return 56U * 100000 + 10000 + 40; });
  for (const Op op : {Op::kBarRedPopc, Op::kBarRedPred, Op::kBarrierRedPopc, Op::kBarrierRedPred}) {
    Covers(op);
  }
}

TEST(Control, KnowsSpecialRegisters) {
  const auto got = RunThreads(R"(
mov.u32 r1, %laneid; mov.u32 r2, %warpid; mov.u32 r3, %lanemask_lt; mov.u32 r4, %ntid.x;
mov.u64 rd2, %clock64; add.u32 r5, r1, r2; mov.u64 rd3, %clock64; sub.u64 rd4, rd3, rd2;
setp.gt.u64 p1, rd4, 0; selp.u32 r6, 0, 100000, p1;
popc.b32 r7, r3;
mad.lo.u32 r9, r2, 1000, r1; add.u32 r9, r9, r4; sub.u32 r7, r7, r1; add.u32 r9, r9, r7;
add.u32 r9, r9, r6;
)",
                              70);
  ExpectEach(got, [](uint32_t i) { return i / 32 * 1000 + i % 32 + 70; });
}

// A second name of a function, which is called under both.
TEST(Control, Aliases) {
  const char* const functions = R"(
.func (.param .b32 result) twice (.param .b32 n);
.func (.param .b32 result) shift (.param .b32 n) {
.reg .b32 a; ld.param.b32 a, [n]; shl.b32 a, a, 1; st.param.b32 [result], a; ret; }
.alias twice, shift;
)";
  const auto got = RunThreads(R"(
{ .param .b32 n; .param .b32 d;
st.param.b32 [n], r0; call (d), twice, (n); ld.param.b32 r9, [d]; }
{ .param .b32 n; .param .b32 d;
st.param.b32 [n], r9; call (d), shift, (n); ld.param.b32 r9, [d]; }
)",
                              40, functions);
  ExpectEach(got, [](uint32_t i) { return 4 * i; });
  EXPECT_NE(ErrorsOf(std::string(kHeader) + ".func a;\n.alias a, b;\n.visible .entry k() {\n"
                                            "call a;\nret;\n}\n")
                .find("function `b` is called and not defined"),
            std::string::npos);
}

}  // namespace
}  // namespace tarsia::ptx::control_test
