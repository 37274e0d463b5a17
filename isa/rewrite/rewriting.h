// A graph that is made anew node by node. Internal to isa/.
#ifndef TARSIA_ISA_REWRITE_REWRITING_H_
#define TARSIA_ISA_REWRITE_REWRITING_H_

#include <optional>
#include <vector>

#include "isa/graph/specialise.h"
#include "isa/rewrite/draft.h"
#include "support/diagnostic.h"

namespace tarsia::rewrite {

class Rewriting {
 public:
  explicit Rewriting(const ConcreteGraph& graph);

 protected:
  // Before anything is made for a node of the graph.
  void Begin(const GraphNode& node);
  // A node as it is.
  void Copy(const GraphNode& node);
  // An operand in the draft.
  [[nodiscard]] ExprId OperandOf(ExprId operand) const;
  // From now on `made` stands for the value, and has its name if it has none.
  void Replace(uint32_t v, ValueId made);
  // The graph of what stands for the outputs.
  std::optional<ConcreteGraph> Finish(Diagnostics& diagnostics);

  [[nodiscard]] const ConcreteGraph& concrete() const { return concrete_; }
  [[nodiscard]] Draft& draft() { return draft_; }
  // What stands for a value of the graph.
  [[nodiscard]] ValueId of(uint32_t v) const { return value_of_[v]; }
  [[nodiscard]] bool IsOutput(uint32_t v) const;

 private:
  const ConcreteGraph& concrete_;
  Draft draft_;
  std::vector<ValueId> value_of_;  // by value of the graph
};

}  // namespace tarsia::rewrite

#endif  // TARSIA_ISA_REWRITE_REWRITING_H_
