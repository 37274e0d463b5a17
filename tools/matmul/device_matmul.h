// A matmul with its operands in the memory of its device.
#ifndef TARSIA_TOOLS_MATMUL_DEVICE_MATMUL_H_
#define TARSIA_TOOLS_MATMUL_DEVICE_MATMUL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ptx/count/counts.h"
#include "runtime/matmul/matmul_plan.h"
#include "runtime/weights/packed_weights.h"
#include "support/result.h"

namespace tarsia::tools {

// The problem of these weights for m rows, with outputs of the usual type, without an epilogue.
runtime::MatmulProblem ProblemOf(const PackedWeights& weights, int64_t m);

// The operands in the host's memory; those that the problem lacks are empty.
struct MatmulOperands {
  std::span<const uint8_t> weights, x, row_scales, bias, residual;
};

class DeviceMatmul {
 public:
  using Plan = std::unique_ptr<const runtime::MatmulPlan>;

  // Copies the operands to the plan's device. `copies` of the weights are made, in memory of their
  // own. Errors: those of the device.
  static Result<std::unique_ptr<DeviceMatmul>> Make(Plan plan, const MatmulOperands& operands,
                                                    int copies = 1);
  DeviceMatmul(const DeviceMatmul&) = delete;
  DeviceMatmul& operator=(const DeviceMatmul&) = delete;
  ~DeviceMatmul();

  // Takes another plan of the same problem and device.
  Status Take(Plan plan);

  // Enqueues the product by one of the copies of the weights.
  Status Run(int copy = 0, runtime::StreamHandle stream = nullptr,
             ptx::LaunchCounts* counts = nullptr) const;
  // y, after all bytes of it were set to 0xFF and the product was computed.
  [[nodiscard]] Result<std::vector<uint8_t>> Compute() const;

  [[nodiscard]] const runtime::MatmulPlan& plan() const { return *plan_; }
  // What computes the rows; empty where there is nothing to compute.
  [[nodiscard]] const runtime::MatmulPlan::Range* range() const {
    return plan_->ranges().empty() ? nullptr : &plan_->ranges().back();
  }

 private:
  explicit DeviceMatmul(runtime::Device& device) : device_(device) {}
  Status Upload(const MatmulOperands& operands, int copies);
  Status MakeWorkspace();
  Result<runtime::DevicePointer> Allocate(uint64_t bytes);
  Result<runtime::DeviceBytes> Put(std::span<const uint8_t> bytes);

  runtime::Device& device_;  // of the plan
  Plan plan_;
  std::vector<runtime::DevicePointer> owned_;
  std::vector<runtime::DeviceBytes> weights_;
  runtime::MatmulArguments arguments_;
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_MATMUL_DEVICE_MATMUL_H_
