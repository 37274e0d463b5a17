// examples/softmax.tsa against the formula in f64, with all kinds of difficult rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "tests/harness/codec.h"
#include "tests/harness/faults.h"
#include "tests/harness/program.h"
#include "tests/harness/run_case.h"

namespace tarsia {
namespace {

using harness::Case;
using harness::Decode;
using harness::Expectation;
using harness::Tensor;

constexpr int64_t kBlockRows = 8;  // BM's default

// Multiples of 2^-6 of at most 9 bits, which f16 holds.
uint64_t Code(double value) {
  const auto code = harness::EncodeExact(kF16, value);
  if (!code) std::abort();  // a mistake in this file
  return *code;
}

Tensor RandomRows(int64_t rows, int64_t columns, int largest, uint64_t seed) {
  Tensor x{kF16, {rows, columns}, {}};
  std::mt19937_64 engine(seed);
  for (int64_t i = 0; i < rows * columns; ++i) {
    const auto step = static_cast<int>((engine() >> 11) % static_cast<uint64_t>(2 * largest + 1));
    x.codes.push_back(Code(static_cast<double>(step - largest) / 64));
  }
  return x;
}

// p_j = exp(x_j - max) / sum. The kernel rounds the exponent of 2 three times (the difference, the
// factor log2(e), the product), `exp2` within 2 ulp, the sum of n terms within the bound of
// AccumulationBound, its reciprocal and the product once each, and the result to f16 once.
Expectation Softmax(const Tensor& x) {
  const int64_t rows = x.shape[0];
  const int64_t columns = x.shape[1];
  std::vector<double> values;
  std::vector<double> bounds;
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<double> row(static_cast<size_t>(columns));
    for (size_t j = 0; j < row.size(); ++j) {
      row[j] = Decode(kF16, x.codes[static_cast<size_t>(i * columns) + j]);
    }
    const double most = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const double v : row) sum += std::exp(v - most);
    for (const double v : row) {
      const double p = std::exp(v - most) / sum;
      const double exponent = (most - v) * 0x1p-23;
      const double relative =
          exponent + 8 * 0x1p-23 + harness::AccumulationBound(columns, kF32, sum) / sum;
      values.push_back(p);
      bounds.push_back(relative * p + harness::UlpAt(kF16, p * (1 + relative)) / 2);
    }
  }
  return Expectation::WithinBounds(kF16, x.shape, std::move(values), std::move(bounds));
}

void Check(const Tensor& x) {
  Case c;
  c.title = "rows=" + std::to_string(x.shape[0]) + " D=" + std::to_string(x.shape[1]);
  c.source = harness::ReadExample("softmax.tsa");
  c.where = c.source.name();
  c.constants = {{"D", std::to_string(x.shape[1])}};
  c.scalars = {{"rows", static_cast<uint64_t>(x.shape[0])}};
  c.inputs = {{"x", x}};
  c.outputs = {{"y", Softmax(x)}};
  const harness::CaseResult result = harness::RunEverywhere(c);
  ASSERT_TRUE(result.ok()) << result.Text(c);
  const Tensor& y = result.outputs[0];
  const auto faults = harness::OutputFaults(y, kBlockRows, x.shape[1]);
  EXPECT_EQ(harness::ProveRejection(c.outputs[0].expected, y, faults), "") << c.title;
}

TEST(Softmax, AgreesWithTheFormula) {
  for (const int64_t rows : {0, 1, 7, 8, 17}) {
    for (const int64_t columns : {1, 5, 37, 128, 384}) {
      Check(RandomRows(rows, columns, 200, static_cast<uint64_t>(rows * 1000 + columns)));
    }
  }
}

// Without subtracting the largest element first, exp would overflow f32 here.
TEST(Softmax, LargeValues) {
  Tensor x = RandomRows(9, 40, 640, 5);
  for (uint64_t& code : x.codes) code = Code(1000 + std::floor(Decode(kF16, code)));
  Check(x);
}

}  // namespace
}  // namespace tarsia
