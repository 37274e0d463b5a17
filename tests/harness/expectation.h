// The expected value of an output, its tolerance, and the comparison with a result.
#ifndef TARSIA_TESTS_HARNESS_EXPECTATION_H_
#define TARSIA_TESTS_HARNESS_EXPECTATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/harness/tensor.h"

namespace tarsia::harness {

struct Expectation {
  enum class Kind : uint8_t {
    kExact,  // bit for bit, except that any NaN equals any NaN; -0 differs from 0
    kUlp,    // within `ulp` units in the last place of the output type, at the true value
    kBound,  // within bounds[k], element by element
  };
  Kind kind = Kind::kExact;
  DType type;
  Shape shape;
  std::vector<uint64_t> codes;  // kExact
  std::vector<double> values;   // kUlp, kBound: the true values
  std::vector<double> bounds;   // kBound
  double ulp = 0;               // kUlp

  static Expectation Exact(Tensor tensor);
  static Expectation WithinUlp(DType type, Shape shape, std::vector<double> values, double ulp);
  static Expectation WithinBounds(DType type, Shape shape, std::vector<double> values,
                                  std::vector<double> bounds);
};

// Whether element `k` may be `code`.
bool Accepts(const Expectation& expected, size_t k, uint64_t code);

// "" if the result is as expected; otherwise the first element that differs, its expected and
// actual value, and the number of differences.
std::string Compare(const Expectation& expected, const Tensor& got);

// The error bound of a sum of `k` products that is accumulated in `accumulator` in any order: (4
// sqrt(k) + 8) * eps * magnitude, eps the distance from 1 to the next value and magnitude the sum
// of |x| |w|. (Rounding errors are assumed independent; four standard deviations, with a little
// more for short sums.)
double AccumulationBound(int64_t k, DType accumulator, double magnitude);

// The whole bound of an output: AccumulationBound, plus half a unit in the last place of the output
// for the final rounding, plus other roundings that the caller lists.
double OutputBound(int64_t k, DType accumulator, double magnitude, DType output, double value,
                   double other_roundings = 0);

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_EXPECTATION_H_
