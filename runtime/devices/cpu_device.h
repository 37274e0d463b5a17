// The device `cpu`: the interpreter. Device memory is memory of this process; there is only the
// null stream, and every launch is done when it returns.
#ifndef TARSIA_RUNTIME_DEVICES_CPU_DEVICE_H_
#define TARSIA_RUNTIME_DEVICES_CPU_DEVICE_H_

#include <memory>

#include "runtime/devices/device.h"

namespace tarsia::runtime {

// The vector unit of the interpreter's loops (dtypes/simd.h).
const char* VectorUnit();
// The number of threads that run at once.
unsigned CpuThreads();

// Errors: TARSIA_SIMD requests a vector unit that is not available.
Result<std::shared_ptr<Device>> MakeCpuDevice();

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_DEVICES_CPU_DEVICE_H_
