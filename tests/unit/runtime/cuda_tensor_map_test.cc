// Tensor maps of the emulated driver, passed to a kernel by value.
#include <optional>

#include "tests/unit/runtime/cuda_testing.h"

namespace tarsia::cuda::cuda_tensor_map_test {
namespace {

using Encode = CuResult (*)(CuTensorMap*, int, uint32_t, void*, const uint64_t*, const uint64_t*,
                            const uint32_t*, const uint32_t*, int, int, int, int);

constexpr int kTypeU32 = 2;

// Loads the box of 4 x 2 words at column 3, row 1 to shared memory and copies it to y.
constexpr char kPtx[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry box(.param .align 64 .b8 map[128], .param .u64 y) {
  .reg .pred %q<2>; .reg .b64 %rd<5>; .reg .b32 %r<8>;
  .shared .align 128 .b8 tile[32];
  .shared .align 8 .b64 done;
  mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; ld.param.u64 %rd1, [y];
  mov.u32 %r0, tile; mov.u32 %r1, done;
  mbarrier.init.shared.b64 [%r1], 1;
  fence.mbarrier_init.release.cluster; fence.proxy.async;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 32;
  mov.u32 %r2, 3; mov.u32 %r3, 1;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%rd0, {%r2, %r3}], [%r1];
AGAIN:
  mbarrier.try_wait.parity.shared.b64 %q0, [%r1], 0;
  @!%q0 bra AGAIN;
  mov.u32 %r4, 0;
NEXT:
  add.u32 %r5, %r0, %r4; ld.shared.u32 %r6, [%r5];
  cvt.u64.u32 %rd2, %r4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r6;
  add.u32 %r4, %r4, 4; setp.lt.u32 %q1, %r4, 32; @%q1 bra NEXT;
  ret;
}
)";

class CudaTensorMap : public CudaTest {
 protected:
  // A tensor of 5 x 3 words (5 the innermost) with rows of 32 bytes, boxes of 4 x 2.
  static CuResult Tiled(CuTensorMap* map, CuDevicePtr address, int swizzle = 0,
                        uint64_t pitch = 32) {
    const uint64_t sizes[] = {5, 3};
    const uint64_t strides[] = {pitch};
    const uint32_t box[] = {4, 2};
    const uint32_t steps[] = {1, 1};
    return Symbol<Encode>("cuTensorMapEncodeTiled")(map, kTypeU32, 2,
                                                    reinterpret_cast<void*>(address), sizes,
                                                    strides, box, steps, 0, swizzle, 0, 0);
  }
};

TEST_F(CudaTensorMap, BringsABox) {
  const auto gpu = OpenGpu();
  auto current = CurrentContext::Enter(*gpu);
  ASSERT_TRUE(current.ok());
  std::vector<uint32_t> values(24);
  for (uint32_t i = 0; i < 24; ++i) values[i] = 100 + i;
  const Words x(gpu, values), y(gpu, std::vector<uint32_t>(8, 1));
  CuTensorMap map;
  ASSERT_EQ(Tiled(&map, x.address()), kSuccess);
  CuModule module = nullptr;
  CuFunction function = nullptr;
  ASSERT_EQ(driver().ModuleLoadDataEx(&module, kPtx, 0, nullptr, nullptr), kSuccess);
  ASSERT_EQ(driver().ModuleGetFunction(&function, module, "box"), kSuccess);
  CuDevicePtr to = y.address();
  void* parameters[] = {&map, &to};
  EXPECT_EQ(driver().LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
            kSuccess);
  EXPECT_EQ(driver().CtxSynchronize(), kSuccess);
  // Rows 1 and 2 from column 3 on; zeros after the fifth.
  EXPECT_EQ(y.Peek(), (std::vector<uint32_t>{111, 112, 0, 0, 119, 120, 0, 0}));
  EXPECT_EQ(driver().ModuleUnload(module), kSuccess);
}

TEST_F(CudaTensorMap, RefusesWhatADriverDoes) {
  const auto gpu = OpenGpu();
  const Words x(gpu, std::vector<uint32_t>(24));
  CuTensorMap map;
  EXPECT_EQ(Tiled(&map, x.address() + 4), kErrorInvalidValue);     // not aligned to 16 bytes
  EXPECT_EQ(Tiled(&map, x.address(), 0, 20), kErrorInvalidValue);  // nor are the rows
  EXPECT_EQ(Tiled(&map, x.address(), 9), kErrorInvalidValue);      // no such swizzle
  EXPECT_EQ(Tiled(nullptr, x.address()), kErrorInvalidValue);
  EXPECT_EQ(Tiled(&map, x.address()), kSuccess);
}

TEST_F(CudaTensorMap, NeedsHopper) {
  Reset({{"CAPABILITY", "8.0"}});
  const auto gpu = OpenGpu();
  CuTensorMap map;
  EXPECT_EQ(Tiled(&map, 4096), kErrorNotSupported);
}

}  // namespace
}  // namespace tarsia::cuda::cuda_tensor_map_test
