// The device `ptx`: runs the compiler's PTX on the emulator (ptx/), which checks every instruction.
// It has only the null stream, and every launch is done when it returns.
#ifndef TARSIA_RUNTIME_DEVICES_PTX_DEVICE_H_
#define TARSIA_RUNTIME_DEVICES_PTX_DEVICE_H_

#include <memory>

#include "compiler/target.h"
#include "runtime/devices/device.h"

namespace tarsia::runtime {

std::shared_ptr<Device> MakePtxDevice(compiler::Target target);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_DEVICES_PTX_DEVICE_H_
