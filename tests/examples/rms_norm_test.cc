// examples/rms_norm.tsa against the formula in f64, with rows of less than a tile and of several.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>

#include "tests/examples/example_case.h"
#include "tests/harness/codec.h"

namespace tarsia::example_test {
namespace {

using harness::Expectation;
using harness::Tensor;

constexpr float kEps = 0x1p-10F;

// The kernel rounds the sum of n squares within AccumulationBound, four more operations and rsqrt
// (2 ulp) in f32, and the result to f16.
Expectation RmsNorm(const Tensor& x, const Tensor& w) {
  const int64_t rows = x.shape[0], columns = x.shape[1];
  std::vector<double> values, bounds;
  for (int64_t i = 0; i < rows; ++i) {
    double squares = 0;
    for (int64_t j = 0; j < columns; ++j) squares += At(x, i, j) * At(x, i, j);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(columns) + kEps);
    const double relative =
        10 * 0x1p-23 + (squares > 0 ? harness::AccumulationBound(columns, kF32, 1) : 0);
    for (int64_t j = 0; j < columns; ++j) {
      const double y = At(x, i, j) * scale * At(w, 0, j);
      const double error = relative * std::fabs(y);
      values.push_back(y);
      bounds.push_back(error + harness::UlpAt(kF16, std::fabs(y) + error) / 2);
    }
  }
  return Expectation::WithinBounds(kF16, x.shape, std::move(values), std::move(bounds));
}

TEST(RmsNorm, AgreesWithTheFormula) {
  for (const int64_t columns : {1, 77, 1025, 2603}) {
    for (const int64_t rows : {1, 7}) {
      harness::Case c =
          ExampleCase("rms_norm.tsa", std::to_string(rows) + " rows of " + std::to_string(columns),
                      {{"D", std::to_string(columns)}});
      c.scalars = {{"rows", static_cast<uint64_t>(rows)}, {"eps", std::bit_cast<uint32_t>(kEps)}};
      const Tensor x = RandomValues(kF16, {rows, columns}, 200, 0x1p-6, 1);
      const Tensor w = RandomValues(kF16, {columns}, 32, 0x1p-4, 2);
      c.inputs = {{"x", x}, {"w", w}};
      c.outputs = {{"y", RmsNorm(x, w)}};
      Check(c, 4, 1024);
    }
  }
}

// A row of zeros has no scale of its own: eps keeps it finite.
TEST(RmsNorm, ZerosStayZero) {
  harness::Case c = ExampleCase("rms_norm.tsa", "zeros", {{"D", "1031"}});
  c.scalars = {{"rows", 3}, {"eps", std::bit_cast<uint32_t>(kEps)}};
  const Tensor x = RandomValues(kF16, {3, 1031}, 0, 1, 1);
  const Tensor w = RandomValues(kF16, {1031}, 32, 0x1p-4, 2);
  c.inputs = {{"x", x}, {"w", w}};
  c.outputs = {{"y", RmsNorm(x, w)}};
  const harness::CaseResult result = harness::RunEverywhere(c);
  EXPECT_TRUE(result.ok()) << result.Text(c);
}

}  // namespace
}  // namespace tarsia::example_test
