// Random graphs, as text.
#ifndef TARSIA_TESTS_REDUCE_RANDOM_GRAPH_H_
#define TARSIA_TESTS_REDUCE_RANDOM_GRAPH_H_

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tarsia::reduce_test {

// Writes graphs of values of f32 over the axes i, j, k, d.
class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : engine_(seed) {}

  std::string Make() {
    const std::string extents = Begin(40);
    solves_ = true;
    complex_ = true;
    const size_t statements = 2 + Below(6);
    std::string body = Statements(statements);
    std::string outputs;
    for (size_t o = 0; o < std::min<size_t>(1 + Below(3), statements); ++o) {
      outputs += fmt::format("{}%v{}", outputs.empty() ? "" : ", ", statements - 1 - o);
    }
    std::string types;
    if (Below(5) == 0) {
      body += fmt::format("  %packed = cast<i4>(%v{} * 2)\n", statements - 1);
      outputs += ", %packed";
    }
    if (Below(4) == 0) {
      body += InPlace();
      types = " -> f32[i, d] in %a";
      outputs = "%over";
    }
    return fmt::format(
        "graph g(%a: f32[i, d], %b: f32[j, d], %c: f32[j], %e: f32[k, i]){}\n  const{}\n{{\n{}  "
        "return {}\n}}\n",
        types, extents, body, outputs);
  }

  // The one output %y, of f64: the sum of the squares of the inputs and of the last values. Then
  // the same graph that returns the derivatives by the inputs instead.
  std::pair<std::string, std::string> MakeLoss() {
    const std::string extents = Begin(6);
    const std::string body = Statements(2 + Below(4));
    std::string loss;
    for (size_t v = 0; v < values_.size(); ++v) {
      if (v >= kInputs && v + 3 < values_.size()) continue;
      std::string axes;
      for (const char c : values_[v].axes) axes += fmt::format("{}{}", axes.empty() ? "" : ", ", c);
      const std::string square = fmt::format("({0} * {0})", values_[v].name);
      loss +=
          (loss.empty() ? "  %y = " : " + ") + (axes.empty() ? "" : "sum<" + axes + ">") + square;
    }
    const std::string head = fmt::format(
        "graph g(%a: f64[i, d], %b: f64[j, d], %c: f64[j], %e: f64[k, i])\n  const{}\n{{\n{}{}\n",
        extents, body, loss);
    return {head + "  return %y\n}\n",
            head +
                "  %da = grad %y, %a\n  %db = grad %y, %b\n  %dc = grad %y, %c\n"
                "  %de = grad %y, %e\n  return %da, %db, %dc, %de\n}\n"};
  }

 private:
  static constexpr char kAxes[] = {'i', 'j', 'k', 'd'};
  static constexpr size_t kInputs = 4;
  struct Value {
    std::string name, axes;  // letters
  };

  // The extents, each at most `most`, as the text of constants; and the inputs.
  std::string Begin(size_t most) {
    std::string extents;
    for (const char axis : kAxes) {
      extents_[axis] = 1 + Below(most);
      extents += fmt::format("{} {}: int = {}", extents.empty() ? "" : ",", axis, extents_[axis]);
    }
    Add("i, d", "%a");
    Add("j, d", "%b");
    Add("j", "%c");
    Add("k, i", "%e");
    return extents;
  }

  std::string Statements(size_t count) {
    std::string body;
    for (size_t s = 0; s < count; ++s) body += Statement(s);
    return body;
  }

  size_t Below(size_t n) { return (engine_() >> 11) % n; }
  void Add(const std::string& axes, const std::string& name) {
    Value& value = values_.emplace_back();
    value.name = name;
    for (const char c : axes) {
      if (c != ' ' && c != ',') value.axes += c;
    }
  }
  const Value& Any() { return values_[Below(values_.size())]; }

  std::string Statement(size_t s) {
    const Value a = Any();
    const Value b = Any();
    const std::string name = fmt::format("%v{}", s);
    std::string both = a.axes;
    std::string shared;
    for (const char axis : b.axes) (both.find(axis) == std::string::npos ? both : shared) += axis;
    const size_t kind = Below(solves_ ? 13 : 12);
    if (kind == 12 && !a.axes.empty() && chosen_ < 'w') return Solved(name, a, b);
    if (kind == 10 && !a.axes.empty()) return Taken(name, a);
    if (kind == 11 && a.axes.size() == 1 && chosen_ < 'w') return Segments(name, a);
    if (kind == 9 && !a.axes.empty() && chosen_ < 'w') return Chosen(name, a);
    if (kind == 8 && !a.axes.empty()) return Pairs(name, a);
    if (kind == 0 && !shared.empty()) return Contraction(name, a, b, both, shared);
    if (kind <= 4 && !both.empty()) return Reduction(name, a, b, both);
    return Map(name, a, b, both);
  }

  std::string Map(const std::string& name, const Value& a, const Value& b,
                  const std::string& axes) {
    constexpr const char* kFormulas[] = {"{0} * 0.5 + {1}",           "tanh({0}) * {1}",
                                         "exp(-abs({0} - {1}))",      "max({0}, {1} * 0.25)",
                                         "select({0} < {1}, {0}, 1)", "sqrt(abs({0}) + 1) - {1}"};
    constexpr const char* kComplex[] = {"imag(complex({0}, {1}) * complex({1}, 0.5))",
                                        "abs(complex({0}, {1}) + 2)",
                                        "real(complex({0}, 1) / (complex(abs({1}), {0}) + 3))",
                                        "real(conj(complex({0}, {1})) - 2 * complex({1}, {0}))"};
    values_.push_back({name, axes});
    const bool complex = complex_ && Below(4) == 0;
    const char* const formula =
        complex ? kComplex[Below(std::size(kComplex))] : kFormulas[Below(std::size(kFormulas))];
    return fmt::format("  {} = {}\n", name, fmt::format(fmt::runtime(formula), a.name, b.name));
  }

  // All pairs of the elements of a value: it is read along its axis at another index.
  std::string Pairs(const std::string& name, const Value& a) {
    const char axis = a.axes[Below(a.axes.size())];
    values_.push_back({name, a.axes});
    return fmt::format("  {0} = {1} - mean<{2}{2}>(tanh({1}) * rename<{2}->{2}{2}>({1}))\n", name,
                       a.name, axis);
  }

  // The largest elements along an axis, along a new one.
  std::string Chosen(const std::string& name, const Value& a) {
    const char axis = a.axes[Below(a.axes.size())];
    const char made = chosen_++;
    extents_[made] = 1 + Below(std::min<size_t>(extents_[axis], 9));
    std::string axes;
    for (const char c : a.axes) axes += c == axis ? "" : std::string(1, c);
    values_.push_back({name, axes + made});
    return fmt::format("  {0}, {0}_at = topk<{1}>({2} - 0.5, {3}:{4})\n", name, axis, a.name, made,
                       extents_[made]);
  }

  // Elements along an axis at indices that are made of the index of another one.
  std::string Taken(const std::string& name, const Value& a) {
    const char from = a.axes[Below(a.axes.size())];
    const char to = kAxes[Below(std::size(kAxes))];
    std::string axes;
    for (const char c : a.axes) axes += c == from ? "" : std::string(1, c);
    if (from == to) return Map(name, a, a, a.axes);
    // The axes of the indices that the source has not stand in place of the one that is gone.
    const size_t at = a.axes.find(from);
    if (axes.find(to) == std::string::npos) axes.insert(at, 1, to);
    values_.push_back({name, axes});
    return fmt::format("  {0} = gather<{1}>({2}, iota<{3}> * 7 % {4} - 1)\n", name, from, a.name,
                       to, extents_[from] + 1);
  }

  std::string Segments(const std::string& name, const Value& a) {
    const char made = chosen_++;
    extents_[made] = 1 + Below(12);
    values_.push_back({name, std::string(1, made)});
    return fmt::format("  {0} = segment_sum<{1}->{2}:{3}>({4}, iota<{1}> * 5 % {5})\n", name,
                       a.axes, made, extents_[made], a.name, extents_[made] + 1);
  }

  // A solution with the factor of a positive definite matrix along an axis; or the factor itself.
  std::string Solved(const std::string& name, const Value& a, const Value& b) {
    const char axis = a.axes[Below(a.axes.size())];
    const char made = chosen_++;
    extents_[made] = extents_[axis];
    std::string rest;
    for (const char c : a.axes) {
      if (c != axis) rest += fmt::format("{}{}", rest.empty() ? "" : ", ", c);
    }
    const std::string half = fmt::format("tanh({})", a.name);
    const std::string other = fmt::format("rename<{}->{}>({})", axis, made, half);
    const std::string square = rest.empty() ? fmt::format("{} * {}", half, other)
                                            : fmt::format("dot<{}>({}, {})", rest, half, other);
    const std::string factor =
        fmt::format("cholesky<{0}, {1}>({2} + select(iota<{0}> == iota<{1}>, cast<f32>(1.5), 0))",
                    axis, made, square);
    const size_t at = b.axes.find(axis);
    if (at == std::string::npos || b.axes.find(made) != std::string::npos) {
      values_.push_back({name, std::string{axis, made}});
      return fmt::format("  {} = {}\n", name, factor);
    }
    std::string axes = b.axes;
    axes[at] = made;
    values_.push_back({name, axes});
    // With the factor or with its transpose.
    if (Below(2) == 0) {
      return fmt::format("  {} = triangular_solve<{}, {}>({}, {})\n", name, axis, made, factor,
                         b.name);
    }
    return fmt::format(
        "  {0} = rename<{1}->{2}>(triangular_solve<{2}, {1}>({3}, rename<{1}->{2}>({4})) upper)\n",
        name, axis, made, factor, b.name);
  }

  // A last value with the axes of %a, which takes its memory.
  std::string InPlace() {
    const Value b = Any();
    std::string reduced;
    for (const char c : b.axes) {
      if (c != 'i' && c != 'd') reduced += fmt::format("{}{}", reduced.empty() ? "" : ", ", c);
    }
    const std::string other =
        reduced.empty() ? b.name : fmt::format("sum<{}>({})", reduced, b.name);
    return fmt::format("  %over = %a * 0.25 + {}\n", other);
  }

  std::string Contraction(const std::string& name, const Value& a, const Value& b,
                          const std::string& both, const std::string& shared) {
    constexpr const char* kWords[] = {"dot", "sqdist", "l1dist"};
    const char axis = shared[Below(shared.size())];
    std::string rest;
    for (const char c : both) rest += c == axis ? "" : std::string(1, c);
    values_.push_back({name, rest});
    if (complex_ && Below(4) == 0) {
      return fmt::format(
          "  {0} = {1}(dot<{2}>(complex(tanh({3}), {3} * 0.5), conj(complex({4}, tanh({4})))))\n",
          name, Below(2) == 0 ? "real" : "imag", axis, a.name, b.name);
    }
    return fmt::format("  {} = {}<{}>(tanh({}), tanh({}))\n", name, kWords[Below(3)], axis, a.name,
                       b.name);
  }

  std::string Reduction(const std::string& name, const Value& a, const Value& b,
                        const std::string& both) {
    constexpr const char* kWords[] = {"sum", "max", "min", "logsumexp", "mean", "var"};
    std::string reduced;
    std::string rest;
    for (const char c : both) (Below(2) == 0 ? reduced : rest) += c;
    if (reduced.empty()) std::swap(reduced, rest);
    values_.push_back({name, rest});
    std::string list;
    for (const char c : reduced) list += fmt::format("{}{}", list.empty() ? "" : ", ", c);
    const bool scored = a.axes.find_first_of(reduced) != std::string::npos && Below(4) == 0;
    bool all = scored;
    for (const char c : reduced) {
      all = all && a.axes.find(c) != std::string::npos && b.axes.find(c) != std::string::npos;
    }
    if (all) return fmt::format("  {} = softmax<{}>({}, {})\n", name, list, a.name, b.name);
    return fmt::format("  {} = {}<{}>({} * 0.5 - {})\n", name, kWords[Below(6)], list, a.name,
                       b.name);
  }

  std::mt19937_64 engine_;
  std::vector<Value> values_;
  std::map<char, size_t> extents_;
  char chosen_ = 'p';  // the name of the next axis of chosen elements
  bool solves_ = false;
  bool complex_ = false;
};

}  // namespace tarsia::reduce_test

#endif  // TARSIA_TESTS_REDUCE_RANDOM_GRAPH_H_
