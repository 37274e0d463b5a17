// Instructions that change the shape, and no element. Their elements stay in place where the
// layouts allow it.
#include <cstddef>

#include "compiler/rules/family.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

std::optional<TileLayout> Taken(Result<TileLayout> layout) {
  if (!layout.ok()) return std::nullopt;
  return *std::move(layout);
}

// A `broadcast` takes its operand where the result is, and so does `convert_layout`.
std::optional<Port> WhereItWorks(const RuleOp& op) {
  const bool at_result = op.opcode == Opcode::kBroadcast || op.opcode == Opcode::kConvertLayout;
  return at_result ? Port::Result(0) : Port::Operand(0);
}

std::optional<TileLayout> SourceOfBroadcast(const RuleOp& op, const TileLayout& result) {
  std::vector<int64_t> axes;
  const Extents& from = op.operand[0]->shape;
  const Extents& to = op.result[0]->shape;
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != to[d]) axes.push_back(static_cast<int64_t>(d));
  }
  return Taken(ReducedLayout(result, axes, true));
}

std::optional<TileLayout> Moved(const RuleOp& op, Port /*port*/, const TileLayout& anchor) {
  if (op.opcode == Opcode::kBroadcast) return SourceOfBroadcast(op, anchor);
  if (op.opcode == Opcode::kConvertLayout) return WithShapeOf(*op.operand[0], anchor);
  if (op.opcode == Opcode::kPermute) return Taken(PermutedLayout(anchor, op.axes));
  return ReshapedLayout(anchor, op.result[0]->shape);
}

std::optional<TileLayout> MovedBack(const RuleOp& op, Port /*port*/, const TileLayout& layout) {
  if (op.opcode == Opcode::kBroadcast) return std::nullopt;
  if (op.opcode == Opcode::kConvertLayout) return WithShapeOf(*op.result[0], layout);
  if (op.opcode == Opcode::kPermute) {
    std::vector<int64_t> inverse(op.axes.size());
    for (size_t d = 0; d < op.axes.size(); ++d) {
      inverse[Size(op.axes[d])] = static_cast<int64_t>(d);
    }
    return Taken(PermutedLayout(layout, inverse));
  }
  return ReshapedLayout(layout, op.operand[0]->shape);
}

}  // namespace

FamilyRules ShapeRules() { return {&WhereItWorks, &Moved, &MovedBack}; }

}  // namespace tarsia::compiler
