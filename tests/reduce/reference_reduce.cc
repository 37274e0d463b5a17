// Reducers in f64: all elements first, then the formula.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "tests/reduce/reference.h"
#include "tests/reduce/reference_index.h"

// The operations that tests use have their case; another one is a mistake in a test.
#pragma GCC diagnostic ignored "-Wswitch-enum"

namespace tarsia::reduce_test {
namespace {

constexpr double kLimit = std::numeric_limits<double>::infinity();

// The error of a sum of `count` elements whose absolute values add up to `size`.
double SumError(size_t count, DType type, double size) {
  return (4 * std::sqrt(static_cast<double>(count)) + 8) * EpsilonOf(type) * size;
}

}  // namespace

void ReferenceGraph::Reduce(const GraphNode& node) {
  for (size_t r = 0; r < Row(node.op).results(); ++r) {
    const auto v = static_cast<uint32_t>(node.first_result + r);
    values_[v] = Empty(v);
  }
  ForEach(values_[node.first_result].axes, {}, [&](const Index& index, size_t i) {
    if (node.op == GraphOp::kTopK) return ChooseAt(node, index);
    ReduceAt(node, index, i);
  });
}

// Sorts all elements; numbers come before NaN, and of equals the one with the lower index.
void ReferenceGraph::ChooseAt(const GraphNode& node, const Index& at) {
  const auto axes = graph_.graph().Axes(node.axes);
  const uint32_t reduced = graph_.AxisOf(axes[0]);
  const auto place = static_cast<size_t>(at.at(graph_.AxisOf(axes[1])));
  std::vector<Element> all;
  ForEach({reduced}, at,
          [&](const Index& index, size_t) { all.push_back(Operand(node, 0, index)); });
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (std::isnan(all[b].value)) return !std::isnan(all[a].value);
    return all[a].value > all[b].value;
  });
  const Element& chosen = all[order[place]];
  double error = 0;
  bool close = false;
  for (size_t i = 0; i < all.size(); ++i) {
    error = std::max(error, all[i].error);
    close = close || (i != order[place] && all[i].error + chosen.error > 0 &&
                      std::abs(all[i].value - chosen.value) <= all[i].error + chosen.error);
  }
  for (uint32_t r = 0; r < 2; ++r) {
    Reference& out = values_[node.first_result + r];
    const size_t element = At(out.axes, at);
    out.value[element] = r == 0 ? chosen.value : static_cast<double>(order[place]);
    out.error[element] = r == 0 ? error : close ? kLimit : 0;
  }
}

