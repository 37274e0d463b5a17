// examples/topk.tsa: the experts of each token are exact, their weights are compared with a softmax
// in f64. Scores have few different values, so that many are equal.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/examples/example_case.h"
#include "tests/harness/codec.h"

namespace tarsia::example_test {
namespace {

using harness::Expectation;
using harness::Tensor;

// The columns of a row from the largest element to the least, of equals the first one first.
std::vector<int64_t> Order(const Tensor& x, int64_t row) {
  std::vector<int64_t> out(static_cast<size_t>(x.shape[1]));
  std::iota(out.begin(), out.end(), 0);
  std::stable_sort(out.begin(), out.end(),
                   [&](int64_t a, int64_t b) { return At(x, row, a) > At(x, row, b); });
  return out;
}

// As in softmax_test.cc: each exp is within 3 ulp, the sum of n terms within the bound of
// AccumulationBound, and the quotient is rounded once.
void AddExpected(harness::Case& c, const Tensor& x, int64_t k, bool normalise) {
  const int64_t rows = x.shape[0], experts = x.shape[1];
  Tensor expert{kI32, {rows, k}, {}};
  std::vector<double> weight, bounds;
  for (int64_t i = 0; i < rows; ++i) {
    const std::vector<int64_t> order = Order(x, i);
    const auto power = [&](int64_t rank) {
      const auto at = [&](int64_t r) { return At(x, i, order[static_cast<size_t>(r)]); };
      return std::exp(at(rank) - at(0));
    };
    const int64_t terms = normalise ? k : experts;
    double sum = 0;
    for (int64_t rank = 0; rank < terms; ++rank) sum += power(rank);
    const double relative = 8 * 0x1p-23 + harness::AccumulationBound(terms, kF32, sum) / sum;
    for (int64_t rank = 0; rank < k; ++rank) {
      expert.codes.push_back(static_cast<uint32_t>(order[static_cast<size_t>(rank)]));
      weight.push_back(power(rank) / sum);
      bounds.push_back(relative * weight.back());
    }
  }
  c.outputs = {
      {"weight", Expectation::WithinBounds(kF32, {rows, k}, std::move(weight), std::move(bounds))},
      {"expert", Expectation::Exact(std::move(expert))}};
}

void CheckTokens(int64_t tokens, int64_t experts, int64_t k, bool normalise) {
  const Tensor x = RandomValues(kF16, {tokens, experts}, 40, 0x1p-3, 7);
  harness::Case c = ExampleCase("topk.tsa", fmt::format("{} of {} experts", k, experts),
                                {{"E", std::to_string(experts)},
                                 {"K", std::to_string(k)},
                                 {"NORMALISE", normalise ? "true" : "false"}});
  c.scalars = {{"rows", static_cast<uint64_t>(tokens)}};
  c.inputs = {{"x", x}};
  AddExpected(c, x, k, normalise);
  Check(c, 16, k);
}

TEST(TopK, ChoosesTheFirstOfEqualsAndWeighsThem) {
  CheckTokens(37, 61, 6, false);
  CheckTokens(5, 7, 3, false);
  CheckTokens(18, 256, 8, false);
}

TEST(TopK, WeightsAddUpToOne) {
  CheckTokens(37, 61, 6, true);
  CheckTokens(3, 11, 11, true);
}

TEST(TopK, OneExpertOfOne) { CheckTokens(19, 1, 1, false); }

}  // namespace
}  // namespace tarsia::example_test
