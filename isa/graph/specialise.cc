#include "isa/graph/specialise.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "isa/bind_constants.h"
#include "isa/graph/check.h"
#include "isa/graph/diagnostics.h"

namespace tarsia {

uint32_t ConcreteGraph::AxisOf(const AxisExpr& axis) const {
  const std::string_view name = pool().strings()[axis.name];
  const auto found = std::find_if(axes_.begin(), axes_.end(),
                                  [&](const ConcreteAxis& other) { return other.name == name; });
  return static_cast<uint32_t>(found - axes_.begin());
}

ConcreteGraph::ConcreteGraph(Module module, const GraphFacts& facts,
                             std::vector<BoundConstant> constants)
    : module_(std::make_shared<const Module>(std::move(module))), constants_(std::move(constants)) {
  for (const GraphAxis& axis : facts.axes) {
    axes_.push_back({pool().strings()[axis.name], pool().AsInt(axis.extent).value_or(0)});
  }
  for (const GraphType& type : facts.types) {
    std::vector<int64_t> extents;
    for (const uint32_t axis : type.axes) extents.push_back(axes_[axis].extent);
    values_.push_back(
        {pool().AsDType(type.dtype).value_or(kF32), type.axes, CountElements(extents).value_or(0)});
  }
  for (size_t i = 0; i < graph().outputs.size(); ++i) {
    std::vector<uint32_t> axes = value(graph().outputs[i]).axes;
    if (i < graph().output_types.size()) {
      axes.clear();
      for (const AxisExpr& axis : graph().Axes(graph().output_types[i].axes)) {
        axes.push_back(AxisOf(axis));
      }
    }
    output_axes_.push_back(std::move(axes));
  }
}

// One specialisation: a copy of one graph, made concrete.
class GraphSpecialiser {
 public:
  GraphSpecialiser(const ValidModule& valid, Diagnostics& diagnostics, Diagnostics* of_bindings)
      : valid_(valid), diagnostics_(diagnostics), of_bindings_(of_bindings) {}

  std::optional<ConcreteGraph> Run(std::string_view name, const std::vector<Binding>& bindings) {
    const size_t before = diagnostics_.count();
    const std::optional<size_t> found = valid_.FindGraph(name);
    if (!found) {
      ReportUnknown(name);
      return std::nullopt;
    }
    module_ = valid_.module().ExtractGraph(*found);
    ConstantBinder binder(module_, "graph", module_.Name(graph()), diagnostics_, of_bindings_);
    if (!binder.Bind(graph().constants, bindings)) return std::nullopt;
    binder.CheckRequirements(graph().requires_);
    if (diagnostics_.count() != before) return std::nullopt;
    std::vector<ConstantValue> values;
    for (const BoundConstant& constant : binder.constants()) {
      values.push_back({module_.pool.strings().Intern(constant.name), constant.value});
    }
    const GraphFacts facts = CheckGraph(module_, graph(), &values, diagnostics_);
    if (diagnostics_.count() != before) {
      diagnostics_.Sort();
      return std::nullopt;
    }
    Substitute(binder.folder(), facts);
    return ConcreteGraph(std::move(module_), facts, binder.TakeConstants());
  }

 private:
  Graph& graph() { return module_.graphs[0]; }

  void ReportUnknown(std::string_view name) {
    const Module& source = valid_.module();
    std::vector<std::string_view> names;
    for (const Graph& graph : source.graphs) names.push_back(source.Name(graph));
    Diagnostic& error = diagnostics_.Error(diag::kUnknownGraph, Location(), name);
    error.help = DidYouMean(name, names);
    if (error.help.empty() && !names.empty()) {
      error.help = fmt::format("the graphs are {}", fmt::join(names, ", "));
    }
  }

  void Substitute(Folder& folder, const GraphFacts& facts) {
    Graph& g = graph();
    g.constants.clear();
    g.requires_.clear();
    for (GraphInput& input : g.inputs) input.dtype = folder.Fold(input.dtype);
    for (GraphOutputType& type : g.output_types) type.dtype = folder.Fold(type.dtype);
    for (GraphNode& node : g.nodes) node.dtype = folder.Fold(node.dtype);
    for (ExprId& operand : g.operands) operand = folder.Fold(operand);
    for (AxisExpr& axis : g.axes) axis.extent = ExprId();
    std::set<StringId> done;
    const auto write = [&](IndexRange range) {
      for (uint32_t i = range.first; i < range.first + range.count; ++i) {
        AxisExpr& axis = g.axes[i];
        if (!done.insert(axis.name).second) continue;
        for (const GraphAxis& known : facts.axes) {
          if (known.name == axis.name) axis.extent = known.extent;
        }
      }
    };
    for (const GraphInput& input : g.inputs) write(input.axes);
    for (const GraphNode& node : g.nodes) write(node.axes);
  }

  const ValidModule& valid_;
  Diagnostics& diagnostics_;
  Diagnostics* const of_bindings_;
  Module module_;
};

std::optional<ConcreteGraph> SpecialiseGraph(const ValidModule& module, std::string_view graph,
                                             const std::vector<Binding>& bindings,
                                             Diagnostics& diagnostics, Diagnostics* of_bindings) {
  return GraphSpecialiser(module, diagnostics, of_bindings).Run(graph, bindings);
}

std::optional<ConcreteGraph> MakeConcrete(Module module, std::vector<BoundConstant> constants,
                                          Diagnostics& diagnostics) {
  const size_t before = diagnostics.count();
  const std::vector<ConstantValue> none;
  const GraphFacts facts = CheckGraph(module, module.graphs[0], &none, diagnostics);
  if (diagnostics.count() != before) return std::nullopt;
  return ConcreteGraph(std::move(module), facts, std::move(constants));
}

}  // namespace tarsia
