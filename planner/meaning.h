// What a graph means to the planner: which of its nodes reduce, along which axes and in which type,
// what depends on what. A node that is no input may be *virtual*: it exists tile by tile within the
// kernel that needs it, as often as it is needed.
#ifndef TARSIA_PLANNER_MEANING_H_
#define TARSIA_PLANNER_MEANING_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isa/graph/specialise.h"
#include "planner/reducer.h"
#include "planner/solve.h"
#include "support/diagnostic.h"
#include "support/inline_vector.h"

namespace tarsia {

class Meaning {
 public:
  // Errors: an operation or a type that this version does not plan; `diagnostics` names each.
  // `fast` as in PlanOptions.
  static std::optional<Meaning> Make(const ConcreteGraph& graph, bool fast,
                                     Diagnostics& diagnostics);

  [[nodiscard]] const ConcreteGraph& concrete() const { return *graph_; }
  [[nodiscard]] const Graph& graph() const { return graph_->graph(); }
  [[nodiscard]] const ConcreteValue& value(uint32_t v) const { return graph_->value(v); }
  [[nodiscard]] const ConcreteAxis& axis(uint32_t a) const { return graph_->axes()[a]; }
  [[nodiscard]] bool HasAxis(uint32_t v, uint32_t axis) const {
    const auto& axes = value(v).axes;
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  }
  [[nodiscard]] bool IsInput(uint32_t v) const { return v < graph().inputs.size(); }
  [[nodiscard]] bool IsOutput(uint32_t v) const;
  // The axes of a value in memory: the order of the output for an output.
  [[nodiscard]] const std::vector<uint32_t>& MemoryAxes(uint32_t v) const;

  // The number of the node that computes a value; it is no input.
  [[nodiscard]] size_t NodeOf(uint32_t v) const { return node_of_[v]; }
  [[nodiscard]] const GraphNode& node(size_t n) const { return graph().nodes[n]; }
  // The values that a node reads.
  [[nodiscard]] const std::vector<uint32_t>& ReadsOf(size_t n) const { return reads_[n]; }
  // The axes of its operands that a node reads at the index of another axis.
  [[nodiscard]] InlineVector<uint32_t, 4> MovedBy(size_t n) const;
  // The reduction of a node; null if it computes element by element.
  [[nodiscard]] const Reduction* ReductionOf(size_t n) const {
    return reductions_[n] ? &*reductions_[n] : nullptr;
  }
  // What a node solves; null if it solves nothing.
  [[nodiscard]] const Solve* SolveOf(size_t n) const { return solves_[n] ? &*solves_[n] : nullptr; }
  // Whether an axis has the elements that `topk` chooses: it is in tiles as a whole.
  [[nodiscard]] bool IsChosen(uint32_t axis) const;
  // The input that a value is under other names of its axes; none if it is something else.
  [[nodiscard]] std::optional<uint32_t> RenamedInput(uint32_t v) const;
  // Whether a node reads the value.
  [[nodiscard]] bool IsRead(uint32_t v) const { return is_read_[v]; }
  // Whether value `v` needs the result of node `n`.
  [[nodiscard]] bool Needs(uint32_t v, size_t n) const { return needs_[v][n]; }

  // The name of a value in kernels and certificates: its own, or "t" and its number.
  [[nodiscard]] std::string NameOf(uint32_t v) const;

 private:
  explicit Meaning(const ConcreteGraph& graph) : graph_(&graph) {}
  void CountUses();
  void Read(size_t n);
  [[nodiscard]] bool IsSumOfDots(size_t n) const;
  void JoinDots(size_t n);
  bool Check(Diagnostics& diagnostics) const;

  const ConcreteGraph* graph_;
  std::vector<size_t> node_of_;                       // by value; of inputs unused
  std::vector<size_t> uses_;                          // by value
  std::vector<std::vector<uint32_t>> reads_;          // by node
  std::vector<bool> is_read_;                         // by value
  std::vector<std::optional<Reduction>> reductions_;  // by node
  std::vector<std::optional<Solve>> solves_;          // by node
  std::vector<std::vector<bool>> needs_;              // by value, by node
};

}  // namespace tarsia

#endif  // TARSIA_PLANNER_MEANING_H_
