// Launches on a device of the runtime, for witnesses that use one.
#ifndef TARSIA_TESTS_HARNESS_DEVICE_LAUNCH_H_
#define TARSIA_TESTS_HARNESS_DEVICE_LAUNCH_H_

#include <span>

#include "ptx/count/counts.h"
#include "runtime/devices/device.h"
#include "tests/harness/witness.h"

namespace tarsia::harness {

// Copies the host's memory to the device, launches with a workspace of the kernel's size, waits,
// and copies back the results. `counts`, if not null: what the launch does, on a device that
// counts.
Result<runtime::LaunchResult> LaunchOn(runtime::Device& device, const runtime::LoadedKernel& kernel,
                                       std::span<const Argument> arguments,
                                       const vm::LaunchOptions& options,
                                       ptx::LaunchCounts* counts = nullptr);

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_DEVICE_LAUNCH_H_
