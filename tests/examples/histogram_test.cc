// examples/histogram.tsa: the count of each value, on top of what was counted before.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/examples/example_case.h"

namespace tarsia::example_test {
namespace {

using harness::Expectation;
using harness::Tensor;

void CheckBytes(const Tensor& x, const std::string& title) {
  const Tensor before = RandomValues(kI32, {256}, 50, 1, 1);
  Tensor after = before;
  for (const uint64_t byte : x.codes) {
    after.codes[byte] = (after.codes[byte] + 1) & 0xFFFFFFFF;
  }
  harness::Case c =
      ExampleCase("histogram.tsa", title, {{"BK", "128"}, {"TURNS", "16"}});  // 2048 in a block
  c.scalars = {{"n", static_cast<uint64_t>(x.codes.size())}};
  c.inputs = {{"x", x}, {"counts", before}};
  c.outputs = {{"counts", Expectation::Exact(std::move(after))}};
  Check(c, 16, 16);
}

TEST(Histogram, CountsEachValue) {
  for (const int64_t n : {1, 127, 2049, 5003}) {
    CheckBytes(RandomCodes(kU8, {n}, 2), std::to_string(n) + " bytes");
  }
}

// All in one place; zeros must not be mistaken for elements beyond the last one.
TEST(Histogram, CountsEqualValues) {
  for (const uint64_t value : {0, 255}) {
    Tensor x = RandomCodes(kU8, {2111}, 3);
    for (uint64_t& code : x.codes) code = value;
    CheckBytes(x, "values of " + std::to_string(value));
  }
}

}  // namespace
}  // namespace tarsia::example_test
