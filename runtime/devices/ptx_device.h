// The device `ptx`: runs the PTX that the compiler made on the emulator (ptx/), which checks it
// as it goes. It has one stream, the null one, and every launch is over when it returns.
#ifndef TARSIA_RUNTIME_DEVICES_PTX_DEVICE_H_
#define TARSIA_RUNTIME_DEVICES_PTX_DEVICE_H_

#include <memory>

#include "compiler/target.h"
#include "runtime/devices/device.h"

namespace tarsia::runtime {

std::shared_ptr<Device> MakePtxDevice(compiler::Target target);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_DEVICES_PTX_DEVICE_H_
