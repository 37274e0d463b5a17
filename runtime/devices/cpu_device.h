// The device `cpu`: the interpreter. Device memory is memory of this process; there is one stream,
// the null one, and every launch is over when it returns.
#ifndef TARSIA_RUNTIME_DEVICES_CPU_DEVICE_H_
#define TARSIA_RUNTIME_DEVICES_CPU_DEVICE_H_

#include <memory>

#include "runtime/devices/device.h"

namespace tarsia::runtime {

// The vector unit that the interpreter's loops run on (dtypes/simd.h).
const char* VectorUnit();
// How many threads run at once.
unsigned CpuThreads();

// An error if TARSIA_SIMD asks for a vector unit that there is not.
Result<std::shared_ptr<Device>> MakeCpuDevice();

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_DEVICES_CPU_DEVICE_H_
