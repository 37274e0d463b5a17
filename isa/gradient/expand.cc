#include "isa/gradient/expand.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "isa/gradient/draft.h"
#include "isa/gradient/reverse.h"
#include "isa/gradient/write_draft.h"
#include "isa/graph/diagnostics.h"

namespace tarsia {
namespace {

using gradient::Axes;
using gradient::Draft;
using gradient::DraftNode;
using gradient::DraftValue;
using gradient::Products;
using gradient::Reverse;
using gradient::ReverseError;
using gradient::ValueId;

class Expansion {
 public:
  Expansion(const ConcreteGraph& graph, const GradientOptions& options, Diagnostics& diagnostics)
      : concrete_(graph), options_(options), diagnostics_(diagnostics), draft_(graph) {
    for (ValueId v = 0; v < graph.graph().inputs.size(); ++v) value_of_.push_back(v);
  }

  std::optional<ConcreteGraph> Run() {
    const Graph& graph = concrete_.graph();
    bool ok = true;
    for (const GraphNode& node : graph.nodes) {
      draft_.SetLocation(node.location);
      value_of_.resize(node.first_result + Row(node.op).results());
      if (!IsDerivative(node.op)) {
        Copy(node);
      } else {
        ok = Differentiate(node) && ok;
      }
    }
    if (!ok) return std::nullopt;
    std::vector<ValueId> outputs;
    for (const uint32_t output : graph.outputs) outputs.push_back(value_of_[output]);
    return MakeConcrete(WriteDraft(std::move(draft_), concrete_, outputs), concrete_.constants(),
                        diagnostics_);
  }

 private:
  void Copy(const GraphNode& node) {
    DraftNode copy;
    copy.op = node.op;
    copy.option = node.option;
    copy.location = node.location;
    for (const ExprId operand : concrete_.graph().Operands(node)) {
      copy.operands.push_back(operand.is_value() ? ExprId::Value(value_of_[operand.value()])
                                                 : operand);
    }
    for (const AxisExpr& axis : concrete_.graph().Axes(node.axes)) {
      copy.axes.push_back(concrete_.AxisOf(axis));
    }
    if (Row(node.op).axes == AxesForm::kType) copy.dtype = concrete_.value(node.first_result).dtype;
    std::vector<DraftValue> results;
    for (uint32_t i = 0; i < Row(node.op).results(); ++i) {
      const ConcreteValue& value = concrete_.value(node.first_result + i);
      DraftValue& result = results.emplace_back();
      result.dtype = value.dtype;
      result.axes = value.axes;
      result.name = concrete_.graph().value_name_ids[node.first_result + i];
    }
    const ValueId first = draft_.AddWritten(std::move(copy), results);
    for (uint32_t i = 0; i < results.size(); ++i) value_of_[node.first_result + i] = first + i;
  }

  bool Differentiate(const GraphNode& node) {
    const auto operands = concrete_.graph().Operands(node);
    const ValueId y = value_of_[operands[0].value()];
    const ValueId x = value_of_[operands[1].value()];
    std::optional<ValueId> dy;
    if (node.op == GraphOp::kVjp) dy = value_of_[operands[2].value()];
    Reverse reverse(draft_, {node.option, options_.fast});
    const auto derivative = reverse.Run(y, x, dy);
    if (!derivative) return Report(node, reverse.error());
    const DType type = concrete_.value(node.first_result).dtype;
    Products products(draft_, gradient::DerivativeType(type), node.option);
    ValueId result = products.ValueOf(*derivative);
    result = draft_.Cast(draft_.Broadcast(result, draft_.value(x).axes), type);
    const auto& outputs = concrete_.graph().outputs;
    const bool output =
        std::find(outputs.begin(), outputs.end(), node.first_result) != outputs.end();
    const DraftNode* const made = draft_.NodeOf(result);
    const bool named = made == nullptr || draft_.value(result).name != Graph::kNoName;
    if (named && output) result = draft_.Copy(result);
    if (!named || output) {
      draft_.SetName(result, concrete_.graph().value_name_ids[node.first_result]);
    }
    value_of_[node.first_result] = result;
    return true;
  }

  bool Report(const GraphNode& node, const ReverseError& error) {
    const Graph& graph = concrete_.graph();
    const auto operands = graph.Operands(node);
    const std::string_view y = graph.ValueName(operands[0].value());
    const std::string_view x = graph.ValueName(operands[1].value());
    if (error.kind == ReverseError::Kind::kFlat) {
      diagnostics_.Error(diag::kGraphFlat, graph.OperandLocation(node, 1), y, x);
      return false;
    }
    Diagnostic& found =
        diagnostics_.Error(diag::kGraphNoDerivative, node.location, Row(error.op).word, y, x);
    if (error.location.IsText()) found.notes.push_back({error.location, "it is here"});
    return false;
  }

  const ConcreteGraph& concrete_;
  const GradientOptions options_;
  Diagnostics& diagnostics_;
  Draft draft_;
  std::vector<ValueId> value_of_;  // by value of the graph
};

}  // namespace

std::optional<ConcreteGraph> ExpandGradients(const ConcreteGraph& graph,
                                             const GradientOptions& options,
                                             Diagnostics& diagnostics) {
  const auto& nodes = graph.graph().nodes;
  const bool any = std::any_of(nodes.begin(), nodes.end(),
                               [](const GraphNode& node) { return IsDerivative(node.op); });
  if (!any) return graph;
  return Expansion(graph, options, diagnostics).Run();
}

}  // namespace tarsia
