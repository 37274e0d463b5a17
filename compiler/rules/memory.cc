// Loads and stores: the tile that moves. The indices of `gather` and `scatter` are where the
// elements are that they belong to.
#include "compiler/rules/family.h"

namespace tarsia::compiler {
namespace {

std::optional<Port> MovedTile(const RuleOp& op) {
  if (op.result[0] != nullptr) return Port::Result(0);
  for (size_t i = kMaxOperands; i-- > 0;) {
    if (op.operand[i] != nullptr && op.row().operands[i].role == Role::kRead) {
      return Port::Operand(i);
    }
  }
  return std::nullopt;
}

std::optional<TileLayout> IndicesAt(const RuleOp& op, Port /*port*/, const TileLayout& anchor) {
  std::vector<int64_t> others;
  for (int64_t d = 0; d < anchor.rank(); ++d) {
    if (d != op.axes[0]) others.push_back(d);
  }
  Result<TileLayout> indices = ReducedLayout(anchor, others, false);
  if (!indices.ok()) return std::nullopt;
  return *std::move(indices);
}

std::optional<TileLayout> Many(const RuleOp& /*op*/, Port /*port*/, const TileLayout& /*layout*/) {
  return std::nullopt;
}

}  // namespace

FamilyRules MemoryRules() { return {&MovedTile, &IndicesAt, &Many}; }

}  // namespace tarsia::compiler
