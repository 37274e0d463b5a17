// examples/argmax.tsa: the first of the largest elements of each row, with ties, infinities and
// NaNs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "tests/examples/example_case.h"
#include "tests/harness/codec.h"

namespace tarsia::example_test {
namespace {

using harness::Expectation;
using harness::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void AddExpected(harness::Case& c, const Tensor& x) {
  const int64_t rows = x.shape[0], columns = x.shape[1];
  Tensor value{kF16, {rows}, {}}, index{kI32, {rows}, {}};
  for (int64_t i = 0; i < rows; ++i) {
    int64_t best = -1;
    for (int64_t j = 0; j < columns; ++j) {
      if (std::isnan(At(x, i, j))) continue;
      if (best < 0 || At(x, i, j) > At(x, i, best)) best = j;
    }
    value.codes.push_back(Code(kF16, best < 0 ? -kInfinity : At(x, i, best)));
    index.codes.push_back(static_cast<uint32_t>(best));
  }
  c.outputs = {{"value", Expectation::Exact(std::move(value))},
               {"index", Expectation::Exact(std::move(index))}};
}

harness::Case RowsCase(const Tensor& x, const std::string& title) {
  harness::Case c = ExampleCase("argmax.tsa", title, {{"N", std::to_string(x.shape[1])}});
  c.scalars = {{"rows", static_cast<uint64_t>(x.shape[0])}};
  c.inputs = {{"x", x}};
  AddExpected(c, x);
  return c;
}

// Few different values, so that most rows have equal elements in several pieces.
TEST(Argmax, FindsTheFirstOfEquals) {
  for (const int64_t columns : {1, 37, 1024, 2203}) {
    const Tensor x = RandomValues(kF16, {7, columns}, 20, 0x1p-3, 4);
    Check(RowsCase(x, "rows of " + std::to_string(columns)), 4, 1024);
  }
}

// All values are negative, so a zero that was read beyond the row would win.
TEST(Argmax, ElementsBeyondTheRowNeverWin) {
  Tensor x = RandomValues(kF16, {5, 1100}, 100, 0x1p-3, 5);
  for (uint64_t& code : x.codes) {
    code = Code(kF16, -20 + harness::Decode(kF16, code));
  }
  Check(RowsCase(x, "negative"), 4, 1024);
}

TEST(Argmax, InfinitiesAndNans) {
  Tensor x = RandomValues(kF16, {4, 1030}, 100, 0x1p-3, 6);
  const auto set = [&](int64_t row, int64_t first, int64_t last, double value) {
    for (int64_t j = first; j < last; ++j) {
      x.codes[static_cast<size_t>(row * 1030 + j)] = Code(kF16, value);
    }
  };
  set(0, 0, 1030, -kInfinity);
  set(1, 0, 1030, std::nan(""));
  set(2, 0, 1027, std::nan(""));  // the first element is in the second piece
  set(3, 0, 500, std::nan(""));
  set(3, 1029, 1030, kInfinity);
  // Values of rows without a number are no tile of zeros, and the index 0 is right for row 0.
  const harness::Case c = RowsCase(x, "special values");
  const harness::CaseResult result = harness::RunEverywhere(c);
  EXPECT_TRUE(result.ok()) << result.Text(c);
}

}  // namespace
}  // namespace tarsia::example_test
