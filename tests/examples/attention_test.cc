// examples/attention.tsa against the formula in f64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "tests/harness/codec.h"
#include "tests/harness/faults.h"
#include "tests/harness/program.h"
#include "tests/harness/run_case.h"

namespace tarsia::attention_test {
namespace {

using harness::Decode;
using harness::Tensor;

struct Sizes {
  int64_t heads, length, d;
  bool causal = false;  // no row sees a later key

  [[nodiscard]] int64_t KeysOf(int64_t row) const { return causal ? row + 1 : length; }
};

// Multiples of 1/16 from -2 to 2, which f16 holds.
Tensor RandomRows(const Sizes& s, uint64_t seed) {
  Tensor out{kF16, {s.heads * s.length, s.d}, {}};
  std::mt19937_64 engine(seed);
  for (int64_t i = 0; i < s.heads * s.length * s.d; ++i) {
    const auto code =
        harness::EncodeExact(kF16, static_cast<double>((engine() >> 20) % 65) / 16 - 2);
    if (!code) std::abort();  // a mistake in this file
    out.codes.push_back(*code);
  }
  return out;
}

double At(const Tensor& x, int64_t row, int64_t column) {
  return Decode(kF16, x.codes[static_cast<size_t>(row * x.shape[1] + column)]);
}

// What the kernel rounds: the scores and their exponentials in f32, the exponentials relative to
// the largest score so far once more to f16 (which has steps of 2^-25 at least), and sums of as
// many terms as there are keys in f32.
struct Row {
  std::vector<double> p;  // exp(score - largest), by key
  double sum = 0;
  double relative = 0;  // the error of each p
};

Row Probabilities(const Tensor& q, const Tensor& k, const Sizes& s, int64_t head, int64_t row) {
  std::vector<double> scores;
  double error = 0;
  const double scale = 1 / std::sqrt(static_cast<double>(s.d));
  for (int64_t j = 0; j < s.KeysOf(row); ++j) {
    double sum = 0, magnitude = 0;
    for (int64_t d = 0; d < s.d; ++d) {
      const double product = At(q, head * s.length + row, d) * At(k, head * s.length + j, d);
      sum += product;
      magnitude += std::fabs(product);
    }
    scores.push_back(sum * scale);
    const double rounded = harness::AccumulationBound(s.d, kF32, magnitude) * scale;
    error = std::max(error, rounded + 4 * 0x1p-23 * std::fabs(sum * scale));
  }
  Row out;
  const double most = *std::max_element(scores.begin(), scores.end());
  for (const double score : scores) {
    out.p.push_back(std::exp(score - most));
    out.sum += out.p.back();
  }
  out.relative = 2 * error + 0x1p-11 + 8 * 0x1p-23;
  return out;
}

harness::Expectation Attention(const Tensor& q, const Tensor& k, const Tensor& v, const Sizes& s) {
  std::vector<double> values, bounds;
  for (int64_t head = 0; head < s.heads; ++head) {
    for (int64_t row = 0; row < s.length; ++row) {
      const Row p = Probabilities(q, k, s, head, row);
      for (int64_t d = 0; d < s.d; ++d) {
        double sum = 0, magnitude = 0, all = 0;
        for (int64_t j = 0; j < s.KeysOf(row); ++j) {
          const double x = At(v, head * s.length + j, d);
          sum += p.p[static_cast<size_t>(j)] * x;
          magnitude += p.p[static_cast<size_t>(j)] * std::fabs(x);
          all += std::fabs(x);
        }
        const double error = 2 * p.relative * magnitude + 0x1p-25 * all +
                             2 * harness::AccumulationBound(s.length, kF32, magnitude);
        const double value = sum / p.sum;
        values.push_back(value);
        bounds.push_back(error / p.sum +
                         harness::UlpAt(kF16, std::fabs(value) + error / p.sum) / 2);
      }
    }
  }
  return harness::Expectation::WithinBounds(kF16, {s.heads * s.length, s.d}, std::move(values),
                                            std::move(bounds));
}

TEST(Attention, AgreesWithTheFormula) {
  for (const Sizes& s : {Sizes{2, 128, 64}, Sizes{1, 192, 128}, Sizes{2, 192, 64, true}}) {
    harness::Case c;
    c.title = std::to_string(s.length) + " x " + std::to_string(s.d);
    c.source = harness::ReadExample("attention.tsa");
    c.where = c.source.name();
    c.constants = {{"D", std::to_string(s.d)},
                   {"LENGTH", std::to_string(s.length)},
                   {"CAUSAL", s.causal ? "true" : "false"}};
    c.scalars = {{"heads", static_cast<uint64_t>(s.heads)}};
    const Tensor q = RandomRows(s, 1), k = RandomRows(s, 2), v = RandomRows(s, 3);
    c.inputs = {{"q", q}, {"k", k}, {"v", v}};
    c.outputs = {{"y", Attention(q, k, v, s)}};
    const harness::CaseResult result = harness::RunEverywhere(c);
    ASSERT_TRUE(result.ok()) << result.Text(c);
    const auto faults = harness::OutputFaults(result.outputs[0], 64, s.d);
    EXPECT_EQ(harness::ProveRejection(c.outputs[0].expected, result.outputs[0], faults), "")
        << c.title;
  }
}

}  // namespace
}  // namespace tarsia::attention_test
