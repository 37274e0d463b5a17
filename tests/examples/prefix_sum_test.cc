// examples/prefix_sum.tsa against running sums in f64, and in integers that wrap.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "tests/examples/example_case.h"
#include "tests/harness/codec.h"

namespace tarsia::example_test {
namespace {

using harness::Expectation;
using harness::Tensor;

harness::Case RowsCase(const Tensor& x, const std::string& type) {
  const std::string columns = std::to_string(x.shape[1]);
  harness::Case c =
      ExampleCase("prefix_sum.tsa", type + " rows of " + columns, {{"N", columns}, {"T", type}});
  c.scalars = {{"rows", static_cast<uint64_t>(x.shape[0])}};
  c.inputs = {{"x", x}};
  return c;
}

TEST(PrefixSum, AgreesWithRunningSums) {
  for (const int64_t columns : {1, 45, 513, 1303}) {
    const Tensor x = RandomValues(kF32, {7, columns}, 1000, 0x1p-7, 1);
    std::vector<double> values, bounds;
    for (int64_t i = 0; i < 7; ++i) {
      double sum = 0, magnitude = 0;
      for (int64_t j = 0; j < columns; ++j) {
        sum += At(x, i, j);
        magnitude += std::fabs(At(x, i, j));
        values.push_back(sum);
        bounds.push_back(harness::AccumulationBound(j + 1, kF32, magnitude));
      }
    }
    harness::Case c = RowsCase(x, "f32");
    c.outputs = {
        {"y", Expectation::WithinBounds(kF32, x.shape, std::move(values), std::move(bounds))}};
    Check(c, 4, 512);
  }
}

TEST(PrefixSum, IntegersWrap) {
  const Tensor x = RandomCodes(kI32, {5, 777}, 2);
  Tensor y{kI32, x.shape, {}};
  for (size_t i = 0; i < 5; ++i) {
    uint32_t sum = 0;
    for (size_t j = 0; j < 777; ++j) {
      sum += static_cast<uint32_t>(x.codes[i * 777 + j]);
      y.codes.push_back(sum);
    }
  }
  harness::Case c = RowsCase(x, "i32");
  c.outputs = {{"y", Expectation::Exact(std::move(y))}};
  Check(c, 4, 512);
}

}  // namespace
}  // namespace tarsia::example_test
