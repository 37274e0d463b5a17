// Linear algebra in long double, and how far rounded arithmetic may be from it: the backward error
// of a factorisation or a substitution is at most (n + 4) eps |L| |L^T| or (n + 4) eps |T| |x|
// (Higham, Accuracy and Stability of Numerical Algorithms, theorems 8.5 and 10.3), whatever the
// order of its sums; it goes on to the result to first order. Where that is no small perturbation,
// anything is right.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/reduce/reference.h"
#include "tests/reduce/reference_index.h"

namespace tarsia::reduce_test {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

class Square {
 public:
  explicit Square(size_t n) : n_(n), data_(n * n) {}
  long double& operator()(size_t i, size_t j) { return data_[i * n_ + j]; }
  long double operator()(size_t i, size_t j) const { return data_[i * n_ + j]; }
  [[nodiscard]] size_t size() const { return n_; }

 private:
  size_t n_;
  std::vector<long double> data_;
};

// By columns; from the first pivot that is not above 0 on, NaN.
Square Factor(const Square& a) {
  const size_t n = a.size();
  Square l(n);
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = j; i < n; ++i) {
      long double sum = a(i, j);
      for (size_t k = 0; k < j; ++k) sum -= l(i, k) * l(j, k);
      if (i == j) sum = sum > 0 ? sum : std::numeric_limits<long double>::quiet_NaN();
      l(i, j) = i == j ? std::sqrt(sum) : sum / l(j, j);
    }
  }
  return l;
}

// Row i of the inverse of a triangular matrix, whose rows are visited in an order in which each
// needs only earlier ones.
Square Inverse(const Square& t, bool upper) {
  const size_t n = t.size();
  Square out(n);
  for (size_t c = 0; c < n; ++c) {
    for (size_t step = 0; step < n; ++step) {
      const size_t i = upper ? n - 1 - step : step;
      long double sum = i == c ? 1 : 0;
      for (size_t k = 0; k < n; ++k) {
        if (upper ? k > i : k < i) sum -= t(i, k) * out(k, c);
      }
      out(i, c) = sum / t(i, i);
    }
  }
  return out;
}

// |a| |b|, of b transposed if asked.
Square Sizes(const Square& a, const Square& b, bool transposed = false) {
  const size_t n = a.size();
  Square out(n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      for (size_t k = 0; k < n; ++k) {
        out(i, j) += std::abs(a(i, k)) * std::abs(transposed ? b(j, k) : b(k, j));
      }
    }
  }
  return out;
}

// How a factor moves with its matrix: |L| times the lower part of |L^-1| |dA| |L^-T|.
Square ErrorOfFactor(const Square& l, const Square& backward) {
  const size_t n = l.size();
  const Square inverse = Inverse(l, false);
  Square moved = Sizes(Sizes(inverse, backward), inverse, true);
  Square out(n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      for (size_t k = j; k <= i; ++k) out(i, j) += 2 * std::abs(l(i, k)) * moved(k, j);
      for (size_t k = 0; k <= i; ++k) {
        if (!(moved(i, k) < 0.1L)) out(i, j) = kInfinite;
      }
    }
  }
  return out;
}

}  // namespace

void ReferenceGraph::Solve(const GraphNode& node) {
  Reference out = Empty(node.first_result);
  const auto written = graph_.graph().Axes(node.axes);
  const uint32_t rows = graph_.AxisOf(written[0]);
  const uint32_t columns = graph_.AxisOf(written[1]);
  std::vector<uint32_t> others;
  for (const uint32_t axis : out.axes) {
    if (axis != rows && axis != columns) others.push_back(axis);
  }
  ForEach(others, {}, [&](const Index& index, size_t) {
    if (node.op == GraphOp::kCholesky) return FactorAt(node, index, &out);
    SolveAt(node, index, &out);
  });
  values_[node.first_result] = std::move(out);
}

void ReferenceGraph::FactorAt(const GraphNode& node, Index at, Reference* out) const {
  const auto written = graph_.graph().Axes(node.axes);
  const uint32_t rows = graph_.AxisOf(written[0]);
  const uint32_t columns = graph_.AxisOf(written[1]);
  const auto n = static_cast<size_t>(graph_.axes()[rows].extent);
  const double eps = EpsilonOf(graph_.value(node.first_result).dtype);
  Square a(n);
  Square backward(n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      at[rows] = static_cast<int64_t>(i);
      at[columns] = static_cast<int64_t>(j);
      const Element element = Operand(node, 0, at);
      a(i, j) = element.value;
      backward(i, j) = backward(j, i) = element.error;
    }
  }
  const Square l = Factor(a);
  const Square size = Sizes(l, l, true);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      backward(i, j) += static_cast<double>(n + 4) * eps * size(i, j);
    }
  }
  const Square error = ErrorOfFactor(l, backward);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      at[rows] = static_cast<int64_t>(i);
      at[columns] = static_cast<int64_t>(j);
      const size_t element = At(out->axes, at);
      out->value[element] = static_cast<double>(l(i, j));
      out->error[element] = static_cast<double>(error(i, j));
    }
  }
}

void ReferenceGraph::SolveAt(const GraphNode& node, Index at, Reference* out) const {
  const auto written = graph_.graph().Axes(node.axes);
  const uint32_t rows = graph_.AxisOf(written[0]);
  const uint32_t columns = graph_.AxisOf(written[1]);
  const auto n = static_cast<size_t>(graph_.axes()[rows].extent);
  const double eps = EpsilonOf(graph_.value(node.first_result).dtype);
  const bool upper = node.option == GraphOption::kUpper;
  Square t(n);
  Square wrong(n);
  std::vector<Element> b(n);
  for (size_t i = 0; i < n; ++i) {
    at[rows] = static_cast<int64_t>(i);
    b[i] = Operand(node, 1, at);
    for (size_t j = 0; j < n; ++j) {
      if (upper ? j < i : j > i) continue;
      at[columns] = static_cast<int64_t>(j);
      const Element element = Operand(node, 0, at);
      t(i, j) = element.value;
      wrong(i, j) = element.error + static_cast<double>(n + 4) * eps * std::abs(element.value);
    }
  }
  const Square inverse = Inverse(t, upper);
  const Square moved = Sizes(inverse, wrong);
  std::vector<long double> x(n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < n; ++k) x[i] += inverse(i, k) * b[k].value;
  }
  for (size_t i = 0; i < n; ++i) {
    at[columns] = static_cast<int64_t>(i);
    long double error = 0;
    for (size_t k = 0; k < n; ++k) {
      error += 2 * (moved(i, k) * std::abs(x[k]) + std::abs(inverse(i, k)) * b[k].error);
      if (!(moved(i, k) < 0.1L)) error = kInfinite;
    }
    const size_t element = At(out->axes, at);
    out->value[element] = static_cast<double>(x[i]);
    out->error[element] = static_cast<double>(error);
  }
}

}  // namespace tarsia::reduce_test
