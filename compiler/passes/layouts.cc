#include "compiler/passes/layouts.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "compiler/passes/layout_choice.h"
#include "compiler/passes/layout_graph.h"
#include "compiler/passes/layout_writer.h"
#include "compiler/passes/shared_layouts.h"

namespace tarsia::compiler {
namespace {

// The layout of the anchor of an instruction; empty of a `dot`, and where it has none.
std::optional<TileLayout> AnchorLayout(const tile::Form& form, const LayoutGraph& graph,
                                       const LayoutOp& op) {
  const std::optional<Port> anchor = AnchorOf(op.rule);
  if (!anchor) return std::nullopt;
  const tile::Operation& operation = form.ops[op.op];
  const tile::ValueId value =
      anchor->is_result ? operation.results[anchor->index] : operation.operand[anchor->index].value;
  return graph.variables[graph.of_value[value]].written;
}

}  // namespace

void AssignLayouts(tile::Form& form, Target target) {
  const std::vector<OpenSharedTile> tiles = OpenSharedTiles(form);
  const LayoutGraph graph = MakeLayoutGraph(form);
  const LayoutChoice choice = ChooseLayouts(form, graph, target);
  DecideSharedLayouts(tiles, graph, choice, target, form);
  if (graph.variables.empty()) return;
  WriteLayouts(graph, choice, target, form);
}

std::string FindLayoutFault(const tile::Form& form) {
  const LayoutGraph graph = MakeLayoutGraph(form);
  for (tile::ValueId value = 0; value < graph.of_value.size(); ++value) {
    const uint32_t variable = graph.of_value[value];
    if (variable == tile::kNone || graph.variables[variable].written) continue;
    return fmt::format("value {} has no layout", value);
  }
  for (const LayoutTie& tie : graph.ties) {
    const LayoutOp& op = graph.ops[tie.op];
    if (op.rule.opcode == Opcode::kConvertLayout) continue;
    const auto anchor = AnchorLayout(form, graph, op);
    const auto needed = anchor ? LayoutAt(op.rule, tie.port, *anchor) : std::nullopt;
    if (!needed || needed == graph.variables[tie.tile].written) continue;
    return fmt::format("operation {} ({}) {} {} in another layout", op.op, op.rule.row().mnemonic,
                       tie.port.is_result ? "gives" : "takes", tie.port.index);
  }
  return "";
}

}  // namespace tarsia::compiler
