// The part of the CUDA driver API that the runtime calls: its types and the numbers that matter,
// declared here so that a build needs no CUDA. Names and values are those of the driver API
// reference (docs.nvidia.com/cuda/cuda-driver-api), whose binary interface is stable.
#ifndef TARSIA_RUNTIME_CUDA_DRIVER_TYPES_H_
#define TARSIA_RUNTIME_CUDA_DRIVER_TYPES_H_

#include <cstddef>
#include <cstdint>

namespace tarsia::cuda {

using CuResult = int;
using CuDevice = int;
using CuDevicePtr = uint64_t;
using CuContext = struct CuContextTag*;
using CuModule = struct CuModuleTag*;
using CuFunction = struct CuFunctionTag*;
using CuStream = struct CuStreamTag*;
using CuEvent = struct CuEventTag*;

enum : CuResult {
  kSuccess = 0,
  kErrorInvalidValue = 1,
  kErrorOutOfMemory = 2,
  kErrorNotInitialized = 3,
  kErrorDeinitialized = 4,
  kErrorNoDevice = 100,
  kErrorInvalidDevice = 101,
  kErrorInvalidImage = 200,
  kErrorInvalidContext = 201,
  kErrorNoBinaryForGpu = 209,
  kErrorInvalidPtx = 218,
  kErrorUnsupportedPtxVersion = 222,
  kErrorInvalidHandle = 400,
  kErrorNotFound = 500,
  kErrorNotReady = 600,
  kErrorIllegalAddress = 700,
  kErrorLaunchOutOfResources = 701,
  kErrorLaunchTimeout = 702,
  kErrorIllegalInstruction = 715,
  kErrorMisalignedAddress = 716,
  kErrorLaunchFailed = 719,
  kErrorNotSupported = 801,
  kErrorSystemNotReady = 802,
  kErrorStreamCaptureUnsupported = 900,
  kErrorStreamCaptureInvalidated = 901,
  kErrorUnknown = 999,
};

enum CuDeviceAttribute : int {
  kAttributeMaxSharedMemoryPerBlock = 8,
  kAttributeMultiprocessorCount = 16,
  kAttributeL2CacheSize = 38,
  kAttributeComputeCapabilityMajor = 75,
  kAttributeComputeCapabilityMinor = 76,
  kAttributeMaxSharedMemoryPerBlockOptin = 97,
};

enum CuFunctionAttribute : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionSharedSizeBytes = 1,
  kFunctionLocalSizeBytes = 3,
  kFunctionNumRegs = 4,
  kFunctionMaxDynamicSharedSizeBytes = 8,
};

enum CuJitOption : int {
  kJitInfoLogBuffer = 3,
  kJitInfoLogBufferSizeBytes = 4,
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferSizeBytes = 6,
  kJitLogVerbose = 12,
  kJitGenerateLineInfo = 13,
};

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;

enum CuStreamCaptureStatus : int {
  kCaptureNone = 0,
  kCaptureActive = 1,
  kCaptureInvalidated = 2,
};

}  // namespace tarsia::cuda

#endif  // TARSIA_RUNTIME_CUDA_DRIVER_TYPES_H_
