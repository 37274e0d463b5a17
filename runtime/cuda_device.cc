#include "runtime/cuda_device.h"

#include "runtime/cuda/driver.h"
#include "runtime/diagnostics.h"

namespace tarsia::runtime {

Result<int> CudaDeviceCount() {
  TARSIA_TRY(const cuda::Driver* const driver, cuda::Driver::Get());
  return driver->device_count();
}

Result<std::shared_ptr<Device>> OpenCudaDevice(int ordinal) {
  TARSIA_TRY(const int count, CudaDeviceCount());
  return MakeDiagnostic(diag::kCudaOrdinal, Location(), ordinal, "the driver", count);
}

}  // namespace tarsia::runtime
