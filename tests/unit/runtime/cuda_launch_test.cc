// Features of the emulated driver for kernels of other compilers: clusters, cooperative launches,
// programmatic dependent launch, values that streams write and wait for. Uses the driver's
// functions, like a client.
#include <array>
#include <cstdint>
#include <optional>

#include "tests/unit/runtime/cuda_testing.h"

namespace tarsia::cuda::cuda_launch_test {
namespace {

// The functions, by dlsym.
#define DRIVER(name, symbol, parameters)                    \
  template <typename... Args>                               \
  CuResult name(Args... args) {                             \
    return Symbol<CuResult(*) parameters>(symbol)(args...); \
  }
namespace client {
#include "tests/emulated_driver/client.def"
}  // namespace client
#undef DRIVER

// `first` lets its dependents go before it writes p[block] = 7 + block; `second` copies p to q,
// with
// (`waits`) and without (`rushes`) waiting for it. `ranks` writes the rank in the cluster, `meet`
// waits until all blocks have come, in p[0].
constexpr char kPtx[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry first(.param .u64 p) {
  .reg .b64 %rd<3>; .reg .b32 %r<3>;
  ld.param.u64 %rd0, [p]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd0, %rd0, %rd1; add.u32 %r1, %r0, 7;
  griddepcontrol.launch_dependents;
  st.global.u32 [%rd0], %r1; ret;
}
.visible .entry late(.param .u64 p) {
  .reg .b64 %rd<3>; .reg .b32 %r<3>;
  ld.param.u64 %rd0, [p]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd0, %rd0, %rd1; add.u32 %r1, %r0, 7;
  st.global.u32 [%rd0], %r1; ret;
}
.visible .entry rushes(.param .u64 p, .param .u64 q) {
  .reg .b64 %rd<3>; .reg .b32 %r<3>;
  ld.param.u64 %rd0, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd0, %rd0, %rd1; add.u64 %rd2, %rd2, %rd1;
  ld.global.u32 %r1, [%rd0]; st.global.u32 [%rd2], %r1; ret;
}
.visible .entry waits(.param .u64 p, .param .u64 q) {
  .reg .b64 %rd<3>; .reg .b32 %r<3>;
  ld.param.u64 %rd0, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd0, %rd0, %rd1; add.u64 %rd2, %rd2, %rd1;
  griddepcontrol.launch_dependents;
  griddepcontrol.wait;
  ld.global.u32 %r1, [%rd0]; st.global.u32 [%rd2], %r1; ret;
}
.visible .entry ranks(.param .u64 p) {
  .reg .b64 %rd<3>; .reg .b32 %r<3>;
  ld.param.u64 %rd0, [p]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd0, %rd0, %rd1; mov.u32 %r1, %cluster_ctarank; st.global.u32 [%rd0], %r1; ret;
}
.visible .entry meet(.param .u64 p) {
  .reg .pred %q<1>; .reg .b64 %rd<1>; .reg .b32 %r<3>;
  ld.param.u64 %rd0, [p]; mov.u32 %r0, %nctaid.x;
  atom.acq_rel.gpu.global.add.u32 %r1, [%rd0], 1;
AGAIN:
  ld.acquire.gpu.global.u32 %r1, [%rd0]; setp.lt.u32 %q0, %r1, %r0; @%q0 bra AGAIN;
  ret;
}
)";

class CudaLaunch : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    gpu_ = OpenGpu();
    auto current = CurrentContext::Enter(*gpu_);
    ASSERT_TRUE(current.ok());
    current_.emplace(*std::move(current));
    ASSERT_EQ(driver().ModuleLoadDataEx(&module_, kPtx, 0, nullptr, nullptr), kSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(driver().ModuleUnload(module_), lost_ ? kErrorLaunchTimeout : kSuccess);
    current_.reset();
    gpu_ = nullptr;
    CudaTest::TearDown();
  }

  CuFunction Function(const char* name) {
    CuFunction out = nullptr;
    EXPECT_EQ(driver().ModuleGetFunction(&out, module_, name), kSuccess);
    return out;
  }
  CuResult LaunchEx(CuFunction function, unsigned blocks, std::vector<CuLaunchAttribute> attributes,
                    std::vector<CuDevicePtr> pointers, CuStream stream = nullptr) {
    std::vector<void*> parameters;
    for (CuDevicePtr& pointer : pointers) parameters.push_back(&pointer);
    const CuLaunchConfig config{
        {blocks, 1, 1}, {1, 1, 1},         0,
        stream,         attributes.data(), static_cast<unsigned>(attributes.size())};
    return driver().LaunchKernelEx(&config, function, parameters.data(), nullptr);
  }
  static CuLaunchAttribute Flag(CuLaunchAttributeId id, int value = 1) {
    CuLaunchAttribute out{};
    out.id = id;
    out.value.flag = value;
    return out;
  }
  static CuLaunchAttribute Cluster(unsigned x) {
    CuLaunchAttribute out{};
    out.id = kLaunchClusterDimension;
    out.value.cluster[0] = x;
    out.value.cluster[1] = out.value.cluster[2] = 1;
    return out;
  }

