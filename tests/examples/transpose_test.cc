// examples/transpose.tsa: every element at its place.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/examples/example_case.h"

namespace tarsia::example_test {
namespace {

using harness::Expectation;
using harness::Tensor;

Expectation Transposed(const Tensor& x) {
  const int64_t rows = x.shape[0], columns = x.shape[1];
  Tensor out{x.type, {columns, rows}, {}};
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      out.codes.push_back(x.codes[static_cast<size_t>(i * columns + j)]);
    }
  }
  return Expectation::Exact(std::move(out));
}

TEST(Transpose, MovesEveryElement) {
  struct Kind {
    DType type;
    const char* name;
  };
  for (const Kind& kind : {Kind{kF16, "f16"}, {kI8, "i8"}, {kI64, "i64"}, {kU4, "u4"}}) {
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {67, 131}, {128, 66}}) {
      harness::Case c = ExampleCase(
          "transpose.tsa",
          std::to_string(rows) + " x " + std::to_string(columns) + " of " + kind.name,
          {{"M", std::to_string(rows)}, {"N", std::to_string(columns)}, {"T", kind.name}});
      const Tensor x = kind.type == kF16 ? RandomValues(kF16, {rows, columns}, 500, 0x1p-5, 3)
                                         : RandomCodes(kind.type, {rows, columns}, 3);
      c.inputs = {{"x", x}};
      c.outputs = {{"y", Transposed(x)}};
      Check(c, 64, 64);
    }
  }
}

}  // namespace
}  // namespace tarsia::example_test