// NOLINTNEXTLINE(readability-function-size): one paragraph a reducer.
void ReferenceGraph::ReduceAt(const GraphNode& node, const Index& at, size_t element) {
  std::vector<uint32_t> axes;
  for (const AxisExpr& axis : graph_.graph().Axes(node.axes)) axes.push_back(graph_.AxisOf(axis));
  std::vector<Element> a;
  std::vector<Element> b;
  ForEach(axes, at, [&](const Index& index, size_t) {
    a.push_back(Operand(node, 0, index));
    if (node.operands.count > 1) b.push_back(Operand(node, 1, index));
  });
  const DType result = graph_.value(node.first_result).dtype;
  const DType type = result.IsFloat() ? AccumulatorOf(result) : result;
  const double eps = EpsilonOf(type);
  const size_t n = a.size();
  Reference& out = values_[node.first_result];
  const auto set = [&](double value, double error) {
    const Element rounded = Rounded({value, std::isnan(error) ? kLimit : error}, result, 1);
    out.value[element] = rounded.value;
    out.error[element] = rounded.error;
  };
  // The sum of terms with errors.
  double sum = 0;
  double size = 0;
  double error = 0;
  const auto add = [&](double term, double of) {
    sum += term;
    size += std::abs(term) + of;
    error += of;
  };
  const auto total = [&] { return error + SumError(n, type, size); };
  const auto top = [&] {
    double most = -kLimit;
    for (const Element& x : a) most = std::fmax(most, x.value);
    return most;
  };
  switch (node.op) {
    case GraphOp::kReduceSum:
    case GraphOp::kMean:
      for (const Element& x : a) add(x.value, x.error);
      if (node.op == GraphOp::kReduceSum) return set(sum, total());
      return set(sum / static_cast<double>(n), total() / static_cast<double>(n));
    case GraphOp::kDot:
      for (size_t i = 0; i < n; ++i) {
        add(a[i].value * b[i].value, std::abs(a[i].value) * b[i].error +
                                         std::abs(b[i].value) * a[i].error +
                                         a[i].error * b[i].error);
      }
      return set(sum, total());
    case GraphOp::kSqDist:
    case GraphOp::kL1Dist:
      for (size_t i = 0; i < n; ++i) {
        const double d = a[i].value - b[i].value;
        const double e = a[i].error + b[i].error + eps * std::abs(d);
        const bool squared = node.op == GraphOp::kSqDist;
        add(squared ? d * d : std::abs(d), squared ? 2 * std::abs(d) * e + e * e : e);
      }
      return set(sum, total());
    case GraphOp::kCosine: {
      double aa = 0;
      double bb = 0;
      for (size_t i = 0; i < n; ++i) {
        add(a[i].value * b[i].value,
            std::abs(a[i].value) * b[i].error + std::abs(b[i].value) * a[i].error);
        aa += a[i].value * a[i].value;
        bb += b[i].value * b[i].value;
      }
      const double norms = std::sqrt(aa) * std::sqrt(bb);
      return set(sum / norms, total() / norms + SumError(n, type, 4));
    }
    case GraphOp::kReduceProd: {
      double product = 1;
      double relative = 0;
      for (const Element& x : a) {
        product *= x.value;
        relative += x.error / std::abs(x.value) + eps;
      }
      return set(product, std::abs(product) * relative * 2);
    }
    case GraphOp::kReduceMax:
    case GraphOp::kReduceMin: {
      double best = a.empty() ? kLimit : a[0].value;
      if (a.empty() && node.op == GraphOp::kReduceMax) best = -kLimit;
      for (const Element& x : a) {
        best = node.op == GraphOp::kReduceMax ? std::fmax(best, x.value) : std::fmin(best, x.value);
        error = std::max(error, x.error);
      }
      return set(best, error);
    }
    case GraphOp::kArgMax:
    case GraphOp::kArgMin: {
      size_t best = 0;
      for (size_t i = 0; i < n; ++i) {
        const bool better =
            node.op == GraphOp::kArgMax ? a[i].value > a[best].value : a[i].value < a[best].value;
        if (better || (std::isnan(a[best].value) && !std::isnan(a[i].value))) best = i;
        error = std::max(error, a[i].error);
      }
      set(a[best].value, error);
      bool close = false;
      for (size_t i = 0; i < n; ++i) {
        close = close || (i != best && error > 0 &&
                          std::abs(a[i].value - a[best].value) <= a[i].error + a[best].error);
      }
      Reference& index = values_[node.first_result + 1];
      index.value[element] = static_cast<double>(best);
      index.error[element] = close ? static_cast<double>(n) : 0;
      return;
    }
    case GraphOp::kLogSumExp: {
      const double most = top();
      double worst = 0;
      for (const Element& x : a) {
        sum += std::exp(x.value - (std::isfinite(most) ? most : 0));
        worst = std::max(worst, x.error + 2 * eps * std::abs(x.value - most));
      }
      if (!std::isfinite(most)) return set(a.empty() ? -kLimit : std::log(sum), 0);
      const double value = most + std::log(sum);
      return set(value,
                 worst + SumError(n, type, 1) + 8 * eps * (std::abs(most) + std::abs(value)));
    }
    case GraphOp::kSoftmax: {
      const double most = top();
      double weights = 0;
      double worst = 0;
      for (size_t i = 0; i < n; ++i) {
        const double weight = std::exp(a[i].value - most);
        weights += weight;
        if (std::isfinite(a[i].value)) {
          worst = std::max(worst, a[i].error + 2 * eps * std::abs(a[i].value - most));
        }
        add(weight * b[i].value, weight * b[i].error);
      }
      const double relative = 2 * worst + 2 * (4 * std::sqrt(static_cast<double>(n)) + 16) * eps;
      return set(sum / weights, (error + size * relative) / weights);
    }
    case GraphOp::kVar: {
      for (const Element& x : a) add(x.value, x.error);
      const double mean = sum / static_cast<double>(n);
      double squares = 0;
      double largest = 0;
      for (const Element& x : a) {
        squares += (x.value - mean) * (x.value - mean);
        largest = std::max(largest, std::abs(x.value) * eps * 4 + x.error);
      }
      squares /= static_cast<double>(n);
      const double spread = std::sqrt(squares);
      return set(squares, squares * SumError(n, type, 2) + 4 * largest * (spread + largest));
    }
    default:
      std::abort();  // a mistake in a test
  }
}

}  // namespace tarsia::reduce_test
