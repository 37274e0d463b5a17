// What cooperative groups ask special registers for: the memory of the grid's barrier, and the part
// of shared memory that is kept for them.
#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::cooperative_test {
namespace {

// A barrier of the grid, of one thread a block: the first block adds what makes the sign flip when
// all have come.
constexpr char kGridBarrier[] = R"(
.visible .entry k(.param .u64 in, .param .u64 out) {
.reg .pred p<4>; .reg .b32 r<16>; .reg .b64 d<8>;
ld.param.u64 d0, [in]; ld.param.u64 d1, [out];
mov.u32 r0, %ctaid.x; mov.u32 r1, %nctaid.x;
mul.wide.u32 d2, r0, 4; add.u64 d2, d2, d0; add.u32 r2, r0, 1; st.global.u32 [d2], r2;
mov.u32 r3, %envreg1; mov.u32 r4, %envreg2;
cvt.u64.u32 d3, r3; shl.b64 d3, d3, 32; cvt.u64.u32 d4, r4; or.b64 d3, d3, d4;
sub.u32 r5, r1, 1; sub.u32 r5, 0x80000000, r5; setp.eq.u32 p0, r0, 0; selp.b32 r5, r5, 1, p0;
atom.add.release.gpu.u32 r6, [d3+4], r5;
again:
ld.acquire.gpu.u32 r7, [d3+4];
xor.b32 r8, r6, r7; setp.ge.s32 p1, r8, 0; @p1 bra again;
add.u32 r9, r0, 1; rem.u32 r9, r9, r1; mul.wide.u32 d5, r9, 4; add.u64 d5, d5, d0;
ld.global.u32 r10, [d5];
mul.wide.u32 d6, r0, 4; add.u64 d6, d6, d1; st.global.u32 [d6], r10;
ret; }
)";

TEST(Cooperative, BlocksMeetAtTheBarrierOfTheGrid) {
  Machine machine(std::string(kHeader) + kGridBarrier);
  const uint64_t in = machine.Room(64);
  const uint64_t out = machine.Room(64);
  const uint64_t used = machine.memory().used();
  for (const int threads : {1, 2}) {
    LaunchConfig config;
    config.host_threads = threads;
    EXPECT_EQ(Text(machine.Run("k", {16}, {1}, {in, out}, config)), "");
    for (uint32_t i = 0; i < 16; ++i) {
      EXPECT_EQ(machine.Get<uint32_t>(out, 16)[i], (i + 1) % 16 + 1);
    }
  }
  EXPECT_EQ(machine.memory().used(), used);
}

TEST(Cooperative, OtherLaunchesHaveNoBarrier) {
  Machine machine(std::string(kHeader) + kGridBarrier);
  LaunchConfig config;
  config.cooperative = false;
  config.instruction_limit = 10000;
  const std::string text =
      Text(machine.Run("k", {2}, {1}, {machine.Room(64), machine.Room(64)}, config));
  EXPECT_NE(text.find("out_of_bounds: updates 4 bytes at global address 0x4"), std::string::npos)
      << text;
}

TEST(Cooperative, HasItsPartOfSharedMemory) {
  Machine machine(std::string(kHeader) + R"(
.shared .align 4 .b8 own[64];
.extern .shared .align 4 .b8 more[];
.visible .entry k(.param .u64 out) {
.reg .b32 r<16>; .reg .b64 d<8>;
ld.param.u64 d0, [out];
mov.u32 r0, %reserved_smem_offset_1; mov.u32 r1, %reserved_smem_offset_begin;
mov.u32 r2, %reserved_smem_offset_end; mov.u32 r3, %reserved_smem_offset_cap;
mov.u32 r4, %reserved_smem_offset_0; mov.u32 r5, own; mov.u32 r6, more;
st.shared.u32 [r0], 1; st.shared.u32 [r0+284], 2; st.shared.u32 [r4], 3;
st.shared.u32 [r5], 4; st.shared.u32 [r6], 5;
cvt.u64.u32 d1, r0; cvta.shared.u64 d1, d1; ld.u32 r7, [d1]; ld.u32 r8, [d1+284];
ld.shared.u32 r9, [r5]; ld.shared.u32 r10, [r6]; ld.shared.u32 r11, [r4];
sub.u32 r12, r2, r1; sub.u32 r12, r12, r3;
st.global.v4.u32 [d0], {r7, r8, r9, r10}; st.global.v2.u32 [d0+16], {r11, r12};
ret; }
)");
  const uint64_t out = machine.Room(24);
  LaunchConfig config;
  config.dynamic_shared = 227 * 1024 - 64;  // with the own part, all that a block may have
  EXPECT_EQ(Text(machine.Run("k", {1}, {1}, {out}, config)), "");
  EXPECT_EQ(machine.Get<uint32_t>(out, 6), (std::vector<uint32_t>{1, 2, 4, 5, 3, 0}));
  EXPECT_EQ(machine.image().FindEntry("k")->static_shared, 64U);
}

TEST(Cooperative, WhatNobodySetsIsZero) {
  Machine machine(std::string(kHeader) + R"(
.visible .entry k(.param .u64 out) {
.reg .b32 r<8>; .reg .b64 d<4>;
ld.param.u64 d0, [out];
mov.b32 r0, %envreg0; mov.u32 r1, %envreg3; mov.u32 r2, %envreg31; mov.u32 r3, %pm7;
mov.u64 d1, %pm0_64; mov.u64 d2, %current_graph_exec;
st.global.v4.u32 [d0], {r0, r1, r2, r3}; st.global.v2.u64 [d0+16], {d1, d2};
ret; }
)");
  const uint64_t out = machine.Room(32);
  EXPECT_EQ(Text(machine.Run("k", {1}, {1}, {out})), "");
  EXPECT_EQ(machine.Get<uint64_t>(out, 4), (std::vector<uint64_t>(4)));
  EXPECT_NE(
      ErrorsOf(std::string(kHeader) + ".entry k() { .reg .b32 r; mov.u32 r, %envreg32; ret; }")
          .find("`%envreg32` is not declared"),
      std::string::npos);
}

}  // namespace
}  // namespace tarsia::ptx::cooperative_test
