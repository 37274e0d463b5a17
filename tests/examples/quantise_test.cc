// examples/quantise.tsa: scales and codes against their formulas in f64, and the way back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tests/examples/example_case.h"
#include "tests/harness/codec.h"

namespace tarsia::example_test {
namespace {

using harness::Case;
using harness::Expectation;
using harness::Tensor;

struct Problem {
  DType type;
  const char* name;
  int largest, zero;
  int64_t k, n, g;

  [[nodiscard]] int64_t groups() const { return (k + g - 1) / g; }
  [[nodiscard]] std::string title() const {
    return std::string(name) + " " + std::to_string(k) + " x " + std::to_string(n) + " in " +
           std::to_string(g);
  }
};

Case ProblemCase(const Problem& p, const std::string& kernel) {
  Case c = ExampleCase("quantise.tsa", kernel + " " + p.title(),
                       {{"K", std::to_string(p.k)},
                        {"N", std::to_string(p.n)},
                        {"G", std::to_string(p.g)},
                        {"W", p.name},
                        {"ZERO", std::to_string(p.zero)}});
  c.kernel = kernel;
  if (kernel == "quantise") c.constants.push_back({"LARGEST", std::to_string(p.largest)});
  return c;
}

// The largest magnitude of a group of a column, divided by LARGEST.
double Scale(const Problem& p, const Tensor& w, int64_t group, int64_t column) {
  double most = 0;
  for (int64_t i = group * p.g; i < std::min(p.k, (group + 1) * p.g); ++i) {
    most = std::max(most, std::fabs(At(w, i, column)));
  }
  return most / p.largest;
}

// Two roundings to f32, and one to f16.
Expectation Scales(const Problem& p, const Tensor& w) {
  std::vector<double> values, bounds;
  for (int64_t g = 0; g < p.groups(); ++g) {
    for (int64_t j = 0; j < p.n; ++j) {
      const double scale = Scale(p, w, g, j);
      values.push_back(scale);
      bounds.push_back(harness::UlpAt(kF16, scale) / 2 + 0x1p-22 * scale);
    }
  }
  return Expectation::WithinBounds(kF16, {p.groups(), p.n}, std::move(values), std::move(bounds));
}

// Half a code, and what the rounding of the scale to f16 changes: 2^-11 of the quotient.
Expectation Codes(const Problem& p, const Tensor& w) {
  std::vector<double> values, bounds;
  for (int64_t i = 0; i < p.k; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      const double scale = Scale(p, w, i / p.g, j);
      const double quotient = scale == 0 ? 0 : At(w, i, j) / scale;
      values.push_back(quotient + p.zero);
      bounds.push_back(0.5 + (0x1p-11 + 0x1p-20) * std::fabs(quotient));
    }
  }
  return Expectation::WithinBounds(p.type, {p.k, p.n}, std::move(values), std::move(bounds));
}

// Half a scale, and the rounding to f16.
Expectation Near(const Problem& p, const Tensor& w) {
  std::vector<double> values, bounds;
  for (int64_t i = 0; i < p.k; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      const double value = At(w, i, j);
      const double half = Scale(p, w, i / p.g, j) * (1 + 0x1p-10) / 2;
      values.push_back(value);
      bounds.push_back(half + harness::UlpAt(kF16, std::fabs(value) + half));
    }
  }
  return Expectation::WithinBounds(kF16, {p.k, p.n}, std::move(values), std::move(bounds));
}

constexpr Problem kProblems[] = {
    {kU4, "u4", 7, 8, 135, 77, 45},
    {kI8, "i8", 127, 0, 135, 77, 45},
    {kU4, "u4", 7, 8, 300, 70, 128},  // the last group has 44 rows
    {kU3, "u3", 3, 4, 61, 67, 128},   // less than one group
};

TEST(Quantise, AgreesWithTheFormulaAndComesBack) {
  for (const Problem& p : kProblems) {
    const Tensor w = RandomValues(kF16, {p.k, p.n}, 500, 0x1p-9, 7);
    Case to = ProblemCase(p, "quantise");
    to.inputs = {{"w", w}};
    to.outputs = {{"q", Codes(p, w)}, {"s", Scales(p, w)}};
    const harness::CaseResult quantised = Check(to, p.g, 64);
    ASSERT_EQ(quantised.outputs.size(), 2U);

    Case back = ProblemCase(p, "dequantise");
    back.inputs = {{"q", quantised.outputs[0]}, {"s", quantised.outputs[1]}};
    back.outputs = {{"w", Near(p, w)}};
    const harness::CaseResult result = harness::RunEverywhere(back);
    EXPECT_TRUE(result.ok()) << result.Text(back);
  }
}

TEST(Dequantise, AgreesWithTheFormula) {
  for (const Problem& p : kProblems) {
    const Tensor q = RandomCodes(p.type, {p.k, p.n}, 8);
    const Tensor s = RandomValues(kF16, {p.groups(), p.n}, 900, 0x1p-12, 9);
    std::vector<double> values;
    for (int64_t i = 0; i < p.k; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        values.push_back((At(q, i, j) - p.zero) * At(s, i / p.g, j));
      }
    }
    Case c = ProblemCase(p, "dequantise");
    c.inputs = {{"q", q}, {"s", s}};
    // The product is exact in f32, and rounded once.
    c.outputs = {{"w", Expectation::WithinUlp(kF16, {p.k, p.n}, std::move(values), 0.5)}};
    Check(c, p.g, 64);
  }
}

// A group of zeros has the scale 0 and the codes ZERO, not codes of 0 / 0.
TEST(Quantise, ZerosStayZero) {
  const Problem p{kU4, "u4", 7, 8, 50, 33, 20};
  Case c = ProblemCase(p, "quantise");
  const Tensor w = RandomValues(kF16, {p.k, p.n}, 0, 1, 1);
  c.inputs = {{"w", w}};
  c.outputs = {{"q", Codes(p, w)}, {"s", Scales(p, w)}};
  const harness::CaseResult result = harness::RunEverywhere(c);
  EXPECT_TRUE(result.ok()) << result.Text(c);
}

}  // namespace
}  // namespace tarsia::example_test
