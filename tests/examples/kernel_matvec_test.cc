// examples/kernel_matvec.tsa against the sum in f64.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "tests/examples/example_case.h"
#include "tests/harness/codec.h"

namespace tarsia::example_test {
namespace {

using harness::Expectation;
using harness::Tensor;

constexpr float kWidth = 0.5F;

// A squared distance of D coordinates, its factor and the square of s have D + 4 roundings; exp2
// makes 2 ulp of its own, and of an error of its argument one that is log(2) times as large.
Expectation Sums(const Tensor& x, const Tensor& y, const Tensor& b) {
  const int64_t n = x.shape[0], m = y.shape[1], d = x.shape[2];
  std::vector<double> values, bounds;
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0, magnitude = 0, error = 0;
    for (int64_t j = 0; j < m; ++j) {
      double distance = 0;
      for (int64_t l = 0; l < d; ++l) {
        const double difference = At(x, i, l) - At(y, j, l);
        distance += difference * difference;
      }
      const double exponent = distance / (2 * kWidth * kWidth);
      const double term = std::exp(-exponent) * At(b, 0, j);
      sum += term;
      magnitude += std::fabs(term);
      error += std::fabs(term) * 0x1p-23 * (4 + exponent * static_cast<double>(d + 4));
    }
    values.push_back(sum);
    bounds.push_back(error + harness::OutputBound(m, kF32, magnitude, kF32, sum));
  }
  return Expectation::WithinBounds(kF32, {n}, std::move(values), std::move(bounds));
}

TEST(KernelMatvec, AgreesWithTheSum) {
  struct Sizes {
    int64_t n, m, d;
  };
  for (const Sizes& s : {Sizes{1, 1, 3}, {45, 77, 3}, {33, 70, 5}, {31, 40, 2}}) {
    harness::Case c = ExampleCase("kernel_matvec.tsa",
                                  std::to_string(s.n) + " and " + std::to_string(s.m) +
                                      " points of " + std::to_string(s.d) + " coordinates",
                                  {{"D", std::to_string(s.d)}});
    c.scalars = {{"n", static_cast<uint64_t>(s.n)},
                 {"m", static_cast<uint64_t>(s.m)},
                 {"s", std::bit_cast<uint32_t>(kWidth)}};
    const Tensor x = RandomValues(kF32, {s.n, 1, s.d}, 64, 0x1p-6, 1);
    const Tensor y = RandomValues(kF32, {1, s.m, s.d}, 64, 0x1p-6, 2);
    const Tensor b = RandomValues(kF32, {s.m}, 100, 0x1p-5, 3);
    c.inputs = {{"x", x}, {"y", y}, {"b", b}};
    c.outputs = {{"u", Sums(x, y, b)}};
    Check(c, 1, 32);
  }
}

}  // namespace
}  // namespace tarsia::example_test
