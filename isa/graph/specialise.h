// Makes a graph concrete: binds its constants, checks its requirements, and gives every axis its
// extent and every value its element type. A planner starts here.
#ifndef TARSIA_ISA_GRAPH_SPECIALISE_H_
#define TARSIA_ISA_GRAPH_SPECIALISE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "isa/graph/graph.h"
#include "isa/module.h"
#include "isa/program.h"
#include "isa/specialise.h"
#include "isa/validate.h"
#include "support/diagnostic.h"

namespace tarsia {

struct GraphFacts;

struct ConcreteAxis {
  std::string_view name;
  int64_t extent = 0;  // 0 to 2^40
};

struct ConcreteValue {
  DType dtype;
  std::vector<uint32_t> axes;  // indices of ConcreteGraph::axes, in order; each at most once
  int64_t elements = 1;        // product of the extents, at most 2^62
};

// Immutable and safe to share between threads.
class ConcreteGraph {
 public:
  [[nodiscard]] const Module& module() const { return *module_; }
  // The graph with its constants replaced: operands that are no values are numbers, and types are
  // types. Each axis has its extent, a number, where inputs and then nodes name it first, and
  // nowhere else. No requirements are left; the constants are in constants().
  [[nodiscard]] const Graph& graph() const { return module_->graphs[0]; }
  [[nodiscard]] const ExprPool& pool() const { return module_->pool; }
  [[nodiscard]] std::string_view name() const { return module_->Name(graph()); }
  // In the order of their first appearance. Two axes are different even if their extents are equal.
  [[nodiscard]] const std::vector<ConcreteAxis>& axes() const { return axes_; }
  // By value number of graph().
  [[nodiscard]] const ConcreteValue& value(uint32_t value) const { return values_[value]; }
  [[nodiscard]] const std::vector<ConcreteValue>& values() const { return values_; }
  // The axes of output `i` in memory, the last one contiguous: as declared, else as its value's.
  [[nodiscard]] const std::vector<uint32_t>& output_axes(size_t i) const { return output_axes_[i]; }
  // The axis with the name, as written in graph().
  [[nodiscard]] uint32_t AxisOf(const AxisExpr& axis) const;
  [[nodiscard]] const std::vector<BoundConstant>& constants() const { return constants_; }

 private:
  friend class GraphSpecialiser;
  friend std::optional<ConcreteGraph> MakeConcrete(Module module,
                                                   std::vector<BoundConstant> constants,
                                                   Diagnostics& diagnostics);
  ConcreteGraph(Module module, const GraphFacts& facts, std::vector<BoundConstant> constants);
  std::shared_ptr<const Module> module_;  // of one graph
  std::vector<ConcreteAxis> axes_;        // names are views into the module
  std::vector<ConcreteValue> values_;
  std::vector<std::vector<uint32_t>> output_axes_;
  std::vector<BoundConstant> constants_;
};

// Constants without binding have their default value. Errors (an unknown graph, unknown or missing
// constants, a requirement that fails, whatever the check of the graph then finds) go to
// `diagnostics`; those of bindings as isa/specialise.h says. Empty exactly after an error.
// Thread-safe.
std::optional<ConcreteGraph> SpecialiseGraph(const ValidModule& module, std::string_view graph,
                                             const std::vector<Binding>& bindings,
                                             Diagnostics& diagnostics,
                                             Diagnostics* of_bindings = nullptr);

// Makes a module of one graph concrete that has no constants left; `constants` are those that it
// had. Empty exactly after an error: what the check of the graph finds.
std::optional<ConcreteGraph> MakeConcrete(Module module, std::vector<BoundConstant> constants,
                                          Diagnostics& diagnostics);

}  // namespace tarsia

#endif  // TARSIA_ISA_GRAPH_SPECIALISE_H_
