// Loads, stores, and atomics at gathered places: the tile that moves. Indices along an axis are
// where the elements are that they belong to.
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

// Of the other tiles: all but the indices lie as the one that moves.
std::optional<TileLayout> OthersAt(const RuleOp& op, Port port, const TileLayout& anchor) {
  if (port.is_result || op.row().operands[port.index].role != Role::kIndex) {
    return WithShapeOf(*op.At(port), anchor);
  }
  std::vector<int64_t> others;
  for (int64_t d = 0; d < anchor.rank(); ++d) {
    if (d != op.axes[0]) others.push_back(d);
  }
  Result<TileLayout> indices = ReducedLayout(anchor, others, false);
  if (!indices.ok()) return std::nullopt;
  return *std::move(indices);
}

std::optional<TileLayout> MovedFor(const RuleOp& op, Port port, const TileLayout& layout) {
  if (port.is_result || op.row().operands[port.index].role != Role::kRead) return std::nullopt;
  return WithShapeOf(*op.At(*MovedTile(op)), layout);
}

}  // namespace

FamilyRules MemoryRules() { return {&MovedTile, &OthersAt, &MovedFor}; }

}  // namespace tarsia::compiler
