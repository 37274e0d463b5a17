// Loads, stores, atomics and asynchronous copies in every space.
#include <bit>

#include "dtypes/convert.h"
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::memory_test {
namespace {

// An entry with one parameter `p` (a pointer) and common registers.
std::string Entry(const std::string& body, const std::string& before = "") {
  return std::string(kHeader) + before + R"(
.visible .entry k(.param .u64 p, .param .u64 n) {
.reg .pred p<4>; .reg .b16 h<16>; .reg .b32 r<32>; .reg .b64 rd<16>; .reg .f32 f<8>; .reg .f64 fd<4>;
ld.param.u64 rd0, [p];
cvta.to.global.u64 rd0, rd0;
mov.u32 r0, %tid.x;
)" + body +
         "\nret;\n}\n";
}

std::vector<uint32_t> RunWords(const std::string& text, const std::vector<uint32_t>& words,
                               uint32_t threads, uint64_t n = 0, uint64_t shared = 0) {
  Machine machine(text);
  const uint64_t at = machine.Put(words);
  LaunchConfig config;
  config.dynamic_shared = shared;
  EXPECT_EQ(Text(machine.Run("k", {1}, {threads}, {at, n}, config)), "") << text;
  return machine.Get<uint32_t>(at, words.size());
}

TEST(Memory, LoadsEveryWidth) {
  const std::vector<uint32_t> in = {0x8899AABB, 0x11223344, 0x80000001, 0xFFFFFFFE, 0, 0, 0, 0,
                                    0,          0,          0,          0,          0, 0, 0, 0};
  const auto out = RunWords(Entry(R"(
ld.global.u8 r1, [rd0+3]; st.global.u32 [rd0+16], r1;
ld.global.s8 r1, [rd0+3]; st.global.u32 [rd0+20], r1;
ld.global.s16 r1, [rd0+2]; st.global.b32 [rd0+24], r1;
ld.global.b16 h1, [rd0+4]; st.global.b16 [rd0+28], h1;
ld.global.nc.L1::no_allocate.L2::128B.v2.u32 {r1, r2}, [rd0+8]; st.global.v2.b32 [rd0+32], {r2, r1};
ld.volatile.global.u64 rd1, [rd0]; st.relaxed.gpu.global.u64 [rd0+40], rd1;
ld.acquire.gpu.global.v4.b8 {r1, r2, r3, r4}, [rd0]; add.u32 r1, r1, r4; st.global.u8 [rd0+48], r1;
ldu.global.u32 r1, [rd0+4]; st.global.cs.u32 [rd0+52], r1;
ld.global.ca.v4.u32 {r1, r2, r3, _}, [rd0]; st.release.gpu.global.u32 [rd0+56], r3;
prefetch.global.L2 [rd0]; prefetchu.L1 [rd0];
createpolicy.fractional.L2::evict_first.b64 rd2, 1.0;
ld.global.L2::cache_hint.u32 r1, [rd0], rd2; st.global.u32 [rd0+60], r1;
)"),
                            in, 1);
  EXPECT_EQ(out[4], 0x88U);
  EXPECT_EQ(out[5], 0xFFFFFF88U);
  EXPECT_EQ(out[6], 0xFFFF8899U);
  EXPECT_EQ(out[7], 0x3344U);
  EXPECT_EQ(out[8], 0xFFFFFFFEU);
  EXPECT_EQ(out[9], 0x80000001U);
  EXPECT_EQ(out[10], 0x8899AABBU);
  EXPECT_EQ(out[11], 0x11223344U);
  EXPECT_EQ(out[12], 0x43U);  // 0xBB + 0x88, a byte of it
  EXPECT_EQ(out[13], 0x11223344U);
  EXPECT_EQ(out[14], 0x80000001U);
  EXPECT_EQ(out[15], 0x8899AABBU);
  for (const Op op :
       {Op::kLd, Op::kSt, Op::kLdu, Op::kPrefetch, Op::kPrefetchu, Op::kCreatepolicy}) {
    Covers(op);
  }
}

TEST(Memory, KnowsEverySpace) {
  const std::string variables = R"(
.global .align 4 .u32 counter = 7;
.const .align 4 .b32 table[4] = {10, 20, 30, -40};
.global .align 8 .u64 pointer = generic(table)+8;
.shared .align 16 .b8 fixed[128];
.extern .shared .align 16 .b8 dynamic[];
)";
  const auto out = RunWords(Entry(R"(
.local .align 8 .b8 frame[16];
ld.const.u32 r1, [table+4]; ld.global.u32 r2, [counter]; add.u32 r1, r1, r2;
st.global.u32 [rd0], r1;
ld.global.u64 rd1, [pointer]; ld.u32 r1, [rd1+4]; st.global.u32 [rd0+4], r1;
mov.u32 r3, fixed; mov.u64 rd2, dynamic; cvta.shared.u64 rd3, rd2;
st.shared.u32 [r3+8], 5; st.u32 [rd3+4], 6;
ld.shared.u32 r1, [fixed+8]; ld.shared.u32 r2, [rd2+4]; mad.lo.u32 r1, r1, 100, r2;
st.global.u32 [rd0+8], r1;
mov.u64 rd4, frame; cvta.local.u64 rd5, rd4;
st.local.u32 [rd4], 11; st.u32 [rd5+4], 12; ld.local.v2.u32 {r1, r2}, [frame]; mad.lo.u32 r1, r1, 100, r2;
st.global.u32 [rd0+12], r1;
mov.b64 rd6, n; cvta.param.u64 rd7, rd6; ld.u32 r1, [rd7]; ld.param.u32 r2, [n+4]; add.u32 r1, r1, r2;
st.global.u32 [rd0+16], r1;
mov.u32 r1, %dynamic_smem_size; st.global.u32 [rd0+20], r1;
)",
                                  variables),
                            std::vector<uint32_t>(6), 1, 0x300000004, 256);
  EXPECT_EQ(out, (std::vector<uint32_t>{27, 0xFFFFFFD8, 506, 1112, 7, 256}));
}

