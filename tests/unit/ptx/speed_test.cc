// How many instructions of threads a second the emulator runs, with all checks.
#include <chrono>
#include <cstdio>

#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::speed_test {
namespace {

// Integer, float and shared-memory work in a loop of 8 warps. The floor is far below what is
// measured (see the output), so that a busy machine does not fail.
TEST(Speed, RunsMixedWork) {
  Machine machine(std::string(kHeader) + R"(
.shared .align 16 .b8 tile[4096];
.visible .entry k(.param .u64 p) {
.reg .pred q; .reg .b32 r<16>; .reg .b64 rd<4>; .reg .f32 f<8>;
ld.param.u64 rd0, [p];
mov.u32 r0, %tid.x; mov.u32 r1, tile; shl.b32 r2, r0, 2; add.u32 r1, r1, r2;
mov.u32 r3, 0; mov.f32 f1, 0f3F800000; mov.f32 f2, 0f3F000000; mov.u32 r4, r0;
loop:
mad.lo.u32 r4, r4, 1664525, 1013904223;
xor.b32 r5, r4, r3; shr.u32 r6, r5, 7; and.b32 r7, r6, 1023;
fma.rn.f32 f1, f1, f2, f2; mul.f32 f3, f1, f2; add.f32 f2, f3, 0f3E800000;
st.shared.u32 [r1], r7; ld.shared.u32 r8, [r1];
add.u32 r4, r4, r8;
prmt.b32 r9, r4, r5, 0x5410; lop3.b32 r10, r9, r4, r5, 0x96; add.u32 r4, r4, r10;
add.u32 r3, r3, 1; setp.lt.u32 q, r3, 20000;
@q bra loop;
cvt.rzi.u32.f32 r11, f2; add.u32 r4, r4, r11;
mul.wide.u32 rd1, r0, 4; add.u64 rd1, rd1, rd0; st.global.u32 [rd1], r4;
ret; }
)");
  const uint64_t out = machine.Room(1024);
  const auto start = std::chrono::steady_clock::now();
  const LaunchReport report = machine.Run("k", {1}, {256}, {out});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(Text(report), "");
  const double rate = static_cast<double>(report.thread_instructions) / seconds.count();
  std::printf("%.0f million instructions of threads a second\n", rate / 1e6);
  EXPECT_GT(rate, 5e6);
}

}  // namespace
}  // namespace tarsia::ptx::speed_test
