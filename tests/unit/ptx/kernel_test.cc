// Whole kernels, written by hand in the manner of compilers.
#include <numeric>

#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::kernel_test {
namespace {

TEST(Kernel, AddsVectors) {
  Machine machine(std::string(kHeader) + R"(
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) {
  .reg .pred %p<2>;
  .reg .f32 %f<4>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<11>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [c];
  ld.param.u32 %r2, [n];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r1, %r3, %r4, %r5;
  setp.ge.s32 %p1, %r1, %r2;
  @%p1 bra $L__BB0_2;
  cvta.to.global.u64 %rd4, %rd1;
  mul.wide.s32 %rd5, %r1, 4;
  add.s64 %rd6, %rd4, %rd5;
  cvta.to.global.u64 %rd7, %rd2;
  add.s64 %rd8, %rd7, %rd5;
  ld.global.f32 %f1, [%rd6];
  ld.global.nc.f32 %f2, [%rd8];
  add.f32 %f3, %f1, %f2;
  cvta.to.global.u64 %rd9, %rd3;
  add.s64 %rd10, %rd9, %rd5;
  st.global.f32 [%rd10], %f3;
$L__BB0_2:
  ret;
}
)");
  constexpr size_t kCount = 1000;
  std::vector<float> a(kCount);
  std::vector<float> b(kCount);
  std::iota(a.begin(), a.end(), 1.0F);
  std::iota(b.begin(), b.end(), 0.5F);
  const uint64_t out = machine.Room(kCount * 4);
  const auto report = machine.Run("add", {8}, {128}, {machine.Put(a), machine.Put(b), out, kCount});
  EXPECT_EQ(Text(report), "");
  const auto sum = machine.Get<float>(out, kCount);
  for (size_t i = 0; i < kCount; ++i) EXPECT_EQ(sum[i], a[i] + b[i]) << i;
}

// Each thread counts the steps of the Collatz sequence: every lane leaves the loop at its own time,
// and a branch within it diverges too.
TEST(Kernel, LoopsApartAndMeetsAgain) {
  Machine machine(std::string(kHeader) + R"(
.visible .entry steps(.param .u64 out) {
  .reg .pred p<3>;
  .reg .b32 r<10>;
  .reg .b64 rd<4>;
  ld.param.u64 rd1, [out];
  mov.u32 r1, %tid.x;
  add.u32 r2, r1, 1;
  mov.u32 r3, 0;
loop:
  setp.eq.u32 p1, r2, 1;
  @p1 bra done;
  and.b32 r4, r2, 1;
  setp.eq.u32 p2, r4, 0;
  @p2 bra even;
  mad.lo.u32 r2, r2, 3, 1;
  bra next;
even:
  shr.u32 r2, r2, 1;
next:
  add.u32 r3, r3, 1;
  bra.uni loop;
done:
  bar.sync 0;
  mul.wide.u32 rd2, r1, 4;
  add.u64 rd3, rd1, rd2;
  st.global.u32 [rd3], r3;
  ret;
}
)");
  const uint64_t out = machine.Room(96 * 4);
  EXPECT_EQ(Text(machine.Run("steps", {1}, {96}, {out})), "");
  const auto steps = machine.Get<uint32_t>(out, 96);
  for (uint32_t i = 0; i < 96; ++i) {
    uint32_t expected = 0;
    for (uint64_t x = i + 1; x != 1; x = x % 2 == 0 ? x / 2 : 3 * x + 1) ++expected;
    EXPECT_EQ(steps[i], expected) << i;
  }
}

}  // namespace
}  // namespace tarsia::ptx::kernel_test