TEST(Memory, UpdatesAtomically) {
  // Each of 64 threads adds; minima, maxima and bits of them all; the last gives what was there.
  const auto out = RunWords(Entry(R"(
add.u32 r1, r0, 1;
atom.global.add.u32 r2, [rd0], r1;
red.global.add.u32 [rd0+4], r1;
red.relaxed.gpu.global.min.s32 [rd0+8], r1;
atom.global.max.u32 r2, [rd0+12], r1;
red.global.or.b32 [rd0+16], r1;
red.global.and.b32 [rd0+20], r1;
red.global.xor.b32 [rd0+24], r1;
red.global.inc.u32 [rd0+28], 9;
red.global.dec.u32 [rd0+32], 9;
cvt.rn.f32.u32 f1, r1; red.global.add.f32 [rd0+36], f1;
cvt.rn.f64.u32 fd1, r1; red.global.add.f64 [rd0+40], fd1;
cvt.rn.f16.u32 h1, r0; and.b16 h2, h1, 0; mov.b32 r3, {h1, h2}; red.global.add.noftz.f16x2 [rd0+48], r3;
cvt.rn.bf16.f32 h3, f1; mov.b32 r3, {h2, h3}; red.global.add.noftz.bf16x2 [rd0+52], r3;
atom.acquire.gpu.global.exch.b32 r4, [rd0+56], r1;
cvt.u64.u32 rd1, r1; atom.global.add.u64 rd2, [rd0+64], rd1;
)"),
                            {0, 0, 100, 0, 0, 0xFFFFFFFF, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 64);
  EXPECT_EQ(out[0], 64U * 65 / 2);
  EXPECT_EQ(out[1], 64U * 65 / 2);
  EXPECT_EQ(out[2], 1U);
  EXPECT_EQ(out[3], 64U);
  EXPECT_EQ(out[4], 127U);
  EXPECT_EQ(out[5], 0U);
  uint32_t bits = 0;
  for (uint32_t i = 1; i <= 64; ++i) bits ^= i;
  EXPECT_EQ(out[6], bits);
  EXPECT_EQ(out[7], 64U % 10);  // counts 0 to 9 and around
  EXPECT_EQ(out[8], (3 + 10 * 7 - 64U) % 10);
  EXPECT_EQ(std::bit_cast<float>(out[9]), 2080.0F);
  EXPECT_EQ(out[10], 0U);
  EXPECT_EQ(out[11], std::bit_cast<uint64_t>(2080.0) >> 32);
  EXPECT_EQ(out[12], 0x67E0U);  // 2016 as f16
  // Sums of 1 to 64 in bf16, each rounded, in the upper half: from 256 on, in steps of 2, 4, 8..
  double sum = 0;
  for (int i = 1; i <= 64; ++i) sum = DecodeToDouble(kBF16, EncodeFromDouble(kBF16, sum + i, {}));
  EXPECT_EQ(out[13], EncodeFromDouble(kBF16, sum, {}) << 16);
  EXPECT_EQ(out[14], 64U);  // lanes act in their order
  EXPECT_EQ(out[16], 2080U);
  Covers(Op::kAtom);
  Covers(Op::kRed);
}

TEST(Memory, ComparesAndSwaps) {
  // A counter kept by a loop of compare and swap, in shared memory too.
  const auto out = RunWords(Entry(R"(
mov.u32 r5, cell;
setp.eq.u32 p1, r0, 0;
@p1 st.shared.u32 [r5], 0;
bar.sync 0;
again:
ld.volatile.shared.u32 r1, [r5];
add.u32 r2, r1, 2;
atom.shared.cas.b32 r3, [r5], r1, r2;
setp.ne.u32 p2, r3, r1;
@p2 bra again;
bar.sync 0;
@!p1 bra end;
ld.shared.u32 r1, [r5]; st.global.u32 [rd0], r1;
atom.global.cas.b64 rd1, [rd0+8], 5, 6; st.global.u64 [rd0+16], rd1;
atom.global.cas.b16 h1, [rd0+24], 1, 2; st.global.u16 [rd0+28], h1;
end:
)",
                                  ".shared .align 4 .b32 cell;\n"),
                            {0, 0, 5, 0, 0, 0, 1, 0}, 96);
  EXPECT_EQ(out, (std::vector<uint32_t>{192, 0, 6, 0, 5, 0, 2, 1}));
  Covers(Op::kAtomCas);
}

