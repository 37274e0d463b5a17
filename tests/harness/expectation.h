// What an output must be, how near a result must come to it, and whether it does.
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

// "" if the result is as expected; otherwise the first element that differs, what was expected and
// what came, and how many differ.
std::string Compare(const Expectation& expected, const Tensor& got);

// How far a sum of `k` products may be from the truth when it is accumulated in `accumulator`, in
// any order: (4 sqrt(k) + 8) * eps * magnitude, eps the distance from 1 to the next value and
// magnitude the sum of |x| |w|. (Rounding errors are taken as independent, four standard deviations
// wide, with a little more for short sums.)
double AccumulationBound(int64_t k, DType accumulator, double magnitude);

// The whole bound of an output: the above, plus half a unit in the last place of the output where
// the sum may end, plus the roundings on the way that the caller writes out.
double OutputBound(int64_t k, DType accumulator, double magnitude, DType output, double value,
                   double other_roundings = 0);

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_EXPECTATION_H_
