// What a graph means, in f64, as plainly as possible; and how far from it a correct computation in
// the types of the graph may be. It knows graphs, and nothing of the planner.
//
// Beside each element it keeps a bound of the error: operations are rounded once (elementary
// functions to a few units in the last place), sums of K elements as verification asks,
// (4 sqrt(K) + 8) eps sum |x|, and errors of operands go through each operation by its derivative
// or by its values at the ends of the interval.
#ifndef TARSIA_TESTS_REDUCE_REFERENCE_H_
#define TARSIA_TESTS_REDUCE_REFERENCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isa/graph/specialise.h"

namespace tarsia::reduce_test {

// How many numbers an element of a type is: two of a complex one, its parts.
inline int64_t NumbersOf(DType type) { return type.IsComplex() ? 2 : 1; }

// A tensor: element by element, the last axis contiguous, an element of a complex one as its parts.
struct Reference {
  std::vector<uint32_t> axes;
  std::vector<double> value;
  std::vector<double> error;
};

class ReferenceGraph {
 public:
  // `inputs`: by value number, in the order of the axes of the input; exact in its type.
  ReferenceGraph(const ConcreteGraph& graph, const std::vector<std::vector<double>>& inputs);
  [[nodiscard]] const Reference& value(uint32_t v) const { return values_[v]; }

 private:
  using Index = std::map<uint32_t, int64_t>;  // by axis
  void Compute(const GraphNode& node);
  void Random(const GraphNode& node);
  void Gather(const GraphNode& node);
  void AddSegments(const GraphNode& node);
  void ComplexParts(const GraphNode& node);
  void Elementwise(const GraphNode& node);
  void Shape(const GraphNode& node);
  void Reduce(const GraphNode& node);
  void ChooseAt(const GraphNode& node, const Index& at);
  void ReduceAt(const GraphNode& node, const Index& at, size_t element);
  void Solve(const GraphNode& node);
  void FactorAt(const GraphNode& node, Index at, Reference* out) const;
  void SolveAt(const GraphNode& node, Index at, Reference* out) const;
  [[nodiscard]] Reference Empty(uint32_t v) const;
  [[nodiscard]] size_t At(const std::vector<uint32_t>& axes, const Index& index) const;
  // Calls `use` with each index of the axes.
  template <typename Use>
  void ForEach(const std::vector<uint32_t>& axes, Index index, const Use& use) const;
  struct Element {
    double value = 0;
    double error = 0;
  };
  [[nodiscard]] Element Operand(const GraphNode& node, size_t i, const Index& index) const;
  static Element Quantised(double x, double error, DType type);
  [[nodiscard]] Element Rounded(Element element, DType type, double ulps) const;
  [[nodiscard]] Element Apply(GraphOp op, const std::vector<Element>& x, DType type) const;

  const ConcreteGraph& graph_;
  std::vector<Reference> values_;
};

// The unit in the last place of 1: 2^-23 of f32; 0 of integers.
double EpsilonOf(DType type);

}  // namespace tarsia::reduce_test

#endif  // TARSIA_TESTS_REDUCE_REFERENCE_H_
