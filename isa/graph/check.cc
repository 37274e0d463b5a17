#include "isa/graph/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/diagnostics.h"
#include "isa/graph/context.h"
#include "isa/graph/node_axes.h"
#include "isa/graph/node_types.h"

namespace tarsia {
namespace {

class GraphHeader {
 public:
  explicit GraphHeader(GraphContext& context) : context_(context) {}

  void Check() {
    const Graph& graph = context_.graph();
    for (size_t i = 0; i < graph.constants.size(); ++i) CheckConstant(i);
    for (const Require& require : graph.requires_) {
      context_.ExpectKind(require.condition, ExprType::kBool, "a requirement", require.location);
    }
    for (uint32_t i = 0; i < graph.inputs.size(); ++i) CheckInput(i);
  }

 private:
  void CheckConstant(size_t index) {
    const std::vector<Constant>& constants = context_.graph().constants;
    const Constant& constant = constants[index];
    const std::string_view name = context_.pool().strings()[constant.name];
    const auto same = [&](const Constant& other) { return other.name == constant.name; };
    const auto self = constants.begin() + static_cast<std::ptrdiff_t>(index);
    if (std::any_of(constants.begin(), self, same)) {
      context_.Error(diag::kRedefinition, constant.location, "constant", name);
      return;
    }
    const ExprType kind = ExprTypeOf(constant.kind);
    if (!constant.default_value.none()) {
      context_.ExpectKind(constant.default_value, kind,
                          fmt::format("the default of constant `{}`", name),
                          constant.DefaultLocation());
    }
    for (const ExprId candidate : context_.pool().children(constant.candidates)) {
      context_.ExpectKind(candidate, kind, fmt::format("a candidate of constant `{}`", name),
                          constant.location);
    }
    // Only from here on, because a default may use only earlier constants.
    context_.AddConstant(constant);
  }

  void CheckInput(uint32_t index) {
    const GraphInput& input = context_.graph().inputs[index];
    GraphType type;
    type.known =
        context_.ExpectKind(input.dtype, ExprType::kDType, "the type of an input", input.location);
    type.dtype = context_.Fold(input.dtype);
    for (const AxisExpr& written : context_.graph().Axes(input.axes)) {
      const auto axis = context_.Resolve(written);
      if (!axis) {
        type.known = false;
      } else if (std::find(type.axes.begin(), type.axes.end(), *axis) != type.axes.end()) {
        context_.Error(diag::kGraphAxisTwice, written.location, context_.AxisName(*axis),
                       fmt::format("`%{}`", context_.graph().ValueName(index)));
        type.known = false;
      } else {
        type.axes.push_back(*axis);
      }
    }
    context_.SetType(index, std::move(type));
  }

  GraphContext& context_;
};

class GraphBody {
 public:
  explicit GraphBody(GraphContext& context) : context_(context) {}

  void Check() {
    const Graph& graph = context_.graph();
    for (uint32_t i = 0; i < graph.inputs.size(); ++i) CheckSize(i, graph.inputs[i].location);
    for (const GraphNode& node : graph.nodes) CheckNode(node);
  }

 private:
  void CheckNode(const GraphNode& node) {
    const auto operands = context_.graph().Operands(node);
    const bool known = std::all_of(operands.begin(), operands.end(), [&](ExprId id) {
      return !id.is_value() || context_.type(id.value()).known;
    });
    if (!known || !types_.CheckForms(node)) return DeclareAxes(node);
    const auto dtype = types_.Of(node);
    const auto axes = axes_.Of(node);
    if (!dtype || !axes || (IsDerivative(node.op) && !CheckGradient(node))) return;
    const GraphRow& row = Row(node.op);
    for (uint32_t i = 0; i < row.results(); ++i) {
      const ExprId own = i == 0 ? *dtype : context_.pool().Type(kI64);
      context_.SetType(node.first_result + i, {true, own, *axes});
      CheckSize(node.first_result + i, node.location);
    }
  }

