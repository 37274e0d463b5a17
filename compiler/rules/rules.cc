#include "compiler/rules/rules.h"

#include "compiler/rules/family.h"

namespace tarsia::compiler {
namespace {

FamilyRules RulesOf(const RuleOp& op) {
  const InstRow& row = op.row();
  if (row.Has(kByElement)) return ByElementRules();
  switch (row.family) {
    case Family::kMemory:
      return MemoryRules();
    case Family::kReduce:
      return ReduceRules();
    case Family::kShape:
      return ShapeRules();
    case Family::kControl:
    case Family::kElementwise:
    case Family::kConvert:
    case Family::kMma:
    case Family::kSync:
      return ByElementRules();
  }
  return ByElementRules();
}

}  // namespace

std::optional<Port> AnchorOf(const RuleOp& op) {
  if (op.opcode == Opcode::kDot || op.row().MakesView()) return std::nullopt;
  return RulesOf(op).anchor(op);
}

std::optional<TileLayout> LayoutAt(const RuleOp& op, Port port, const TileLayout& anchor) {
  const FamilyRules rules = RulesOf(op);
  return rules.anchor(op) == port ? anchor : rules.layout_at(op, port, anchor);
}

std::optional<TileLayout> AnchorFor(const RuleOp& op, Port port, const TileLayout& layout) {
  const FamilyRules rules = RulesOf(op);
  return rules.anchor(op) == port ? layout : rules.anchor_for(op, port, layout);
}

TileLayout WithShapeOf(const ConcreteType& tile, const TileLayout& layout) {
  return TileLayout::Padded(layout.reg(), tile.shape);
}

}  // namespace tarsia::compiler
