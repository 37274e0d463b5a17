// Opening the driver: success, and every way to fail.
#include "tests/unit/runtime/cuda_testing.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

namespace tarsia::cuda::cuda_driver_test {
namespace {

class CudaDriver : public CudaTest {};

TEST_F(CudaDriver, OpensWithItsVersionAndDevices) {
  Reset({{"VERSION", "12080"}, {"DEVICES", "3"}});
  const Driver& opened = driver();
  EXPECT_EQ(opened.version(), 12080);
  EXPECT_EQ(opened.device_count(), 3);
  EXPECT_EQ(opened.file(), EmulatedLibrary());
  EXPECT_EQ(VersionText(12080), "12.8");
  EXPECT_EQ(opened.ErrorText(kErrorOutOfMemory), "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  EXPECT_EQ(opened.ErrorText(12345), "error 12345");
}

TEST_F(CudaDriver, SaysThatThereIsNone) {
  const auto opened = OpenDriver("/nowhere/libcuda.so.1");
  EXPECT_EQ(IdOf(opened), "no-cuda-driver");
  EXPECT_NE(ErrorOf(opened).find("/nowhere/libcuda.so.1 of version 12.0 or later is required"),
            std::string::npos)
      << ErrorOf(opened);
}

TEST_F(CudaDriver, SaysWhichFunctionIsMissing) {
  const std::string library = EmulatedLibrary("_without_graphs");
  EXPECT_EQ(Symbol<void*>("cuGraphInstantiateWithFlags", "_without_graphs"), nullptr);
  EXPECT_NE(Symbol<void*>("cuGraphLaunch", "_without_graphs"), nullptr);
  const auto opened = OpenDriver(library);
  EXPECT_EQ(IdOf(opened), "cuda-symbol-missing");
  EXPECT_EQ(ErrorOf(opened), library +
                                 " has no function `cuGraphInstantiateWithFlags`: version 12.0 or "
                                 "later is required, it says that it has 12.4");
  EXPECT_EQ(IdOf(OpenDriver(EmulatedLibrary("_without_errors"))), "cuda-symbol-missing");
}

TEST_F(CudaDriver, SaysThatItIsTooOld) {
  Reset({{"VERSION", "11080"}});
  const auto opened = OpenDriver(EmulatedLibrary());
  EXPECT_EQ(IdOf(opened), "cuda-driver-too-old");
  EXPECT_EQ(ErrorOf(opened), "the CUDA driver is too old: " + EmulatedLibrary() +
                                 " has version 11.8, and 12.0 or later is required");
}

TEST_F(CudaDriver, SaysThatThereIsNoGpu) {
  Reset({{"DEVICES", "0"}});
  const auto opened = OpenDriver(EmulatedLibrary());
  EXPECT_EQ(IdOf(opened), "no-cuda-device");
  EXPECT_EQ(ErrorOf(opened), EmulatedLibrary() + " finds no GPU");
}

TEST_F(CudaDriver, SaysThatItCannotBeInitialised) {
  Reset({{"FAULTS", "cuInit@1=802"}});
  EXPECT_EQ(ErrorOf(OpenDriver(EmulatedLibrary())), "cuInit: error 802");
  Reset({{"FAULTS", "cuDeviceGetCount@1=999"}});
  EXPECT_EQ(IdOf(OpenDriver(EmulatedLibrary())), "device-lost");
}

TEST_F(CudaDriver, TellsALostDeviceFromOtherErrors) {
  EXPECT_TRUE(IsLost(kErrorIllegalAddress));
  EXPECT_TRUE(IsLost(kErrorEccUncorrectable));
  EXPECT_FALSE(IsLost(kErrorInvalidValue));
  EXPECT_FALSE(IsLost(kErrorOutOfMemory));
  EXPECT_FALSE(IsLost(kErrorNotReady));
  EXPECT_EQ(IdOf(driver().Check(kErrorLaunchFailed, "x")), "device-lost");
  EXPECT_EQ(IdOf(driver().Check(kErrorOutOfMemory, "x")), "out-of-memory");
  EXPECT_EQ(IdOf(driver().Check(kErrorInvalidValue, "x")), "cuda-error");
  EXPECT_EQ(ErrorOf(driver().Check(kErrorInvalidValue, "cuX")),
            "cuX: CUDA_ERROR_INVALID_VALUE (invalid argument)");
}

// Nothing works before cuInit, and an invalid setting is detected.
TEST_F(CudaDriver, TheEmulatedOneIsStrict) {
  int count = 0;
  EXPECT_EQ(Symbol<CuResult (*)(int*)>("cuDeviceGetCount")(&count), kErrorNotInitialized);
  Reset({{"FAULTS", "cuMemAlloc_v2@x=2"}});
  EXPECT_EQ(Symbol<CuResult (*)(unsigned)>("cuInit")(0), kErrorInvalidValue);
  EXPECT_EQ(Symbol<void*>("cuMemAllocManaged"), nullptr);
}

#if __has_include(<cuda.h>)
// The numbers of driver_types.h are those of CUDA's own header.
TEST(CudaTypes, AreThoseOfCuda) {
#define SAME(own, cuda) EXPECT_EQ(static_cast<int>(own), static_cast<int>(cuda)) << #cuda
  SAME(kErrorInvalidValue, CUDA_ERROR_INVALID_VALUE);
  SAME(kErrorOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  SAME(kErrorDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
  SAME(kErrorNoDevice, CUDA_ERROR_NO_DEVICE);
  SAME(kErrorInvalidImage, CUDA_ERROR_INVALID_IMAGE);
  SAME(kErrorInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
  SAME(kErrorNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
  SAME(kErrorEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
  SAME(kErrorInvalidPtx, CUDA_ERROR_INVALID_PTX);
  SAME(kErrorNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
  SAME(kErrorUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  SAME(kErrorContained, CUDA_ERROR_CONTAINED);
  SAME(kErrorInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
  SAME(kErrorNotFound, CUDA_ERROR_NOT_FOUND);
  SAME(kErrorNotReady, CUDA_ERROR_NOT_READY);
  SAME(kErrorIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
  SAME(kErrorLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  SAME(kErrorLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
  SAME(kErrorContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  SAME(kErrorAssert, CUDA_ERROR_ASSERT);
  SAME(kErrorIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
  SAME(kErrorMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
  SAME(kErrorLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
  SAME(kErrorNotSupported, CUDA_ERROR_NOT_SUPPORTED);
  SAME(kErrorStreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  SAME(kErrorStreamCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  SAME(kErrorStreamCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  SAME(kErrorStreamCaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  SAME(kAttributeMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  SAME(kAttributeL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  SAME(kAttributeComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  SAME(kAttributeMaxThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  SAME(kAttributeMaxSharedMemoryPerBlockOptin,
       CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  SAME(kFunctionNumRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
  SAME(kFunctionSharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  SAME(kFunctionLocalSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  SAME(kFunctionMaxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  SAME(kPointerContext, CU_POINTER_ATTRIBUTE_CONTEXT);
  SAME(kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
  SAME(kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
  SAME(kPointerRangeStart, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
  SAME(kPointerRangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
  SAME(kJitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
  SAME(kJitErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  SAME(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
  SAME(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
  SAME(kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  SAME(kCaptureActive, CU_STREAM_CAPTURE_STATUS_ACTIVE);
#undef SAME
}
#endif

}  // namespace
}  // namespace tarsia::cuda::cuda_driver_test
