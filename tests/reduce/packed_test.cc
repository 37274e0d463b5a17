// Outputs of narrow types, packed in memory, against plain formulas: from the smallest limit to
// none, on the interpreter and on the emulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/reduce/example.h"

namespace tarsia::reduce_test {
namespace {

// At sizes at which rows begin within bytes. The meaning of `cast` is that of dtypes/.
TEST(ReducePacked, EveryKindOfType) {
  for (const std::string type :
       {"u1", "i2", "u3", "i4", "u5", "f4e2m1", "f6e3m2", "u7", "f8e4m3fn", "f8e5m2"}) {
    const std::string text = "graph g(%x: f32[i:n, j:m], %c: " + type + "[i, j]) -> " + type +
                             "[i, j], " + type + "[j, i], " + type + "[j], " + type +
                             "[i, j]\n  const n: int, m: int\n{\n"
                             "  %q = cast<" +
                             type +
                             ">(%x * 3)\n"
                             "  %t = cast<" +
                             type +
                             ">(%x + 0.25)\n"
                             "  %top = cast<" +
                             type +
                             ">(max<i>(%x))\n"
                             "  %chosen = select(%x > 0.5, %c, %q)\n"
                             "  return %q, %t, %top, %chosen\n}\n";
    SCOPED_TRACE(text);
    CompareAtAllLimits(MakeGraph(text, {{"n", 13}, {"m", 7}}), 3, "cpu");
    CompareAtAllLimits(MakeGraph(text, {{"n", 67}, {"m", 70}}), 4, "cpu");
    RunAndCompare(MakeGraph(text, {{"n", 13}, {"m", 9}}),
                  RandomInputs(MakeGraph(text, {{"n", 13}, {"m", 9}}), 5), kNoLimit,
                  LimitKind::kTotal, "ptx");
  }
}

// Each row in 4 bits, relative to its largest element.
TEST(ReducePacked, RowsOfFourBitsWithScales) {
  const size_t n = 41;
  const size_t m = 83;
  RunExampleEverywhere(
      "quantise", {{"n", n}, {"m", m}}, [&](const Outputs& in, const Outputs& out) {
        for (size_t i = 0; i < n; ++i) {
          double most = 0;
          for (size_t j = 0; j < m; ++j) most = std::max(most, std::abs(in[0][i * m + j]));
          ASSERT_NEAR(out.at(1)[i], most / 7, most * kEpsilon);
          for (size_t j = 0; j < m; ++j) {
            const double code = out.at(0)[i * m + j];
            ASSERT_EQ(code, std::nearbyint(code));
            // The nearest code, but for ties that a rounded scale turns around.
            ASSERT_LE(std::abs(code * most / 7 - in[0][i * m + j]), most / 14 * (1 + 1e-5));
          }
        }
      });
}

// Ranks share an axis whose ranges end at whole bytes, or none.
TEST(ReducePacked, SharesOfRanks) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%x: f32[i:n, j:m]) -> i4[i, j]\n  const n: int, m: int\n{\n"
      "  %q = cast<i4>(%x * 3)\n  return %q\n}\n",
      {{"n", 301}, {"m", 14}});
  RunAndCompareShares(graph, RandomInputs(graph, 6), kNoLimit, LimitKind::kTotal, 3, "cpu");
}

}  // namespace
}  // namespace tarsia::reduce_test