  std::shared_ptr<const Gpu> gpu_;
  CuModule module_ = nullptr;
  std::optional<CurrentContext> current_;
  bool lost_ = false;
};

using Values = std::vector<uint32_t>;
const CuLaunchAttribute kEarly = [] {
  CuLaunchAttribute out{};
  out.id = kLaunchProgrammaticStreamSerialization;
  out.value.flag = 1;
  return out;
}();

TEST_F(CudaLaunch, ClustersHaveRanks) {
  const Words words(gpu_, {9, 9, 9, 9, 9, 9});
  const CuFunction ranks = Function("ranks");
  EXPECT_EQ(LaunchEx(ranks, 6, {Cluster(3)}, {words.address()}), kSuccess);
  EXPECT_EQ(driver().CtxSynchronize(), kSuccess);
  EXPECT_EQ(words.Peek(), (Values{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(LaunchEx(ranks, 6, {Cluster(4)}, {words.address()}), kErrorInvalidValue);
  EXPECT_EQ(LaunchEx(ranks, 6, {Flag(static_cast<CuLaunchAttributeId>(99))}, {words.address()}),
            kErrorNotSupported);
}

TEST_F(CudaLaunch, LargeClustersAreAllowedByTheFunction) {
  const Words words(gpu_, Values(16, 99));
  const CuFunction ranks = Function("ranks");
  EXPECT_EQ(LaunchEx(ranks, 16, {Cluster(16)}, {words.address()}), kErrorInvalidClusterSize);
  EXPECT_EQ(driver().FuncSetAttribute(ranks, kFunctionNonPortableClusterSizeAllowed, 1), kSuccess);
  EXPECT_EQ(LaunchEx(ranks, 16, {Cluster(16)}, {words.address()}), kSuccess);
  EXPECT_EQ(LaunchEx(ranks, 32, {Cluster(32)}, {words.address()}), kErrorInvalidClusterSize);
  EXPECT_EQ(driver().CtxSynchronize(), kSuccess);
  EXPECT_EQ(words.Peek()[15], 15U);
}

// Computed by hand for the emulated H100: 2048 threads, 32 blocks, 228 KiB, of which a block takes
// 1 KiB more than it requests; 8 times 16 multiprocessors and 4.
TEST_F(CudaLaunch, TellsOccupancy) {
  const CuFunction ranks = Function("ranks");
  int count = 0;
  EXPECT_EQ(driver().OccupancyMaxActiveBlocks(&count, ranks, 256, 0), kSuccess);
  EXPECT_EQ(count, 8);
  EXPECT_EQ(driver().OccupancyMaxActiveBlocks(&count, ranks, 32, 0), kSuccess);
  EXPECT_EQ(count, 32);
  EXPECT_EQ(driver().OccupancyMaxActiveBlocks(&count, ranks, 32, 75 * 1024), kSuccess);
  EXPECT_EQ(count, 3);
  std::array<CuLaunchAttribute, 1> attributes = {Cluster(8)};
  const CuLaunchConfig config{{8, 1, 1}, {1024, 1, 1}, 0, nullptr, attributes.data(), 1};
  EXPECT_EQ(client::OccupancyMaxActiveClusters(&count, ranks, &config), kSuccess);
  EXPECT_EQ(count, 8 * 4 + 1);  // 16 x 2 blocks are 4 clusters of 8; 4 x 2 are one
}

TEST_F(CudaLaunch, CooperativeBlocksMeet) {
  const Words words(gpu_, {0});
  CuDevicePtr address = words.address();
  void* parameters[] = {&address};
  const CuFunction meet = Function("meet");
  EXPECT_EQ(client::LaunchCooperativeKernel(meet, 8U, 1U, 1U, 1U, 1U, 1U, 0U,
                                            static_cast<CuStream>(nullptr),
                                            static_cast<void**>(parameters)),
            kSuccess);
  EXPECT_EQ(driver().CtxSynchronize(), kSuccess);
  EXPECT_EQ(words.Peek(), Values{8});
  // 132 multiprocessors hold 32 blocks each.
  EXPECT_EQ(LaunchEx(meet, 132 * 32 + 1, {Flag(kLaunchCooperative)}, {address}),
            kErrorCooperativeLaunchTooLarge);
}

TEST_F(CudaLaunch, ADependentKernelThatDoesNotWaitComesTooEarly) {
  const Words p(gpu_, {1, 1, 1}), q(gpu_, {0, 0, 0});
  EXPECT_EQ(LaunchEx(Function("first"), 3, {}, {p.address()}), kSuccess);
  EXPECT_EQ(LaunchEx(Function("rushes"), 3, {kEarly}, {p.address(), q.address()}), kSuccess);
  EXPECT_EQ(driver().CtxSynchronize(), kSuccess);
  EXPECT_EQ(p.Peek(), (Values{7, 8, 9}));
  // The last block released it before its write; the others had written by then.
  EXPECT_EQ(q.Peek(), (Values{7, 8, 1}));
}

TEST_F(CudaLaunch, ADependentKernelThatWaitsSeesAll) {
  const Words p(gpu_, {1, 1, 1}), q(gpu_, {0, 0, 0}), r(gpu_, {0, 0, 0});
  EXPECT_EQ(LaunchEx(Function("first"), 3, {}, {p.address()}), kSuccess);
  EXPECT_EQ(LaunchEx(Function("waits"), 3, {kEarly}, {p.address(), q.address()}), kSuccess);
  EXPECT_EQ(LaunchEx(Function("waits"), 3, {kEarly}, {q.address(), r.address()}), kSuccess);
  EXPECT_EQ(driver().CtxSynchronize(), kSuccess);
  EXPECT_EQ(q.Peek(), (Values{7, 8, 9}));
  EXPECT_EQ(r.Peek(), (Values{7, 8, 9}));
  EXPECT_EQ(ReadCounts().launches, 3U);
}

TEST_F(CudaLaunch, KernelsInOrderNeedNoWait) {
  const Words p(gpu_, {1, 1, 1}), q(gpu_, {0, 0, 0});
  EXPECT_EQ(LaunchEx(Function("first"), 3, {}, {p.address()}), kSuccess);
  EXPECT_EQ(LaunchEx(Function("rushes"), 3, {}, {p.address(), q.address()}), kSuccess);
  EXPECT_EQ(driver().CtxSynchronize(), kSuccess);
  EXPECT_EQ(q.Peek(), (Values{7, 8, 9}));
  // Nor does one after a kernel that never releases it.
  EXPECT_EQ(LaunchEx(Function("late"), 3, {}, {q.address()}), kSuccess);
  EXPECT_EQ(LaunchEx(Function("rushes"), 3, {kEarly}, {q.address(), p.address()}), kSuccess);
  EXPECT_EQ(driver().CtxSynchronize(), kSuccess);
  EXPECT_EQ(p.Peek(), (Values{7, 8, 9}));
}

TEST_F(CudaLaunch, AStreamWaitsForWhatAnotherWrites) {
  const Words words(gpu_, {0, 0, 5, 0});
  auto one = Stream::Create(gpu_), other = Stream::Create(gpu_);
  ASSERT_TRUE(one.ok() && other.ok());
  const CuDevicePtr flag = words.address();
  EXPECT_EQ(client::StreamWaitValue32(one->handle(), flag, 3U, unsigned{kWaitGreaterEqual}),
            kSuccess);
  EXPECT_EQ(driver().MemcpyDtoDAsync(flag + 12, flag + 8, 4, one->handle()), kSuccess);
  EXPECT_EQ(driver().MemsetD32Async(flag + 8, 77, 1, other->handle()), kSuccess);
  EXPECT_EQ(client::StreamWriteValue32(other->handle(), flag, 4U, 0U), kSuccess);
  EXPECT_EQ(driver().StreamSynchronize(one->handle()), kSuccess);
  EXPECT_EQ(words.Peek(), (Values{4, 0, 77, 77}));
  EXPECT_EQ(client::StreamWriteValue64(one->handle(), flag, uint64_t{1} << 32, 0U), kSuccess);
  EXPECT_EQ(client::StreamWaitValue64(one->handle(), flag, uint64_t{1} << 32, unsigned{kWaitEqual}),
            kSuccess);
  EXPECT_EQ(client::StreamWaitValue32(one->handle(), flag + 4, 3U, unsigned{kWaitAnd}), kSuccess);
  EXPECT_EQ(client::StreamWaitValue32(one->handle(), flag, 3U, unsigned{kWaitNor}), kSuccess);
  EXPECT_EQ(driver().CtxSynchronize(), kSuccess);
  EXPECT_EQ(client::StreamWaitValue32(one->handle(), flag + 2, 3U, 0U), kErrorInvalidValue);
  EXPECT_EQ(client::StreamWaitValue32(one->handle(), flag, 3U, 4U), kErrorInvalidValue);
}

TEST_F(CudaLaunch, AWaitThatNobodyEndsIsADeadlock) {
  const Words words(gpu_, {0});
  EXPECT_EQ(client::StreamWaitValue32(static_cast<CuStream>(nullptr), words.address(), 3U, 1U),
            kSuccess);
  EXPECT_EQ(driver().CtxSynchronize(), kErrorLaunchTimeout);
  EXPECT_NE(Findings().find("deadlock: a stream waits until the 32 bits at 0x"), std::string::npos);
  EXPECT_NE(Findings().find(" are == 0x3, they are 0x0"), std::string::npos);
  lost_ = true;
  ExpectLost();
}

}  // namespace
}  // namespace tarsia::cuda::cuda_launch_test
