// The device `cuda:N`: a GPU, through the driver (runtime/cuda/). ptxas compiles kernels to machine
// code if it is found and supports the GPU, else the driver compiles the PTX; with the environment
// variable TARSIA_CUDA_CODE=ptx always the driver.
#ifndef TARSIA_RUNTIME_DEVICES_CUDA_DEVICE_H_
#define TARSIA_RUNTIME_DEVICES_CUDA_DEVICE_H_

#include <memory>

#include "compiler/target.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/driver.h"
#include "runtime/devices/device.h"

namespace tarsia::runtime {

inline constexpr const char* kCudaCodeVariable = "TARSIA_CUDA_CODE";

// The number of GPUs. Errors: no driver, or one that cannot be used (with the reason).
Result<int> CudaDeviceCount();
// Errors: those of CudaDeviceCount, no such GPU, one that is too old.
Result<std::shared_ptr<Device>> OpenCudaDevice(int ordinal);
// The same with another driver than that of the process.
Result<std::shared_ptr<Device>> OpenCudaDevice(const cuda::Driver& driver, int ordinal);

// The best target for a GPU. Errors: the GPU is older than all targets.
Result<compiler::Target> TargetFor(const cuda::GpuProperties& gpu);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_DEVICES_CUDA_DEVICE_H_
