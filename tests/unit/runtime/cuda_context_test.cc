// Properties of GPUs, and the context of calls.
#include <thread>

#include "tests/unit/runtime/cuda_testing.h"

namespace tarsia::cuda::cuda_context_test {
namespace {

class CudaContext : public CudaTest {
 protected:
  CuContext Create(int device) {
    CuContext context = nullptr;
    const auto create = Symbol<CuResult (*)(CuContext*, unsigned, CuDevice)>("cuCtxCreate_v2");
    EXPECT_EQ(create(&context, 0, device), kSuccess);
    return context;
  }
  void Destroy(CuContext context) {
    EXPECT_EQ(Symbol<CuResult (*)(CuContext)>("cuCtxDestroy_v2")(context), kSuccess);
  }
  CuContext Current() {
    CuContext context = nullptr;
    EXPECT_EQ(Symbol<CuResult (*)(CuContext*)>("cuCtxGetCurrent")(&context), kSuccess);
    return context;
  }
};

TEST_F(CudaContext, ReadsProperties) {
  Reset({{"CAPABILITY", "8.9"}, {"DEVICES", "2"}, {"MEMORY", "1048576"}});
  const auto properties = ReadProperties(driver(), 1);
  ASSERT_TRUE(properties.ok());
  EXPECT_EQ(properties->Label(), "cuda:1 (Emulated GPU 8.9)");
  EXPECT_EQ(properties->capability(), 89);
  EXPECT_EQ(properties->shared_bytes, 99U * 1024);
  EXPECT_EQ(properties->memory_bytes, 1048576U);
  EXPECT_EQ(properties->threads_per_multiprocessor, 1536);
  EXPECT_EQ(ReadCounts().contexts, 0U);
  EXPECT_EQ(ErrorOf(ReadProperties(driver(), 2)),
            "there is no GPU 2: " + EmulatedLibrary() + " finds 2");
  EXPECT_EQ(IdOf(ReadProperties(driver(), -1)), "no-cuda-device");
}

TEST_F(CudaContext, HoldsThePrimaryOne) {
  {
    const auto first = OpenGpu();
    const auto second = OpenGpu();
    EXPECT_EQ(first->primary(), second->primary());
    EXPECT_EQ(ReadCounts().contexts, 1U);
    EXPECT_EQ(ReadCounts().retained, 2U);
  }
  EXPECT_EQ(ReadCounts().contexts, 0U);
  Reset({{"FAULTS", "cuDevicePrimaryCtxRetain@1=2"}});
  EXPECT_EQ(IdOf(Gpu::Open(driver(), 0)), "out-of-memory");
}

TEST_F(CudaContext, IsThePrimaryOneWhereThereIsNone) {
  const auto gpu = OpenGpu();
  {
    const auto current = CurrentContext::Enter(*gpu);
    ASSERT_TRUE(current.ok());
    EXPECT_EQ(Current(), gpu->primary());
    EXPECT_EQ(current->context(), gpu->primary());
  }
  EXPECT_EQ(Current(), nullptr);
}

TEST_F(CudaContext, IsTheCallersIfItBelongsToTheGpu) {
  const auto gpu = OpenGpu();
  const CuContext own = Create(0);
  {
    const auto current = CurrentContext::Enter(*gpu);
    ASSERT_TRUE(current.ok());
    EXPECT_EQ(current->context(), own);
    EXPECT_EQ(Current(), own);
    // Objects made here belong to the caller's context.
    const Words words(gpu, {1, 2});
    CuContext owner = nullptr;
    EXPECT_EQ(driver().PointerGetAttribute(&owner, kPointerContext, words.address()), kSuccess);
    EXPECT_EQ(owner, own);
  }
  EXPECT_EQ(Current(), own);
  Destroy(own);
}

TEST_F(CudaContext, OfAnotherGpuIsLeftAloneAndRestored) {
  Reset({{"DEVICES", "2"}});
  const auto gpu = OpenGpu(1);
  const CuContext own = Create(0);
  {
    const Words words(gpu, {3});
    EXPECT_EQ(words.Peek(), std::vector<uint32_t>{3});
    CuContext owner = nullptr;
    EXPECT_EQ(driver().PointerGetAttribute(&owner, kPointerContext, words.address()), kSuccess);
    EXPECT_EQ(owner, gpu->primary());
    EXPECT_EQ(Current(), own);
  }
  EXPECT_EQ(Current(), own);
  Destroy(own);
}

TEST_F(CudaContext, IsPoppedOnceAfterAMove) {
  const auto gpu = OpenGpu();
  {
    auto first = CurrentContext::Enter(*gpu);
    ASSERT_TRUE(first.ok());
    const CurrentContext second = *std::move(first);
    EXPECT_EQ(Current(), gpu->primary());
  }
  EXPECT_EQ(Current(), nullptr);
}

TEST_F(CudaContext, IsAThreadsOwn) {
  const auto gpu = OpenGpu();
  const CuContext own = Create(0);
  std::thread([&] {
    EXPECT_EQ(Current(), nullptr);
    const auto current = CurrentContext::Enter(*gpu);
    ASSERT_TRUE(current.ok());
    EXPECT_EQ(current->context(), gpu->primary());
  }).join();
  EXPECT_EQ(Current(), own);
  Destroy(own);
}

// Ids tell contexts apart.
TEST_F(CudaContext, HasAnId) {
  const auto gpu = OpenGpu();
  const auto primary = CurrentContext::Enter(*gpu);
  const CuContext own = Create(0);
  const auto other = CurrentContext::Enter(*gpu);
  ASSERT_TRUE(primary->Id().ok() && other->Id().ok());
  EXPECT_NE(*primary->Id(), *other->Id());
  Destroy(own);
}

TEST_F(CudaContext, SaysWhatTheDriverSays) {
  Reset({{"FAULTS", "cuCtxGetCurrent@1=4,cuCtxPushCurrent_v2@1=201"}});
  const auto gpu = OpenGpu();
  EXPECT_EQ(IdOf(CurrentContext::Enter(*gpu)), "device-lost");
  EXPECT_EQ(ErrorOf(CurrentContext::Enter(*gpu)),
            "cuCtxPushCurrent: CUDA_ERROR_INVALID_CONTEXT (invalid context)");
  Reset({{"FAULTS", "cuDeviceGetAttribute@2=1"}});
  EXPECT_EQ(ErrorOf(ReadProperties(driver(), 0)),
            "cuDeviceGetAttribute: CUDA_ERROR_INVALID_VALUE (invalid argument)");
  ExpectLost();
}

}  // namespace
}  // namespace tarsia::cuda::cuda_context_test
