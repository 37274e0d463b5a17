// examples/split_k.tsa, by all of its ways, against products in f64.
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

constexpr int64_t kBlockK = 64;  // BK's default

struct Sizes {
  int64_t m, n, k, splits;

  // The rows of b in one part: whole tiles of BK.
  [[nodiscard]] int64_t part() const {
    const int64_t tiles = (k + kBlockK - 1) / kBlockK;
    return (tiles + splits - 1) / splits * kBlockK;
  }
};

struct Sum {
  double value = 0;
  double magnitude = 0;
};

Sum Product(const Tensor& a, const Tensor& b, int64_t i, int64_t j, int64_t first, int64_t last) {
  Sum out;
  for (int64_t l = first; l < last; ++l) {
    out.value += At(a, i, l) * At(b, l, j);
    out.magnitude += std::fabs(At(a, i, l) * At(b, l, j));
  }
  return out;
}

Expectation Whole(const Tensor& a, const Tensor& b, const Tensor& before, DType type,
                  const Sizes& s) {
  std::vector<double> values, bounds;
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      Sum sum = Product(a, b, i, j, 0, s.k);
      sum.value += At(before, i, j);
      sum.magnitude += std::fabs(At(before, i, j));
      values.push_back(sum.value);
      bounds.push_back(harness::OutputBound(s.k, kF32, sum.magnitude, type, sum.value));
    }
  }
  return Expectation::WithinBounds(type, {s.m, s.n}, std::move(values), std::move(bounds));
}

Expectation Parts(const Tensor& a, const Tensor& b, const Sizes& s) {
  std::vector<double> values, bounds;
  for (int64_t part = 0; part < s.splits; ++part) {
    const int64_t first = std::min(s.k, part * s.part());
    const int64_t last = std::min(s.k, first + s.part());
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        const Sum sum = Product(a, b, i, j, first, last);
        values.push_back(sum.value);
        bounds.push_back(harness::AccumulationBound(s.part(), kF32, sum.magnitude));
      }
    }
  }
  return Expectation::WithinBounds(kF32, {s.splits, s.m, s.n}, std::move(values),
                                   std::move(bounds));
}

Case KernelCase(const std::string& kernel, const Sizes& s) {
  Case c = ExampleCase("split_k.tsa",
                       kernel + " " + std::to_string(s.m) + " x " + std::to_string(s.n) + " x " +
                           std::to_string(s.k) + " in " + std::to_string(s.splits),
                       {{"N", std::to_string(s.n)}, {"SPLITS", std::to_string(s.splits)}});
  c.kernel = kernel;
  if (kernel != "split_k_sum") c.constants.push_back({"K", std::to_string(s.k)});
  c.scalars = {{"m", static_cast<uint64_t>(s.m)}};
  return c;
}

constexpr Sizes kSizes[] = {
    {19, 37, 301, 4},   // the third part has 45 rows, the fourth none
    {33, 131, 130, 2},  // the second part has 2 rows
};

TEST(SplitK, AddsToTheOutput) {
  for (const Sizes& s : kSizes) {
    Case c = KernelCase("split_k_red", s);
    const Tensor a = RandomValues(kF16, {s.m, s.k}, 16, 0x1p-3, 1);
    const Tensor b = RandomValues(kF16, {s.k, s.n}, 16, 0x1p-3, 2);
    const Tensor before = RandomValues(kF32, {s.m, s.n}, 16, 0x1p-3, 3);
    c.inputs = {{"a", a}, {"b", b}, {"y", before}};
    c.outputs = {{"y", Whole(a, b, before, kF32, s)}};
    Check(c, 32, 64);
  }
}

TEST(SplitK, SumsInTheOrderOfTheParts) {
  for (const Sizes& s : {kSizes[0], kSizes[1], Sizes{5, 20, 70, 1}}) {
    Case c = KernelCase("split_k_ordered", s);
    const Tensor a = RandomValues(kF16, {s.m, s.k}, 16, 0x1p-3, 1);
    const Tensor b = RandomValues(kF16, {s.k, s.n}, 16, 0x1p-3, 2);
    c.inputs = {{"a", a}, {"b", b}};
    const Tensor zero = RandomValues(kF32, {s.m, s.n}, 0, 1, 3);
    c.outputs = {{"y", Whole(a, b, zero, kF16, s)}};
    Check(c, 32, 64);
  }
}

TEST(SplitK, SumsTheWorkspace) {
  for (const Sizes& s : kSizes) {
    Case first = KernelCase("split_k_parts", s);
    const Tensor a = RandomValues(kF16, {s.m, s.k}, 16, 0x1p-3, 1);
    const Tensor b = RandomValues(kF16, {s.k, s.n}, 16, 0x1p-3, 2);
    first.inputs = {{"a", a}, {"b", b}};
    first.outputs = {{"parts", Parts(a, b, s)}};
    const harness::CaseResult parts = Check(first, 32, 64);
    ASSERT_EQ(parts.outputs.size(), 1U);

    Case second = KernelCase("split_k_sum", s);
    second.inputs = {{"parts", parts.outputs[0]}};
    const Tensor zero = RandomValues(kF32, {s.m, s.n}, 0, 1, 3);
    second.outputs = {{"y", Whole(a, b, zero, kF16, s)}};
    Check(second, 8, 128);
  }
}

}  // namespace
}  // namespace tarsia::example_test
