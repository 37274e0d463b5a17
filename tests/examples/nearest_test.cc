// examples/nearest.tsa: the first of the nearest points, with ties.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "tests/examples/example_case.h"
#include "tests/harness/codec.h"

namespace tarsia::example_test {
namespace {

using harness::Expectation;
using harness::Tensor;

void AddExpected(harness::Case& c, const Tensor& x, const Tensor& y) {
  const int64_t n = x.shape[0], m = y.shape[1], d = x.shape[2];
  Tensor distance{kF32, {n}, {}}, index{kI32, {n}, {}};
  for (int64_t i = 0; i < n; ++i) {
    double least = std::numeric_limits<double>::infinity();
    int64_t at = 0;
    for (int64_t j = 0; j < m; ++j) {
      double away = 0;
      for (int64_t l = 0; l < d; ++l) {
        const double difference = At(x, i, l) - At(y, j, l);
        away += difference * difference;
      }
      if (away < least) at = j;
      least = std::min(least, away);
    }
    distance.codes.push_back(Code(kF32, least));
    index.codes.push_back(static_cast<uint64_t>(at));
  }
  c.outputs = {{"distance", Expectation::Exact(std::move(distance))},
               {"index", Expectation::Exact(std::move(index))}};
}

struct Sizes {
  int64_t n, m, d;
};

// Few different coordinates, so that many points are equally near: all arithmetic is exact.
void CheckNearest(const Sizes& s, const std::string& columns, double away) {
  harness::Case c =
      ExampleCase("nearest.tsa",
                  std::to_string(s.n) + " and " + std::to_string(s.m) + " points of " +
                      std::to_string(s.d) + " coordinates, tiles of " + columns,
                  {{"D", std::to_string(s.d)}, {"BN", columns}});
  c.scalars = {{"n", static_cast<uint64_t>(s.n)}, {"m", static_cast<uint64_t>(s.m)}};
  Tensor x = RandomValues(kF32, {s.n, 1, s.d}, 4, 0x1p-2, 1);
  Tensor y = RandomValues(kF32, {1, s.m, s.d}, 4, 0x1p-2, 2);
  for (uint64_t& code : y.codes) code = Code(kF32, harness::Decode(kF32, code) + away);
  c.inputs = {{"x", x}, {"y", y}};
  AddExpected(c, x, y);
  Check(c, 1, 32);
}

TEST(Nearest, FindsTheFirstOfTheNearest) {
  for (const Sizes& s : {Sizes{1, 1, 3}, {45, 77, 3}, {33, 256, 3}, {70, 200, 5}, {31, 64, 1}}) {
    CheckNearest(s, "64", 0);
  }
}

// A zero that was read beyond the last point would be nearer than every point.
TEST(Nearest, PointsBeyondTheLastOneAreNotNear) {
  for (const int64_t m : {5, 63, 65, 130}) CheckNearest({34, m, 3}, "64", 8);
  CheckNearest({34, 100, 3}, "128", 8);
}

TEST(Nearest, IsInfinitelyFarWithoutPoints) { CheckNearest({40, 0, 3}, "32", 0); }

}  // namespace
}  // namespace tarsia::example_test
