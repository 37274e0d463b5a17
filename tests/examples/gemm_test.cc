// examples/gemm.tsa against products in f64.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "tests/harness/codec.h"
#include "tests/harness/faults.h"
#include "tests/harness/program.h"
#include "tests/harness/run_case.h"

namespace tarsia::gemm_test {
namespace {

using harness::Decode;
using harness::Tensor;

struct Sizes {
  int64_t m, n, k;
  int64_t bm, bn, bk;
};

// Multiples of 1/8 from -2 to 2, which f16 holds.
Tensor RandomMatrix(int64_t rows, int64_t columns, uint64_t seed) {
  Tensor out{kF16, {rows, columns}, {}};
  std::mt19937_64 engine(seed);
  for (int64_t i = 0; i < rows * columns; ++i) {
    const auto code =
        harness::EncodeExact(kF16, static_cast<double>((engine() >> 20) % 33) / 8 - 2);
    if (!code) std::abort();  // a mistake in this file
    out.codes.push_back(*code);
  }
  return out;
}

// Sums in f32 in any order, and one rounding to f16.
harness::Expectation Products(const Tensor& a, const Tensor& b, const Sizes& s) {
  std::vector<double> values, bounds;
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t l = 0; l < s.k; ++l) {
        const double product = Decode(kF16, a.codes[static_cast<size_t>(i * s.k + l)]) *
                               Decode(kF16, b.codes[static_cast<size_t>(l * s.n + j)]);
        sum += product;
        magnitude += std::fabs(product);
      }
      const double error = harness::AccumulationBound(s.k, kF32, magnitude);
      values.push_back(sum);
      bounds.push_back(error + harness::UlpAt(kF16, std::fabs(sum) + error) / 2);
    }
  }
  return harness::Expectation::WithinBounds(kF16, {s.m, s.n}, std::move(values), std::move(bounds));
}

TEST(Gemm, AgreesWithProductsInDouble) {
  const Sizes all[] = {
      {128, 128, 64, 128, 128, 64}, {128, 64, 96, 64, 64, 32}, {256, 64, 32, 256, 64, 32}};
  for (const Sizes& s : all) {
    harness::Case c;
    c.title = std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k);
    c.source = harness::ReadExample("gemm.tsa");
    c.where = c.source.name();
    c.constants = {{"M", std::to_string(s.m)},   {"N", std::to_string(s.n)},
                   {"K", std::to_string(s.k)},   {"BM", std::to_string(s.bm)},
                   {"BN", std::to_string(s.bn)}, {"BK", std::to_string(s.bk)}};
    const Tensor a = RandomMatrix(s.m, s.k, 1), b = RandomMatrix(s.k, s.n, 2);
    c.inputs = {{"a", a}, {"b", b}};
    c.outputs = {{"y", Products(a, b, s)}};
    const harness::CaseResult result = harness::RunEverywhere(c);
    ASSERT_TRUE(result.ok()) << result.Text(c);
    const auto faults = harness::OutputFaults(result.outputs[0], s.bm, s.bn);
    EXPECT_EQ(harness::ProveRejection(c.outputs[0].expected, result.outputs[0], faults), "")
        << c.title;
  }
}

}  // namespace
}  // namespace tarsia::gemm_test
