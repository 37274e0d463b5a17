// Puts the plan of a quantised matmul together of kernels that were compiled, or read from a file.
#ifndef TARSIA_RUNTIME_MATMUL_ASSEMBLY_H_
#define TARSIA_RUNTIME_MATMUL_ASSEMBLY_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/matmul/matmul_plan.h"

namespace tarsia::runtime {

// The kernels of kernels/quantised_matmul.tsa in a plan.
enum class MatmulKernel : uint8_t {
  kGather,      // gather_columns
  kFused,       // quantised_matmul, of codes
  kDequantise,  // dequantise
  kDense,       // quantised_matmul, of weights that kDequantise made
};

// Those that compute some rows, in the order of their launches.
std::vector<MatmulKernel> KernelsOf(const MatmulProblem& problem, const MatmulCandidate& candidate);

// The ranges in their order; after each, its kernels in the order of KernelsOf.
class MatmulPlan::Assembly {
 public:
  // Errors: those of CheckMatmul.
  static Result<Assembly> Start(const MatmulProblem& problem, std::shared_ptr<Device> device);

  void AddRange(const Range& range);
  // Errors: those of WorkspaceBytes; other parameters than the kernel has, or more workspace, as of
  // a damaged plan.
  Status AddKernel(MatmulKernel kernel, Program program, std::unique_ptr<LoadedKernel> loaded);
  // Whether there is nothing to compute, and so no kernel.
  [[nodiscard]] bool IsEmpty() const;
  [[nodiscard]] const MatmulPlan& plan() const { return *plan_; }
  [[nodiscard]] std::unique_ptr<const MatmulPlan> Finish() { return std::move(plan_); }

 private:
  explicit Assembly(std::unique_ptr<MatmulPlan> plan);

  std::unique_ptr<MatmulPlan> plan_;
};

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_MATMUL_ASSEMBLY_H_
