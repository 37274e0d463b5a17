// Device memory: allocation, copies, fills, and that they are enqueued.
#include "tests/unit/runtime/cuda_testing.h"

namespace tarsia::cuda::cuda_memory_test {
namespace {

class CudaMemory : public CudaTest {};

TEST_F(CudaMemory, IsAllocatedAndFreed) {
  const auto gpu = OpenGpu();
  const auto address = AllocateMemory(*gpu, 1000);
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(*address % 256, 0U);
  EXPECT_EQ(ReadCounts().allocations, 1U);
  EXPECT_EQ(ReadCounts().allocated_bytes, 1000U);
  EXPECT_FALSE(ReadCounts().Clean());
  EXPECT_EQ(ErrorOf(FreeMemory(*gpu, *address)), "");
  EXPECT_EQ(IdOf(FreeMemory(*gpu, *address)), "not-device-memory");
  EXPECT_EQ(ErrorOf(FreeMemory(*gpu, 0)), "");
  const auto nothing = AllocateMemory(*gpu, 0);
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(*nothing, 0U);
}

TEST_F(CudaMemory, SaysWhatWasWantedAndIsFree) {
  Reset({{"MEMORY", "1000000"}});
  const auto gpu = OpenGpu();
  const auto buffer = Buffer::Allocate(gpu, 400000);
  ASSERT_TRUE(buffer.ok());
  const auto info = ReadMemoryInfo(*gpu);
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->available, 600000U);
  EXPECT_EQ(info->total, 1000000U);
  const auto more = AllocateMemory(*gpu, 600001);
  EXPECT_EQ(IdOf(more), "out-of-memory");
  EXPECT_EQ(ErrorOf(more),
            "600001 bytes of memory of cuda:0 (Emulated GPU 9.0) were requested: 600000 of 1000000 "
            "are free");
}

TEST_F(CudaMemory, FailsWhereItIsTold) {
  Reset({{"FAULTS", "cuMemAlloc_v2@2=2"}});
  const auto gpu = OpenGpu();
  EXPECT_TRUE(Buffer::Allocate(gpu, 8).ok());
  EXPECT_EQ(IdOf(Buffer::Allocate(gpu, 8)), "out-of-memory");
  EXPECT_TRUE(Buffer::Allocate(gpu, 8).ok());
}

TEST_F(CudaMemory, MovesWithItsBuffer) {
  const auto gpu = OpenGpu();
  Buffer outer;
  {
    auto inner = Buffer::Allocate(gpu, 64);
    ASSERT_TRUE(inner.ok());
    Buffer moved(*std::move(inner));
    outer = std::move(moved);
  }
  EXPECT_EQ(outer.bytes(), 64U);
  EXPECT_EQ(ReadCounts().allocations, 1U);
}

TEST_F(CudaMemory, IsCopiedWhenSomebodyWaits) {
  const auto gpu = OpenGpu();
  const Words words(gpu, {1, 2, 3});
  const auto stream = Stream::Create(gpu);
  ASSERT_TRUE(stream.ok());
  const std::vector<uint32_t> news = {7, 8, 9};
  EXPECT_EQ(ErrorOf(CopyIn(*gpu, words.address(), news.data(), 12, stream->handle())), "");
  std::vector<uint32_t> out = {0, 0, 0};
  EXPECT_EQ(ErrorOf(CopyOut(*gpu, out.data(), words.address(), 12, stream->handle())), "");
  EXPECT_EQ(words.Peek(), (std::vector<uint32_t>{1, 2, 3}));  // nothing has waited
  EXPECT_EQ(out, (std::vector<uint32_t>{0, 0, 0}));
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, stream->handle())), "");
  EXPECT_EQ(words.Peek(), news);
  EXPECT_EQ(out, news);
}

TEST_F(CudaMemory, IsCopiedWithinAndFilled) {
  const auto gpu = OpenGpu();
  const Words words(gpu, {0x11111111, 0x22222222, 0x33333333, 0x44444444});
  const CuDevicePtr at = words.address();
  EXPECT_EQ(ErrorOf(CopyWithin(*gpu, at + 8, at, 4, nullptr)), "");
  EXPECT_EQ(ErrorOf(Fill(*gpu, at, uint8_t{0xAB}, 3, nullptr)), "");
  EXPECT_EQ(ErrorOf(Fill(*gpu, at + 6, uint16_t{0xCDEF}, 1, nullptr)), "");
  EXPECT_EQ(ErrorOf(Fill(*gpu, at + 12, uint32_t{0x01020304}, 1, nullptr)), "");
  EXPECT_EQ(ErrorOf(Fill(*gpu, at, uint32_t{0}, 0, nullptr)), "");
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, nullptr)), "");
  EXPECT_EQ(words.Peek(), (std::vector<uint32_t>{0x11ABABAB, 0xCDEF2222, 0x11111111, 0x01020304}));
  EXPECT_EQ(ErrorOf(Fill(*gpu, at + 2, uint32_t{0}, 1, nullptr)),
            "cuMemsetD32Async: CUDA_ERROR_INVALID_VALUE (invalid argument)");
}

TEST_F(CudaMemory, IsNotCopiedBeyondItsEnd) {
  const auto gpu = OpenGpu();
  const Words words(gpu, {1, 2});
  uint32_t out[3] = {};
  EXPECT_EQ(ErrorOf(CopyOut(*gpu, out, words.address(), 12, nullptr)),
            "cuMemcpyDtoHAsync: CUDA_ERROR_INVALID_VALUE (invalid argument)");
  EXPECT_EQ(ErrorOf(CopyIn(*gpu, words.address() + 4, out, 8, nullptr)),
            "cuMemcpyHtoDAsync: CUDA_ERROR_INVALID_VALUE (invalid argument)");
  EXPECT_EQ(IdOf(CopyWithin(*gpu, words.address(), 0x1234, 4, nullptr)), "cuda-error");
}

TEST_F(CudaMemory, TellsWhoseAPointerIs) {
  Reset({{"DEVICES", "2"}});
  const auto gpu = OpenGpu(0);
  const auto other = OpenGpu(1);
  const Words words(gpu, {1, 2, 3});
  const auto range = FindRange(*gpu, words.address() + 5);
  ASSERT_TRUE(range.ok());
  EXPECT_EQ(range->start, words.address());
  EXPECT_EQ(range->bytes, 12U);
  EXPECT_EQ(IdOf(FindRange(*other, words.address())), "not-device-memory");
  EXPECT_EQ(ErrorOf(FindRange(*gpu, 0x1234)),
            "0x1234 is not an address in the memory of cuda:0 (Emulated GPU 9.0)");
}

// A free does not wait for work that uses the memory: a missing wait is detected.
TEST_F(CudaMemory, FreedTooEarlyShows) {
  ExpectLost();
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  const auto stream = Stream::Create(gpu);
  {
    const Words words(gpu, {1});
    EXPECT_EQ(
        ErrorOf(kernel->Launch({1, 1, 1}, Parameters(words.address(), 1, 1), stream->handle())),
        "");
  }
  EXPECT_EQ(IdOf(Synchronize(*gpu, stream->handle())), "device-lost");
  EXPECT_NE(Findings().find("freed"), std::string::npos) << Findings();
}

}  // namespace
}  // namespace tarsia::cuda::cuda_memory_test
