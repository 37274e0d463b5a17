#include "tests/examples/example_case.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <utility>

#include "dtypes/dtype.h"
#include "tests/harness/codec.h"
#include "tests/harness/faults.h"
#include "tests/harness/program.h"

namespace tarsia::example_test {

using harness::Tensor;

uint64_t Code(DType type, double value) {
  const auto code = harness::EncodeExact(type, value);
  if (!code) std::abort();  // a mistake in a test
  return *code;
}

Tensor RandomValues(DType type, harness::Shape shape, int steps, double step, uint64_t seed) {
  Tensor out{type, std::move(shape), {}};
  std::mt19937_64 engine(seed);
  const auto count = 2 * static_cast<uint64_t>(steps) + 1;
  for (int64_t i = 0; i < harness::Elements(out.shape); ++i) {
    const int at = static_cast<int>((engine() >> 20) % count) - steps;
    out.codes.push_back(Code(type, at * step));
  }
  return out;
}

Tensor RandomCodes(DType type, harness::Shape shape, uint64_t seed) {
  Tensor out{type, std::move(shape), {}};
  std::mt19937_64 engine(seed);
  for (int64_t i = 0; i < harness::Elements(out.shape); ++i) {
    out.codes.push_back(engine() & CodeMask(type));
  }
  return out;
}

double At(const Tensor& x, int64_t row, int64_t column) {
  return harness::Decode(x.type, x.codes[static_cast<size_t>(row * x.shape.back() + column)]);
}

harness::Case ExampleCase(const std::string& name, const std::string& title,
                          std::vector<Binding> constants) {
  harness::Case c;
  c.title = title;
  c.source = harness::ReadExample(name);
  c.where = c.source.name();
  c.constants = std::move(constants);
  return c;
}

harness::CaseResult Check(const harness::Case& c, int64_t tile_rows, int64_t tile_columns) {
  harness::CaseResult result = harness::RunEverywhere(c);
  EXPECT_TRUE(result.ok()) << result.Text(c);
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const auto faults = harness::OutputFaults(result.outputs[i], tile_rows, tile_columns);
    EXPECT_EQ(harness::ProveRejection(c.outputs[i].expected, result.outputs[i], faults), "")
        << c.title << ", output " << c.outputs[i].name;
  }
  return result;
}

}  // namespace tarsia::example_test