TEST(Memory, CopiesAsynchronously) {
  std::vector<uint32_t> words(32 * 8);
  for (uint32_t i = 0; i < 128; ++i) words[i] = i * 3 + 1;
  // Sixteen bytes a thread, of which thread 1 takes five and thread 2 none; then four bytes each.
  const auto out = RunWords(Entry(R"(
mov.u32 r1, buffer; shl.b32 r2, r0, 4; add.u32 r3, r1, r2;
cvt.u64.u32 rd1, r2; add.u64 rd2, rd0, rd1;
setp.eq.u32 p1, r0, 1; selp.u32 r4, 5, 16, p1;
setp.eq.u32 p2, r0, 2;
@p2 cp.async.cg.shared.global [r3], [rd2], 16, p2;
@!p2 cp.async.cg.shared.global.L2::128B [r3], [rd2], 16, r4;
cp.async.commit_group;
shl.b32 r5, r0, 2; add.u32 r6, r1, r5; cvt.u64.u32 rd3, r5; add.u64 rd4, rd0, rd3;
createpolicy.fractional.L2::evict_first.b64 rd5;
cp.async.ca.shared.global.L2::cache_hint [r6+512], [rd4], 4, 4, rd5;
cp.async.commit_group;
cp.async.wait_group 1;
bar.sync 0;
ld.shared.v4.u32 {r10, r11, r12, r13}, [r3];
st.global.v4.u32 [rd2+512], {r10, r11, r12, r13};
cp.async.wait_all;
bar.sync 0;
ld.shared.u32 r10, [r6+512];
xor.b32 r10, r10, r10;
)",
                                  ".shared .align 16 .b8 buffer[1024];\n"),
                            words, 32);
  for (uint32_t i = 0; i < 128; ++i) {
    uint32_t expected = words[i];
    if (i == 5) expected = words[5] & 0xFF;
    if (i == 6 || i == 7 || (i >= 8 && i < 12)) expected = 0;
    EXPECT_EQ(out[128 + i], expected) << i;
  }
  for (const Op op : {Op::kCpAsync, Op::kCpAsyncHint, Op::kCpAsyncCommit, Op::kCpAsyncWaitGroup,
                      Op::kCpAsyncWaitAll}) {
    Covers(op);
  }
}

TEST(Memory, SharesBetweenBlocksAndThreadsOfTheHost) {
  Machine machine(
      Entry("red.global.add.u32 [rd0], 1; mov.u32 r1, %ctaid.x; setp.eq.u32 p1, r1, 0;\n"
            "@p1 bra wait; bra end;\n"
            "wait: ld.volatile.global.u32 r2, [rd0]; setp.ne.u32 p2, r2, 6400;\n"
            "@p2 bra wait;\nend:\n"));
  // The first block waits for all the others.
  const uint64_t at = machine.Put(std::vector<uint32_t>{0});
  for (const int threads : {1, 2}) {
    ASSERT_TRUE(machine.memory().Fill(at, 0, 4, 1).ok());
    LaunchConfig config;
    config.host_threads = threads;
    EXPECT_EQ(Text(machine.Run("k", {100}, {64}, {at, 0}, config)), "");
    EXPECT_EQ(machine.Get<uint32_t>(at, 1)[0], 6400U);
  }
}

TEST(Memory, AllocatesFreesAndCopies) {
  Memory memory(1 << 20);
  const uint64_t a = *memory.Allocate(100);
  const uint64_t b = *memory.Allocate(0);
  EXPECT_NE(a, b);
  EXPECT_EQ(a % 512, 0U);
  EXPECT_FALSE(*memory.IsDefined(a, 1));
  const std::vector<uint8_t> bytes = {1, 2, 3};
  ASSERT_TRUE(memory.CopyIn(a + 97, bytes).ok());
  EXPECT_TRUE(*memory.IsDefined(a + 97, 3));
  EXPECT_FALSE(*memory.IsDefined(a + 96, 4));
  EXPECT_FALSE(memory.CopyIn(a + 98, bytes).ok());
  ASSERT_TRUE(memory.CopyWithin(a, a + 97, 3).ok());
  std::vector<uint8_t> out(3);
  ASSERT_TRUE(memory.CopyOut(a, out).ok());
  EXPECT_EQ(out, bytes);
  ASSERT_TRUE(memory.Fill(a + 4, 0x01020304, 4, 2).ok());
  ASSERT_TRUE(memory.CopyOut(a + 7, out).ok());
  EXPECT_EQ(out, (std::vector<uint8_t>{1, 4, 3}));
  EXPECT_FALSE(memory.Allocate(2 << 20).ok());
  EXPECT_TRUE(memory.Free(a).ok());
  EXPECT_FALSE(memory.Free(a).ok());
  EXPECT_FALSE(memory.CopyOut(a, out).ok());
  EXPECT_NE(memory.Describe(a + 5).find("freed"), std::string::npos);
}

}  // namespace
}  // namespace tarsia::ptx::memory_test
