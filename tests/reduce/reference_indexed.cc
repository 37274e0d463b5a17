// By an index, and random numbers, in f64.
#include <array>
#include <cmath>

#include "tests/reduce/reference.h"
#include "tests/reduce/reference_index.h"

namespace tarsia::reduce_test {
namespace {

// Word number `n` of Philox4x32-10 with the key `seed`, as the paper has it (Salmon et al. 2011).
uint32_t PhiloxWord(uint64_t seed, uint64_t n) {
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(n / 4), static_cast<uint32_t>(n / 4 >> 32), 0,
                               0};
  auto k0 = static_cast<uint32_t>(seed);
  auto k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c[n % 4];
}

}  // namespace

void ReferenceGraph::Random(const GraphNode& node) {
  Reference out = Empty(node.first_result);
  const auto seed = static_cast<uint64_t>(static_cast<int64_t>(Operand(node, 0, {}).value));
  for (uint64_t e = 0; e < out.value.size(); ++e) {
    double value = PhiloxWord(seed, e);
    if (node.op == GraphOp::kUniform) value = std::floor(value / 256) / 0x1p24;
    if (node.op == GraphOp::kNormal) {
      const double u = (PhiloxWord(seed, 2 * e) + 1.0) / 0x1p32;
      const double v = PhiloxWord(seed, 2 * e + 1) / 0x1p32;
      value = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::acos(-1.0) * v);
      out.error[e] = 4 * EpsilonOf(kF32) * (std::abs(value) + 1e-6);
    }
    out.value[e] = value;
  }
  values_[node.first_result] = std::move(out);
}

void ReferenceGraph::Gather(const GraphNode& node) {
  Reference out = Empty(node.first_result);
  const uint32_t axis = graph_.AxisOf(graph_.graph().Axes(node.axes)[0]);
  ForEach(out.axes, {}, [&](Index index, size_t i) {
    const auto at = static_cast<int64_t>(Operand(node, 1, index).value);
    if (at < 0 || at >= graph_.axes()[axis].extent) return;
    index[axis] = at;
    const Element element = Operand(node, 0, index);
    out.value[i] = element.value;
    out.error[i] = element.error;
  });
  values_[node.first_result] = std::move(out);
}

void ReferenceGraph::AddSegments(const GraphNode& node) {
  Reference out = Empty(node.first_result);
  const auto axes = graph_.graph().Axes(node.axes);
  const uint32_t from = graph_.AxisOf(axes[0]);
  const uint32_t to = graph_.AxisOf(axes[1]);
  const DType result = graph_.value(node.first_result).dtype;
  const DType type = result.IsFloat() ? AccumulatorOf(result) : result;
  ForEach(out.axes, {}, [&](const Index& at, size_t i) {
    Element sum;
    double size = 0;
    size_t count = 0;
    ForEach({from}, at, [&](const Index& index, size_t) {
      if (static_cast<int64_t>(Operand(node, 1, index).value) != at.at(to)) return;
      const Element element = Operand(node, 0, index);
      sum.value += element.value;
      sum.error += element.error;
      size += std::abs(element.value) + element.error;
      ++count;
    });
    sum.error += (4 * std::sqrt(static_cast<double>(count)) + 8) * EpsilonOf(type) * size;
    sum = Rounded(sum, result, 1);
    out.value[i] = sum.value;
    out.error[i] = sum.error;
  });
  values_[node.first_result] = std::move(out);
}

}  // namespace tarsia::reduce_test
