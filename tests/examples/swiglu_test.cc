// examples/swiglu.tsa against the formula in f64.
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

constexpr double kZero = 8;  // ZERO's default

struct Sizes {
  int64_t m, n, k, g;
};

struct Sum {
  double value = 0;
  double error = 0;  // of sums in f32, of a group and of groups
};

Sum Product(const Tensor& x, const Tensor& w, const Tensor& scales, const Sizes& s, int64_t i,
            int64_t j) {
  Sum out;
  double magnitude = 0;
  for (int64_t l = 0; l < s.k; ++l) {
    const double term = At(x, i, l) * (At(w, l, j) - kZero) * At(scales, l / s.g, j);
    out.value += term;
    magnitude += std::fabs(term);
  }
  out.error = harness::AccumulationBound(s.k, kF32, magnitude);
  return out;
}

// silu is never steeper than 1.1. exp, the addition and the quotient err by less than 8 units of
// f32, and the product is rounded to f32 and f16.
Expectation Swiglu(const Tensor& x, const Tensor& wg, const Tensor& sg, const Tensor& wu,
                   const Tensor& su, const Sizes& s) {
  std::vector<double> values, bounds;
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      const Sum gate = Product(x, wg, sg, s, i, j), up = Product(x, wu, su, s, i, j);
      const double silu = gate.value / (1 + std::exp(-gate.value));
      const double y = silu * up.value;
      const double silu_error = 1.1 * gate.error + 8 * 0x1p-23 * std::fabs(silu);
      const double error = silu_error * (std::fabs(up.value) + up.error) +
                           std::fabs(silu) * up.error + 0x1p-23 * std::fabs(y);
      values.push_back(y);
      bounds.push_back(error + harness::UlpAt(kF16, std::fabs(y) + error) / 2);
    }
  }
  return Expectation::WithinBounds(kF16, {s.m, s.n}, std::move(values), std::move(bounds));
}

TEST(Swiglu, AgreesWithTheFormula) {
  for (const Sizes& s : {Sizes{5, 77, 150, 50}, {19, 67, 256, 128}}) {
    harness::Case c = ExampleCase(
        "swiglu.tsa",
        std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k) + " in " +
            std::to_string(s.g),
        {{"K", std::to_string(s.k)}, {"N", std::to_string(s.n)}, {"G", std::to_string(s.g)}});
    c.scalars = {{"m", static_cast<uint64_t>(s.m)}};
    const Tensor x = RandomValues(kF16, {s.m, s.k}, 32, 0x1p-5, 1);
    const Tensor wg = RandomCodes(kU4, {s.k, s.n}, 2), wu = RandomCodes(kU4, {s.k, s.n}, 3);
    const Tensor sg = RandomValues(kF16, {s.k / s.g, s.n}, 16, 0x1p-7, 4);
    const Tensor su = RandomValues(kF16, {s.k / s.g, s.n}, 16, 0x1p-7, 5);
    c.inputs = {{"x", x}, {"wg", wg}, {"sg", sg}, {"wu", wu}, {"su", su}};
    c.outputs = {{"y", Swiglu(x, wg, sg, wu, su, s)}};
    Check(c, 16, 64);
  }
}

}  // namespace
}  // namespace tarsia::example_test
