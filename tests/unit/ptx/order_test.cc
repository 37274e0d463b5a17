// The order of the words after a mnemonic, as ptxas has it. tests/unit/compiler/ptx_order_test.cc
// asks ptxas itself.
#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::order_test {
namespace {

constexpr char kRegisters[] =
    ".reg .pred p<4>; .reg .b16 h<4>; .reg .b32 r<24>; .reg .b64 d<8>; .reg .f64 e<8>;\n";

std::string ErrorsOfOne(const std::string& instruction) {
  return ErrorsOf(std::string(kHeader) + ".visible .entry k() {\n" + kRegisters + instruction +
                  "\nret;\n}\n");
}

TEST(Order, IsFreeWherePtxasLeavesItFree) {
  for (const char* const text : {
           "ldmatrix.sync.aligned.x4.m8n8.shared.b16 {r0, r1, r2, r3}, [r4];",
           "ldmatrix.sync.b16.aligned.shared.trans.x2.m8n8 {r0, r1}, [r4];",
           "vote.ballot.sync.b32 r0, p0, -1;",
           "vote.b32.ballot.sync r0, p0, -1;",
           "ld.global.acquire.gpu.b32 r0, [d0];",
           "ld.b32.v2.gpu.global.relaxed {r0, r1}, [d0];",
           "st.global.release.gpu.b32 [d0], r1;",
           "st.v2.global.b32 [d0], {r0, r1};",
           "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64.rn {e0, e1}, {e2}, {e3}, {e4, e5};",
           "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32.satfinite {r0, r1, r2, r3}, {r4, r5}, "
           "{r6}, {r0, r1, r2, r3};",
           "fma.rn.f16x2.relu r0, r1, r2, r3;",
           "add.f32.rn.ftz r0, r1, r2;",
           "setp.f32.ftz.lt p0, r0, r1;",
           "cvt.f32.rn.s32 r0, r1;",
           "cvt.f16.relu.rn.f32 h0, r1;",
           "atom.cta.global.add.u32.relaxed r0, [d0], r1;",
           "shfl.b32.bfly.sync r0, r1, 1, 31, -1;",
           "redux.add.sync.s32 r0, r1, -1;",
           "barrier.aligned.sync 0;",
           "cp.async.shared.L2::128B.global.cg [r0], [d0], 16;",
           "mbarrier.try_wait.parity.b64.shared::cta.cluster.acquire p0, [r0], r1;",
           "mul.lo.s32 r0, r1, r2;",
       }) {
    EXPECT_EQ(ErrorsOfOne(text), "") << text;
  }
}

TEST(Order, IsKeptWherePtxasKeepsIt) {
  for (const char* const text : {
           "mul.s32.lo r0, r1, r2;",          // of the name
           "shf.wrap.l.b32 r0, r1, r2, r3;",  //
           "cp.cg.async.shared.global [r0], [d0], 16;",
           "mbarrier.parity.try_wait.b64 p0, [r0], r1;",
           "barrier.sync.cta 0;",
           "bar.sync.warp -1;",
           "cvta.global.to.u64 d0, d1;",
           "cvt.rn.s32.f32.f16 r0, r1;",
           "cvt.rn.f32.f16 h0, r1;",  // types: from f16 to f32
           "cp.async.cg.global.shared [r0], [d0], 16;",
           "mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32 {r0, r1, r2, r3}, {r4, r5, r6, r7}, "
           "{r8, r9}, {r0, r1, r2, r3};",
           "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.popc.xor {r0, r1}, {r2}, {r3}, {r0, "
           "r1};",
           "add.f32.f32 r0, r1, r2;",
           "add.rn.rn.f32 r0, r1, r2;",
       }) {
    EXPECT_NE(ErrorsOfOne(text), "") << text;
  }
}

// In another order they mean the same.
TEST(Order, MeansTheSame) {
  Machine machine(std::string(kHeader) + R"(
.visible .entry k(.param .u64 out) {
.reg .b32 r<8>; .reg .b64 d<2>;
ld.param.u64 d0, [out];
cvt.f32.rz.u32 r0, 16777219;
st.f32.global [d0], r0;
shf.l.b32.wrap r1, 0x80000000, 1, 33;
st.global.b32.relaxed.gpu [d0+4], r1;
ret; }
)");
  const uint64_t out = machine.Put(std::vector<uint32_t>(2));
  EXPECT_EQ(Text(machine.Run("k", {1}, {1}, {out})), "");
  EXPECT_EQ(machine.Get<uint32_t>(out, 2), (std::vector<uint32_t>{0x4B800001, 3}));
}

TEST(Order, NamesAllThatIsMissing) {
  EXPECT_NE(ErrorsOfOne("mul.u32 r0, r1, r2;").find("expected one of .lo, .hi, .wide"),
            std::string::npos)
      << ErrorsOfOne("mul.u32 r0, r1, r2;");
}

// ---- immediates within lists -------------------------------------------------------------------

TEST(Lists, MayHoldImmediates) {
  Machine machine(std::string(kHeader) + R"(
.visible .entry k(.param .u64 out) {
.reg .b16 h<4>; .reg .b32 r<8>; .reg .b64 d<4>; .reg .f32 f<4>;
ld.param.u64 d0, [out];
mov.b16 h0, 0x1234;
mov.b32 f0, {0, h0};
st.global.b32 [d0], f0;
mov.b32 r0, {h0, -2};
mov.b32 r1, {70000, WARP_SZ};
st.global.b32 [d0+4], r0; st.global.b32 [d0+8], r1;
mov.b64 d1, {r0, 5};
st.global.b64 [d0+16], d1;
mov.b64 d1, {0f3F800000, f0};
st.global.b64 [d0+24], d1;
mov.b64 d1, {1, h0, 2, 3};
st.global.v2.b64 [d0+32], {d1, -1};
mov.b16 h1, {1, 2};
st.global.b16 [d0+48], h1;
mov.b64 {r2, _}, 0x500000007;
st.global.v2.b32 [d0+56], {r2, 9};
mov.b64 d1, {d0};
ret; }
)");
  const uint64_t out = machine.Put(std::vector<uint32_t>(16));
  EXPECT_EQ(Text(machine.Run("k", {1}, {1}, {out})), "");
  EXPECT_EQ(machine.Get<uint32_t>(out, 16),
            (std::vector<uint32_t>{0x12340000, 0xFFFE1234, 0x00201170, 0, 0xFFFE1234, 5, 0x3F800000,
                                   0x12340000, 0x12340001, 0x00030002, 0xFFFFFFFF, 0xFFFFFFFF,
                                   0x0201, 0, 7, 9}));
}

TEST(Lists, HavePartsOfOneWidth) {
  EXPECT_NE(ErrorsOfOne("mov.b64 d0, {h0, r0};"), "");
  EXPECT_NE(ErrorsOfOne("mov.b32 r0, {h0, h1, h2};"), "");
  EXPECT_NE(ErrorsOfOne("mov.b32 {h0, 5}, r0;").find("expected a register"), std::string::npos);
  EXPECT_NE(ErrorsOfOne("mov.b32 r0, {};"), "");
}

}  // namespace
}  // namespace tarsia::ptx::order_test
