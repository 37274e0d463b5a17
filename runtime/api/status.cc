// The status of the C API for each error of the runtime: one table.
#include "compiler/diagnostics.h"
#include "dtypes/diagnostics.h"
#include "launch/diagnostics.h"
#include "layout/diagnostics.h"
#include "ptx/table/diagnostics.h"
#include "runtime/api/api.h"
#include "runtime/diagnostics.h"
#include "vm/diagnostics.h"

namespace tarsia::api {
namespace {

struct Meaning {
  const DiagInfo* info;
  tarsia_status status;
};

constexpr Meaning kMeanings[] = {
    // The call is wrong.
    {&diag::kApiArgumentNull, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kApiUnknownDevice, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kApiStreamNotNull, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kUnknownTarget, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kArgumentCount, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kLaunchArgumentKind, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kArgumentType, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kNullBuffer, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kBufferTooSmall, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kReadOnlyBuffer, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kAssumption, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kGridExtent, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kGridTooLarge, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kGridBeyondDevice, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kPointerAlignment, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kMisalignedWorkspace, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kNoWorkspace, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kViewExtent, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kScratchExtent, TARSIA_STATUS_INVALID_ARGUMENT},
    {&ptx::diag::kNotAllocated, TARSIA_STATUS_INVALID_ARGUMENT},
    {&ptx::diag::kBadCopy, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kCudaNotDevicePointer, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kCudaNotLoaded, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kCudaCaptureEnded, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kCudaCaptured, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kQuantiseType, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kQuantiseColumns, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kQuantiseScaleType, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kQuantiseZeroPoint, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kQuantiseGroup, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kWeightsGroup, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kShardParts, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kShardPart, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kShardBounds, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kShardOther, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kShardTwice, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kShardMissing, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kPairOther, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kLanesCompute, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kLanesType, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kLanesRange, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kMatmulRows, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kMatmulHalves, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kMatmulRowsBeyond, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kMatmulAlignment, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kMatmulBytes, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kMatmulUnwanted, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kMatmulMissing, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kMatmulWeights, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kMatmulCandidate, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kMatmulWorkspace, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kFileOpen, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kFileRead, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kFileIsFolder, TARSIA_STATUS_INVALID_ARGUMENT},
    {&diag::kFileWrite, TARSIA_STATUS_NO_DEVICE},
    {&diag::kMatmulFinding, TARSIA_STATUS_FINDINGS},
    {&diag::kPlanRefused, TARSIA_STATUS_UNSUPPORTED},
    // A value of a constant or a scalar needs more than is allowed.
    {&diag::kWorkspaceLimit, TARSIA_STATUS_REJECTED},
    {&diag::kMatmulWorkspaceLimit, TARSIA_STATUS_REJECTED},
    // The caller cancelled it, or it exceeded the caller's time limit.
    {&diag::kLaunchCancelled, TARSIA_STATUS_CANCELLED},
    {&diag::kPlanCancelled, TARSIA_STATUS_CANCELLED},
    {&diag::kWeightsCancelled, TARSIA_STATUS_CANCELLED},
    {&diag::kCompileCancelled, TARSIA_STATUS_CANCELLED},
    {&diag::kCompileLimit, TARSIA_STATUS_CANCELLED},
    // There is no kernel, or the device does not support it.
    {&diag::kMatmulActivations, TARSIA_STATUS_UNSUPPORTED},
    {&diag::kMatmulType, TARSIA_STATUS_UNSUPPORTED},
    {&diag::kMatmulTarget, TARSIA_STATUS_UNSUPPORTED},
    {&diag::kMatmulCodebook, TARSIA_STATUS_UNSUPPORTED},
    {&diag::kMatmulGroupOfI8, TARSIA_STATUS_UNSUPPORTED},
    {&diag::kMatmulExperts, TARSIA_STATUS_UNSUPPORTED},
    {&diag::kMatmulNoCandidate, TARSIA_STATUS_UNSUPPORTED},
    {&diag::kOptionOfInterpreter, TARSIA_STATUS_UNSUPPORTED},
    {&diag::kCudaSharedMemory, TARSIA_STATUS_UNSUPPORTED},
    {&diag::kCudaDeviceLost, TARSIA_STATUS_DEVICE_LOST},
    // The machine lacks something.
    {&diag::kCudaNoDriver, TARSIA_STATUS_NO_DEVICE},
    {&diag::kCudaDriverOld, TARSIA_STATUS_NO_DEVICE},
    {&diag::kCudaSymbol, TARSIA_STATUS_NO_DEVICE},
    {&diag::kCudaNoDevice, TARSIA_STATUS_NO_DEVICE},
    {&diag::kCudaOrdinal, TARSIA_STATUS_NO_DEVICE},
    {&diag::kCudaCapability, TARSIA_STATUS_NO_DEVICE},
    {&diag::kToolMissing, TARSIA_STATUS_NO_DEVICE},
    {&diag::kScratchFile, TARSIA_STATUS_NO_DEVICE},
    {&diag::kApiOutOfMemoryBytes, TARSIA_STATUS_OUT_OF_MEMORY},
    {&diag::kCudaOutOfMemory, TARSIA_STATUS_OUT_OF_MEMORY},
    {&diag::kCudaOutOfMemoryBytes, TARSIA_STATUS_OUT_OF_MEMORY},
    {&diag::kOutOfMemory, TARSIA_STATUS_OUT_OF_MEMORY},
    {&diag::kLlvmMemory, TARSIA_STATUS_OUT_OF_MEMORY},
    {&diag::kLlvmMemoryBytes, TARSIA_STATUS_OUT_OF_MEMORY},
    {&diag::kLlvmUnusable, TARSIA_STATUS_OUT_OF_MEMORY},
    {&ptx::diag::kOutOfMemory, TARSIA_STATUS_OUT_OF_MEMORY},
};

}  // namespace

tarsia_status StatusOf(const Diagnostic& error, tarsia_status other) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.info == error.info) return meaning.status;
  }
  return other;
}

}  // namespace tarsia::api
