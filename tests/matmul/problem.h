// Matrix products with their expected results: y[m, n] = x[m, k] * v[k, n], where v is the weights,
// or with scales and zero points (w - z) * s. Weights are decoded, products summed, and bounds
// computed here, by plain formulas in double, without the library.
//
// A problem comes in two kinds. A random one is compared within the bound that its arithmetic
// gives. Its exact twin is made of small integers times one power of two, such that every partial
// sum in any order and every output is exact: it is compared bit for bit, so that one flipped code
// anywhere fails.
#ifndef TARSIA_TESTS_MATMUL_PROBLEM_H_
#define TARSIA_TESTS_MATMUL_PROBLEM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/harness/expectation.h"
#include "tests/harness/tensor.h"

namespace tarsia::matmul {

struct Spec {
  int64_t m = 1;
  int64_t k = 1;
  int64_t n = 1;
  DType w;
  DType x = kF16;     // of activations and outputs
  int64_t group = 0;  // rows of w that share a scale; 0: no scales
  DType scale = kF16;
  bool zero_points = false;
  DType zero = kU8;
  // The most that a program adds to the codes that it multiplies, and takes from the sums.
  double bias = 0;
};

struct Problem {
  Spec spec;
  harness::Tensor x;      // [m, k]
  harness::Tensor w;      // [k, n]
  harness::Tensor scale;  // [k / group, n], if group > 0
  harness::Tensor zero;   // the zero points, if zero_points
  harness::Expectation expected;
};

// The type of activations that holds every weight of the type: f16, or bf16 for floats beyond its
// range.
DType ActivationFor(DType w);

Problem RandomProblem(const Spec& spec, uint64_t seed);
Problem ExactTwin(const Spec& spec, uint64_t seed);

// The weight that a code at [k, n] stands for, with zero point and scale.
double Weight(const Problem& p, int64_t k, int64_t n, uint64_t code);

// The codes as a stream of bits in memory, for pointers whose view the harness does not know.
std::vector<uint8_t> Bytes(const harness::Tensor& tensor);

}  // namespace tarsia::matmul

#endif  // TARSIA_TESTS_MATMUL_PROBLEM_H_
