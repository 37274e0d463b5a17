// Reductions work where their operand is; their results are replicated over the threads along the
// reduced axes. Scans leave each element where it is.
#include "compiler/rules/family.h"

namespace tarsia::compiler {
namespace {

std::optional<Port> Source(const RuleOp& /*op*/) { return Port::Operand(0); }

std::optional<TileLayout> ReducedAt(const RuleOp& op, Port /*port*/, const TileLayout& anchor) {
  if (IsScan(op.opcode)) return anchor;
  Result<TileLayout> reduced = ReducedLayout(anchor, op.axes, op.keepdims);
  if (!reduced.ok()) return std::nullopt;
  return *std::move(reduced);
}

std::optional<TileLayout> SourceOf(const RuleOp& op, Port /*port*/, const TileLayout& layout) {
  if (IsScan(op.opcode)) return layout;
  return std::nullopt;  // many
}

}  // namespace

FamilyRules ReduceRules() { return {&Source, &ReducedAt, &SourceOf}; }

}  // namespace tarsia::compiler
