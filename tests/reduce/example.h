// Runs the graphs of examples/reduce under several limits, for tests that compare their outputs
// with direct formulas in f64.
#ifndef TARSIA_TESTS_REDUCE_EXAMPLE_H_
#define TARSIA_TESTS_REDUCE_EXAMPLE_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/reduce/run_plan.h"

namespace tarsia::reduce_test {

using Sets = std::vector<std::pair<std::string, int64_t>>;
using Outputs = std::vector<std::vector<double>>;

inline constexpr double kEpsilon = 0x1p-23;  // of f32

// The bound of a sum of `count` terms in f32 whose absolute values add up to `size`.
inline double BoundOf(size_t count, double size) {
  return (4 * std::sqrt(static_cast<double>(count)) + 8) * kEpsilon * size;
}

// Runs a graph on a device under the smallest limit, one a little above, and none, of both kinds;
// `check` compares the outputs of each run.
template <typename Check>
void RunGraph(const ConcreteGraph& graph, const Outputs& inputs, const std::string& device,
              const Check& check) {
  for (const LimitKind kind : {LimitKind::kTotal, LimitKind::kScratch}) {
    const uint64_t smallest = RefusedBelow(graph, 0, kind).value_or(0);
    if (smallest > 0) {
      EXPECT_EQ(RefusedBelow(graph, smallest - 1, kind), smallest);
    }
    for (const uint64_t limit : {smallest, smallest + 5000, kNoLimit}) {
      check(inputs, RunAndCompare(graph, inputs, limit, kind, device));
    }
  }
}

// `name`: of the file; or of the file and a graph in it, as "knn:knn_l1".
template <typename Check>
void RunExample(const std::string& name, const Sets& sets, const std::string& device,
                const Check& check) {
  const size_t colon = name.find(':');
  const std::string file = "examples/reduce/" + name.substr(0, colon) + ".tsa";
  const std::string of = colon == std::string::npos ? "" : name.substr(colon + 1);
  const ConcreteGraph graph = MakeGraphOf(file, sets, of);
  RunGraph(graph, RandomInputs(graph, 1), device, check);
}

template <typename Run>
void ForEachDevice(const Run& run) {
  for (const char* const device : {"cpu", "ptx"}) run(std::string(device));
}

// On each device.
template <typename Check>
void RunExampleEverywhere(const std::string& name, const Sets& sets, const Check& check) {
  ForEachDevice([&](const std::string& device) { RunExample(name, sets, device, check); });
}

// The squared distance of row `i` of a and row `j` of b, which have d columns.
inline double SquaredDistance(const std::vector<double>& a, size_t i, const std::vector<double>& b,
                              size_t j, size_t d) {
  double out = 0;
  for (size_t e = 0; e < d; ++e) {
    out += (a[i * d + e] - b[j * d + e]) * (a[i * d + e] - b[j * d + e]);
  }
  return out;
}

}  // namespace tarsia::reduce_test

#endif  // TARSIA_TESTS_REDUCE_EXAMPLE_H_
