// Runs a planner's plan on a device: one allocation, the arena, into which inputs are read and from
// which outputs are written; the steps one by one. What `tarsia reduce` and the C API share.
#ifndef TARSIA_RUNTIME_GRAPHS_PLAN_RUN_H_
#define TARSIA_RUNTIME_GRAPHS_PLAN_RUN_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "planner/plan.h"
#include "runtime/devices/device.h"
#include "runtime/graphs/exchange.h"
#include "runtime/graphs/plan_kernels.h"
#include "support/result.h"
#include "support/stop.h"

namespace tarsia::runtime {

// An input or an output outside of the arena: memory, or a function that reads or writes a part of
// it. `memory` is the host's where the limit counts the tensor, which then is copied, else the
// device's, where it is used in place.
struct PlanPort {
  void* memory = nullptr;
  std::function<Status(uint64_t offset, std::span<uint8_t> to)> read;           // of an input
  std::function<Status(uint64_t offset, std::span<const uint8_t> from)> write;  // of an output
};

inline constexpr uint64_t kLeastHostLimit = 4096;

struct PlanRunRequest {
  const Plan* plan = nullptr;
  Device* device = nullptr;
  std::span<const PlanKernel> kernels;
  std::span<const PlanPort> inputs, outputs;  // of the graph, in its order
  DevicePointer arena = nullptr;  // of `plan->peak` bytes, at a multiple of 256; null: allocated
  int threads = 0;                // of the device cpu; 0: all
  uint64_t host_limit = 0;        // of staging memory, of a device that needs it; 0: a usual size
  StopCheck* stop = nullptr;
  Exchange* exchange = nullptr;  // with the other ranks; needed if the plan has merges
  std::function<void(uint64_t done, uint64_t total)> progress;  // steps; may be null
};

// Of all launches together.
struct PlanRunReport {
  uint64_t blocks = 0;
  uint64_t instructions = 0;
  uint64_t nanoseconds = 0;
};

// Of a plan that is shared, only the rank's part of the tensors that PlanTensor::shared names is
// read and written.
//
// Errors: those of the ports, of allocations, of launches and of the exchange. After an error the
// contents of the arena and of the outputs are unspecified. Thread-safe for different arenas.
Result<PlanRunReport> RunPlan(const PlanRunRequest& request);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_GRAPHS_PLAN_RUN_H_
