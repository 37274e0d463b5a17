// Slopes of a graph's outputs by central differences of its meaning in f64, for tests of gradients.
// They know the graph without its derivatives, and nothing of how those are made.
#ifndef TARSIA_TESTS_REDUCE_SLOPE_H_
#define TARSIA_TESTS_REDUCE_SLOPE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "tests/reduce/reference.h"
#include "tests/reduce/run_plan.h"

namespace tarsia::reduce_test {

using Tensors = std::vector<std::vector<double>>;

// The elements of an output in the order in which it is in memory.
inline std::vector<double> InMemoryOrder(const ConcreteGraph& graph, const ReferenceGraph& meaning,
                                         size_t output) {
  const Reference& value = meaning.value(graph.graph().outputs[output]);
  const std::vector<uint32_t>& axes = graph.output_axes(output);
  std::vector<double> out;
  for (size_t i = 0; i < value.value.size(); ++i) {
    size_t rest = i;
    std::map<uint32_t, size_t> index;
    for (size_t a = axes.size(); a-- > 0;) {
      const auto extent = static_cast<size_t>(graph.axes()[axes[a]].extent);
      index[axes[a]] = rest % extent;
      rest /= extent;
    }
    size_t at = 0;
    for (const uint32_t axis : value.axes) {
      at = at * static_cast<size_t>(graph.axes()[axis].extent) + index[axis];
    }
    out.push_back(value.value[at]);
  }
  return out;
}

// The sum over all outputs of their elements, in this order, times those of `weights`.
inline double WeightedSum(const ConcreteGraph& graph, const Tensors& inputs,
                          const Tensors& weights) {
  const ReferenceGraph meaning(graph, inputs);
  double out = 0;
  for (size_t o = 0; o < weights.size(); ++o) {
    const std::vector<double> value = InMemoryOrder(graph, meaning, o);
    for (size_t i = 0; i < value.size(); ++i) out += value[i] * weights[o][i];
  }
  return out;
}

// Its slope in a direction. The error at a step of 1e-5 is that of the third derivative times
// 1.7e-11, and 1e-11 of the size of the sum.
inline double Slope(const ConcreteGraph& graph, const Tensors& inputs, const Tensors& weights,
                    const Tensors& direction, double length = 1e-5) {
  const auto at = [&](double step) {
    Tensors moved = inputs;
    for (size_t t = 0; t < direction.size(); ++t) {
      for (size_t i = 0; i < direction[t].size(); ++i) moved[t][i] += step * direction[t][i];
    }
    return WeightedSum(graph, moved, weights);
  };
  return (at(length) - at(-length)) / (2 * length);
}

// Numbers between -1 and 1, none of them 0, no two equal.
inline std::vector<double> RandomNumbers(size_t count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<double> out;
  for (size_t i = 0; i < count; ++i) {
    out.push_back((static_cast<double>(engine() >> 11) + 0.5) * 0x1p-52 - 1);
  }
  return out;
}

}  // namespace tarsia::reduce_test

#endif  // TARSIA_TESTS_REDUCE_SLOPE_H_
