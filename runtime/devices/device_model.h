// What the choice of kernels depends on, of the GPUs of a target.
#ifndef TARSIA_RUNTIME_DEVICES_DEVICE_MODEL_H_
#define TARSIA_RUNTIME_DEVICES_DEVICE_MODEL_H_

#include "compiler/target.h"
#include "runtime/devices/device.h"

namespace tarsia::runtime {

// Of a typical GPU: A100 80 GB, L40S, H200. The rates of H200 are measured (bench/results/h200.md),
// the others come from NVIDIA's data sheets, at nine tenths.
DeviceModel ModelOf(compiler::Target target);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_DEVICES_DEVICE_MODEL_H_
