// Reductions work where their operand is; their results are replicated over the threads along the
// reduced axes. Scans leave each element where it is. All threads along the axis of a `topk` have
// all that it finds.
#include "compiler/rules/family.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

std::optional<Port> Source(const RuleOp& /*op*/) { return Port::Operand(0); }

// With extent `k` along the axis, all in each thread, side by side.
std::optional<TileLayout> FoundAt(const TileLayout& anchor, int64_t axis, int64_t k) {
  const std::vector<int64_t> axes = {axis};
  const Result<TileLayout> reduced = ReducedLayout(anchor, axes, true);
  if (!reduced.ok()) return std::nullopt;
  const RegLayout& rows = reduced->reg();
  Extents padded = rows.shape(), shape = reduced->shape();
  padded[Size(axis)] = shape[Size(axis)] = k;
  RegLayout::Digits local = rows.local();
  if (k > 1) local.push_back({static_cast<int>(axis), k, 1});
  const auto found = RegLayout::FromDigits(padded, rows.spatial(), local);
  if (!found.ok()) return std::nullopt;
  return TileLayout::Padded(*found, std::move(shape));
}

std::optional<TileLayout> ReducedAt(const RuleOp& op, Port port, const TileLayout& anchor) {
  if (IsScan(op.opcode)) return anchor;
  if (op.opcode == Opcode::kTopK) {
    return FoundAt(anchor, op.axes[0], op.At(port)->shape[Size(op.axes[0])]);
  }
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