  // After an error in an operand: new axes with extents exist all the same.
  void DeclareAxes(const GraphNode& node) {
    for (const AxisExpr& axis : context_.graph().Axes(node.axes)) {
      if (!axis.extent.none()) context_.Resolve(axis);
    }
  }

  static bool FitsInBytes(int64_t elements, DType dtype) {
    return static_cast<uint64_t>(elements) <= kMaxGraphBytes * 8 / dtype.bits;
  }

  void CheckSize(uint32_t value, Location location) {
    std::vector<int64_t> extents;
    for (const uint32_t axis : context_.type(value).axes) {
      extents.push_back(context_.Extent(axis).value_or(1));
    }
    const auto elements = CountElements(extents);
    const auto dtype = context_.pool().AsDType(context_.type(value).dtype);
    const bool fits = elements && (!dtype || FitsInBytes(*elements, *dtype));
    if (!context_.closed() || fits) return;
    const std::string what = context_.graph().HasName(value)
                                 ? fmt::format("`%{}`", context_.graph().ValueName(value))
                                 : "this value";
    context_.Error(diag::kGraphTooLarge, location, what);
    GraphType type = context_.type(value);
    type.known = false;
    context_.SetType(value, std::move(type));
  }

  bool CheckGradient(const GraphNode& node) {
    const Graph& graph = context_.graph();
    const uint32_t y = graph.Operands(node)[0].value();
    const uint32_t x = graph.Operands(node)[1].value();
    const AxisList& axes = context_.type(y).axes;
    if (node.op == GraphOp::kGrad && !axes.empty()) {
      context_.Error(diag::kGraphGradient, graph.OperandLocation(node, 0), graph.ValueName(y),
                     context_.Text(axes));
      return false;
    }
    if (node.op == GraphOp::kVjp && !CheckCotangent(node, y)) return false;
    if (DependsOn(y, x)) return true;
    context_.Error(diag::kGraphUnrelated, graph.OperandLocation(node, 1), graph.ValueName(y),
                   graph.ValueName(x));
    return false;
  }

  bool CheckCotangent(const GraphNode& node, uint32_t y) {
    const Graph& graph = context_.graph();
    const uint32_t dy = graph.Operands(node)[2].value();
    const AxisList& axes = context_.type(y).axes;
    for (const uint32_t axis : context_.type(dy).axes) {
      if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
      context_.Error(diag::kGraphCotangent, graph.OperandLocation(node, 2), graph.ValueName(y),
                     context_.Text(axes), graph.ValueName(dy),
                     context_.Text(context_.type(dy).axes));
      return false;
    }
    return true;
  }

  // Values are numbered in the order of their definition, so one pass over the nodes suffices.
  bool DependsOn(uint32_t y, uint32_t x) const {
    const Graph& graph = context_.graph();
    std::vector<bool> depends(graph.value_names.size(), false);
    depends[x] = true;
    for (const GraphNode& node : graph.nodes) {
      const auto operands = graph.Operands(node);
      const bool any = std::any_of(operands.begin(), operands.end(),
                                   [&](ExprId id) { return id.is_value() && depends[id.value()]; });
      for (uint32_t i = 0; any && i < Row(node.op).results(); ++i) {
        depends[node.first_result + i] = true;
      }
    }
    return depends[y];
  }

  GraphContext& context_;
  NodeTypes types_{context_};
  NodeAxes axes_{context_};
};

class GraphOutputs {
 public:
  explicit GraphOutputs(GraphContext& context) : context_(context) {}

  void Check() {
    const Graph& graph = context_.graph();
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      const auto begin = graph.outputs.begin();
      if (std::find(begin, begin + static_cast<std::ptrdiff_t>(i), graph.outputs[i]) !=
          begin + static_cast<std::ptrdiff_t>(i)) {
        context_.Error(diag::kGraphOutputTwice, graph.OutputLocation(i),
                       graph.ValueName(graph.outputs[i]));
      }
    }
    if (graph.output_types.empty()) return;
    if (graph.output_types.size() != graph.outputs.size()) {
      const size_t n = graph.output_types.size();
      context_.Error(diag::kGraphOutputCount, graph.return_location,
                     fmt::format("{} output{}", n, n == 1 ? "" : "s"), graph.outputs.size());
    }
    for (size_t i = 0; i < graph.output_types.size(); ++i) CheckType(i);
  }

