// Reductions work where their operand is; their results are replicated over the threads along the
// reduced axes.
#include "compiler/rules/family.h"

namespace tarsia::compiler {
namespace {

std::optional<Port> Source(const RuleOp& /*op*/) { return Port::Operand(0); }

std::optional<TileLayout> ReducedAt(const RuleOp& op, Port /*port*/, const TileLayout& anchor) {
  Result<TileLayout> reduced = ReducedLayout(anchor, op.axes, op.keepdims);
  if (!reduced.ok()) return std::nullopt;
  return *std::move(reduced);
}

std::optional<TileLayout> ManySources(const RuleOp& /*op*/, Port /*port*/,
                                      const TileLayout& /*layout*/) {
  return std::nullopt;
}

}  // namespace

FamilyRules ReduceRules() { return {&Source, &ReducedAt, &ManySources}; }

}  // namespace tarsia::compiler
