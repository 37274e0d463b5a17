// The table of cases: a file of kernels, and the function that runs it and compares.
#ifndef TARSIA_TESTS_CUDA_KERNELS_CASES_H_
#define TARSIA_TESTS_CUDA_KERNELS_CASES_H_

#include <span>

#include "tests/cuda_kernels/bench.h"

namespace tarsia::cuda_kernels {

struct Case {
  const char* name;  // of kernels/NAME.cu and ptx/NAME.ptx
  void (*run)(Bench& bench);
};

// The cases of each cases_*.cc.
std::span<const Case> ArithmeticCases();
std::span<const Case> MemoryCases();
std::span<const Case> WarpCases();
std::span<const Case> BlockCases();
std::span<const Case> AlgorithmCases();
std::span<const Case> GridCases();
std::span<const Case> MatrixCases();
std::span<const Case> HopperCases();
std::span<const Case> TensorCases();

}  // namespace tarsia::cuda_kernels

#endif  // TARSIA_TESTS_CUDA_KERNELS_CASES_H_