 private:
  void CheckType(size_t i) {
    const Graph& graph = context_.graph();
    const GraphOutputType& type = graph.output_types[i];
    const bool is_type =
        context_.ExpectKind(type.dtype, ExprType::kDType, "the type of an output", type.location);
    AxisList axes;
    bool ok = is_type;
    for (const AxisExpr& written : graph.Axes(type.axes)) {
      const auto axis = context_.Resolve(written);
      ok = axis && ok;
      if (!axis) continue;
      if (std::find(axes.begin(), axes.end(), *axis) != axes.end()) {
        context_.Error(diag::kGraphAxisTwice, written.location, context_.AxisName(*axis),
                       "the output");
        ok = false;
      }
      axes.push_back(*axis);
    }
    if (!ok) return;
    if (type.in_place != GraphOutputType::kNotInPlace) CheckInPlace(i, axes);
    if (i < graph.outputs.size() && context_.type(graph.outputs[i]).known) CheckValue(i, axes);
  }

  void CheckValue(size_t i, const AxisList& axes) {
    const Graph& graph = context_.graph();
    const GraphOutputType& type = graph.output_types[i];
    const GraphType& value = context_.type(graph.outputs[i]);
    const std::string_view name = graph.ValueName(graph.outputs[i]);
    AxisList wanted = axes;
    AxisList found = value.axes;
    std::sort(wanted.begin(), wanted.end());
    std::sort(found.begin(), found.end());
    if (wanted != found) {
      Diagnostic& error = context_.Error(diag::kGraphOutputAxes, type.location, context_.Text(axes),
                                         name, context_.Text(value.axes));
      error.help = wanted.size() > found.size() ? "`broadcast<i:n>` gives a value an axis"
                                                : "`sum<i>` and other reducers remove an axis";
      GraphContext::AddNote(error, graph.OutputLocation(i), "it is returned here");
    }
    const auto declared = context_.pool().AsDType(context_.Fold(type.dtype));
    const auto own = context_.pool().AsDType(value.dtype);
    if (!declared || !own || *declared == *own) return;
    context_.Error(diag::kGraphOutputType, type.location, DTypeName(*declared), name,
                   DTypeName(*own));
  }

  void CheckInPlace(size_t i, const AxisList& axes) {
    const Graph& graph = context_.graph();
    const GraphOutputType& type = graph.output_types[i];
    const GraphType& input = context_.type(type.in_place);
    if (!input.known) return;
    const auto refuse = [&](std::string_view why) {
      context_.Error(diag::kGraphInPlace, type.location, graph.ValueName(type.in_place), why);
    };
    for (size_t j = 0; j < i; ++j) {
      if (graph.output_types[j].in_place == type.in_place) return refuse("another output is in it");
    }
    if (input.axes != axes) return refuse("its axes are " + context_.Text(input.axes));
    const auto declared = context_.pool().AsDType(context_.Fold(type.dtype));
    const auto own = context_.pool().AsDType(input.dtype);
    if (declared && own && *declared != *own) {
      refuse(fmt::format("its type is {}", DTypeName(*own)));
    }
  }

  GraphContext& context_;
};

}  // namespace

GraphFacts CheckGraph(Module& module, const Graph& graph, const std::vector<ConstantValue>* values,
                      Diagnostics& diagnostics) {
  GraphContext context(module, graph, values, diagnostics);
  GraphHeader(context).Check();
  GraphBody(context).Check();
  GraphOutputs(context).Check();
  return context.TakeFacts();
}

std::optional<int64_t> CountElements(std::span<const int64_t> extents) {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return 0;
  int64_t count = 1;
  for (const int64_t extent : extents) {
    if (count > kMaxGraphElements / extent) return std::nullopt;
    count *= extent;
  }
  return count;
}

}  // namespace tarsia
