// Checks of memory that a caller gives to a plan, before a launch and after it.
#ifndef TARSIA_RUNTIME_MATMUL_DEVICE_BYTES_H_
#define TARSIA_RUNTIME_MATMUL_DEVICE_BYTES_H_

#include <cstdint>

#include "support/result.h"
#include "vm/interpreter.h"

namespace tarsia::runtime {

// An argument that is at a multiple of 16.
Status CheckAlignment(const char* name, const void* data);
// One that has at least `wanted` bytes if it is needed, and is null if it is not.
Status CheckDeviceBytes(const char* name, const void* data, uint64_t bytes, uint64_t wanted,
                        bool needed);
// What the checks of a launch found, on devices that check: the first finding, and how many there
// are.
Status CheckFindings(const vm::LaunchReport& report);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_MATMUL_DEVICE_BYTES_H_
