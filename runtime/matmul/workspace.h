// The workspace that the kernels of a quantised matmul need.
#ifndef TARSIA_RUNTIME_MATMUL_WORKSPACE_H_
#define TARSIA_RUNTIME_MATMUL_WORKSPACE_H_

#include <cstdint>

#include "runtime/matmul/candidates.h"
#include "runtime/matmul/problem.h"

namespace tarsia::runtime {

// All plans that run in one stream can share a workspace: what is zero between executions is at its
// beginning for each of them, and scratch, which may hold anything, lies behind all such bytes.
struct MatmulWorkspace {
  // The most of any plan. Sums of 64 KiB for each processor, and semaphores, are less on GPUs of up
  // to 250 processors.
  static constexpr uint64_t kMostZero = uint64_t{1} << 24;

  uint64_t zero = 0;  // bytes that are zero between executions
  // Bytes behind the first kMostZero: x in the order of the weights, then dequantised weights.
  uint64_t gathered = 0;
  uint64_t dequantised = 0;

  [[nodiscard]] uint64_t Bytes() const {
    const uint64_t scratch = gathered + dequantised;
    return scratch == 0 ? zero : kMostZero + scratch;
  }
};

// For at most m rows.
MatmulWorkspace WorkspaceOf(const MatmulProblem& problem, const MatmulCandidate& candidate,
                            int64_t m);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_MATMUL_WORKSPACE_H_
