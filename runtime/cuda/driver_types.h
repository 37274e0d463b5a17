// The part of the CUDA driver API that the runtime calls: its types and constants, declared here so
// that a build needs no CUDA. Names and values are those of the driver API reference
// (docs.nvidia.com/cuda/cuda-driver-api), whose binary interface is stable.
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
using CuGraph = struct CuGraphTag*;
using CuGraphExec = struct CuGraphExecTag*;

enum : CuResult {
  kSuccess = 0,
  kErrorInvalidValue = 1,
  kErrorOutOfMemory = 2,
  kErrorNotInitialized = 3,
  kErrorDeinitialized = 4,
  kErrorDeviceUnavailable = 46,
  kErrorNoDevice = 100,
  kErrorInvalidDevice = 101,
  kErrorInvalidImage = 200,
  kErrorInvalidContext = 201,
  kErrorNoBinaryForGpu = 209,
  kErrorEccUncorrectable = 214,
  kErrorInvalidPtx = 218,
  kErrorNvlinkUncorrectable = 220,
  kErrorContained = 226,
  kErrorUnsupportedPtxVersion = 222,
  kErrorInvalidHandle = 400,
  kErrorNotFound = 500,
  kErrorNotReady = 600,
  kErrorIllegalAddress = 700,
  kErrorLaunchOutOfResources = 701,
  kErrorLaunchTimeout = 702,
  kErrorContextIsDestroyed = 709,
  kErrorAssert = 710,
  kErrorHardwareStackError = 714,
  kErrorIllegalInstruction = 715,
  kErrorMisalignedAddress = 716,
  kErrorInvalidAddressSpace = 717,
  kErrorInvalidPc = 718,
  kErrorLaunchFailed = 719,
  kErrorCooperativeLaunchTooLarge = 720,
  kErrorNotSupported = 801,
  kErrorSystemNotReady = 802,
  kErrorStreamCaptureUnsupported = 900,
  kErrorStreamCaptureInvalidated = 901,
  kErrorStreamCaptureMerge = 902,
  kErrorStreamCaptureUnmatched = 903,
  kErrorStreamCaptureUnjoined = 904,
  kErrorStreamCaptureIsolation = 905,
  kErrorStreamCaptureImplicit = 906,
  kErrorCapturedEvent = 907,
  kErrorStreamCaptureWrongThread = 908,
  kErrorInvalidClusterSize = 912,
  kErrorUnknown = 999,
};

enum CuDeviceAttribute : int {
  kAttributeMaxThreadsPerBlock = 1,
  kAttributeMaxSharedMemoryPerBlock = 8,
  kAttributeWarpSize = 10,
  kAttributeMaxRegistersPerBlock = 12,
  kAttributeClockRate = 13,  // kHz
  kAttributeMultiprocessorCount = 16,
  kAttributeMemoryClockRate = 36,       // kHz
  kAttributeGlobalMemoryBusWidth = 37,  // bits
  kAttributeL2CacheSize = 38,
  kAttributeMaxThreadsPerMultiprocessor = 39,
  kAttributeComputeCapabilityMajor = 75,
  kAttributeComputeCapabilityMinor = 76,
  kAttributeMaxSharedMemoryPerMultiprocessor = 81,
  kAttributeMaxSharedMemoryPerBlockOptin = 97,
};

enum CuFunctionAttribute : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionSharedSizeBytes = 1,
  kFunctionLocalSizeBytes = 3,
  kFunctionNumRegs = 4,
  kFunctionMaxDynamicSharedSizeBytes = 8,
  kFunctionNonPortableClusterSizeAllowed = 14,
};

// A launch attribute: a name, and a value of 64 bytes, part of which each name uses.
enum CuLaunchAttributeId : int {
  kLaunchIgnore = 0,
  kLaunchCooperative = 2,                      // int
  kLaunchClusterDimension = 4,                 // unsigned[3]
  kLaunchProgrammaticStreamSerialization = 6,  // int
};
struct CuLaunchAttribute {
  CuLaunchAttributeId id;
  char padding[4];
  union {
    char bytes[64];
    unsigned cluster[3];
    int flag;
  } value;
};
static_assert(sizeof(CuLaunchAttribute) == 72);
struct CuLaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  CuStream stream;
  CuLaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(CuLaunchConfig) == 56);

// The description of a tensor and its boxes for kernels, passed by value; made by the driver.
struct alignas(64) CuTensorMap {
  unsigned char bytes[128];
};

// The condition that ends a stream's wait for a value in memory.
enum CuStreamWaitFlags : unsigned {
  kWaitGreaterEqual = 0,  // cyclic: as a signed difference
  kWaitEqual = 1,
  kWaitAnd = 2,
  kWaitNor = 3,
};

enum CuJitOption : int {
  kJitInfoLogBuffer = 3,
  kJitInfoLogBufferSizeBytes = 4,
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferSizeBytes = 6,
  kJitLogVerbose = 12,
  kJitGenerateLineInfo = 13,
};

// Streams without an object: the legacy default stream, which a null stream also means, and the
// default stream of the calling thread.
inline constexpr uintptr_t kStreamLegacy = 1;
inline constexpr uintptr_t kStreamPerThread = 2;

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventDisableTiming = 2;

// The names in `extra` of a launch, each followed by a value, up to the end.
inline constexpr uintptr_t kLaunchParamEnd = 0;
inline constexpr uintptr_t kLaunchParamBufferPointer = 1;
inline constexpr uintptr_t kLaunchParamBufferSize = 2;

enum CuStreamCaptureMode : int {
  kCaptureGlobal = 0,
  kCaptureThreadLocal = 1,
  kCaptureRelaxed = 2,
};

enum CuPointerAttribute : int {
  kPointerContext = 1,
  kPointerMemoryType = 2,  // unsigned: 1 host, 2 device
  kPointerDeviceOrdinal = 9,
  kPointerRangeStart = 11,
  kPointerRangeSize = 12,
};

enum CuStreamCaptureStatus : int {
  kCaptureNone = 0,
  kCaptureActive = 1,
  kCaptureInvalidated = 2,
};

}  // namespace tarsia::cuda

#endif  // TARSIA_RUNTIME_CUDA_DRIVER_TYPES_H_
