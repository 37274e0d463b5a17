// The device `cuda:N`: a GPU, through the driver (runtime/cuda/). Kernels are made into machine
// code by ptxas where it is found and knows the GPU, else by the driver from PTX; the environment
// variable TARSIA_CUDA_CODE=ptx leaves it to the driver always.
#ifndef TARSIA_RUNTIME_DEVICES_CUDA_DEVICE_H_
#define TARSIA_RUNTIME_DEVICES_CUDA_DEVICE_H_

#include <memory>

#include "compiler/target.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/driver.h"
#include "runtime/devices/device.h"

namespace tarsia::runtime {

inline constexpr const char* kCudaCodeVariable = "TARSIA_CUDA_CODE";

// How many GPUs there are. Errors: no driver, or one that will not do (says what is missing).
Result<int> CudaDeviceCount();
// Errors: those of CudaDeviceCount, no such GPU, one that is too old.
Result<std::shared_ptr<Device>> OpenCudaDevice(int ordinal);
// Likewise through a driver that is not the process's own.
Result<std::shared_ptr<Device>> OpenCudaDevice(const cuda::Driver& driver, int ordinal);

// The target whose code serves a GPU best. Errors: an older GPU than any of them.
Result<compiler::Target> TargetFor(const cuda::GpuProperties& gpu);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_DEVICES_CUDA_DEVICE_H_
