// The kernels of a planner's plan, ready to run on a device.
#ifndef TARSIA_RUNTIME_GRAPHS_PLAN_KERNELS_H_
#define TARSIA_RUNTIME_GRAPHS_PLAN_KERNELS_H_

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "isa/program.h"
#include "planner/plan.h"
#include "runtime/devices/device.h"
#include "support/diagnostic.h"

namespace tarsia::runtime {

// What kernels for a device of this name are written for; "" is the default device, as in
// OpenDevice.
Machine MachineOf(std::string_view device);

struct PlanKernel {
  Program program;
  std::unique_ptr<LoadedKernel> ready;
};

// The text of all kernels, to which errors in them refer.
std::shared_ptr<const SourceFile> KernelSource(const Plan& plan);

// The kernels of `source`, in the order of the plan. Errors, of the compiler or of the device, go
// to `diagnostics`; empty exactly after an error. Thread-safe.
std::optional<std::vector<PlanKernel>> LoadPlanKernels(const Plan& plan, const SourceFile& source,
                                                       Device& device, const LoadOptions& options,
                                                       Diagnostics& diagnostics);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_GRAPHS_PLAN_KERNELS_H_
