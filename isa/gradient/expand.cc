#include "isa/gradient/expand.h"

#include <algorithm>
#include <optional>

#include "isa/gradient/products.h"
#include "isa/gradient/reverse.h"
#include "isa/graph/diagnostics.h"
#include "isa/rewrite/rewriting.h"

namespace tarsia {
namespace {

using gradient::Products;
using gradient::Reverse;
using gradient::ReverseError;
using rewrite::Rewriting;
using rewrite::ValueId;

class Expansion : private Rewriting {
 public:
  Expansion(const ConcreteGraph& graph, const GradientOptions& options, Diagnostics& diagnostics)
      : Rewriting(graph), options_(options), diagnostics_(diagnostics) {}

  std::optional<ConcreteGraph> Run() {
    bool ok = true;
    for (const GraphNode& node : concrete().graph().nodes) {
      Begin(node);
      if (!IsDerivative(node.op)) {
        Copy(node);
      } else {
        ok = Differentiate(node) && ok;
      }
    }
    if (!ok) return std::nullopt;
    return Finish(diagnostics_);
  }

 private:
  bool Differentiate(const GraphNode& node) {
    const auto operands = concrete().graph().Operands(node);
    const ValueId y = of(operands[0].value());
    const ValueId x = of(operands[1].value());
    std::optional<ValueId> dy;
    if (node.op == GraphOp::kVjp) dy = of(operands[2].value());
    Reverse reverse(draft(), {node.option, options_.fast});
    const auto derivative = reverse.Run(y, x, dy);
    if (!derivative) return Report(node, reverse.error());
    const DType type = concrete().value(node.first_result).dtype;
    Products products(draft(), gradient::DerivativeType(type), node.option);
    const ValueId result = products.ValueOf(*derivative);
    Replace(node.first_result,
            draft().Cast(draft().Broadcast(result, draft().value(x).axes), type));
    return true;
  }

  bool Report(const GraphNode& node, const ReverseError& error) {
    const Graph& graph = concrete().graph();
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

  const GradientOptions options_;
  Diagnostics& diagnostics_;
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
