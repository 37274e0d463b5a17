// The device `cuda:N`: a GPU, through the driver.
#ifndef TARSIA_RUNTIME_CUDA_DEVICE_H_
#define TARSIA_RUNTIME_CUDA_DEVICE_H_

#include <memory>

#include "runtime/device.h"

namespace tarsia::runtime {

// How many GPUs there are. Errors: no driver, or one that will not do (says what is missing).
Result<int> CudaDeviceCount();
// Errors: those of CudaDeviceCount, no such GPU, one that is too old.
Result<std::shared_ptr<Device>> OpenCudaDevice(int ordinal);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_CUDA_DEVICE_H_
