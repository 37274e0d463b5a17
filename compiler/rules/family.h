// The rules of each family, for rules.cc.
#ifndef TARSIA_COMPILER_RULES_FAMILY_H_
#define TARSIA_COMPILER_RULES_FAMILY_H_

#include "compiler/rules/rules.h"

namespace tarsia::compiler {

struct FamilyRules {
  std::optional<Port> (*anchor)(const RuleOp& op);
  // Of a port that is not the anchor.
  std::optional<TileLayout> (*layout_at)(const RuleOp& op, Port port, const TileLayout& anchor);
  std::optional<TileLayout> (*anchor_for)(const RuleOp& op, Port port, const TileLayout& layout);
};

// Elements at the same place: elementwise, convert, atomics, and the tiles of other instructions.
FamilyRules ByElementRules();
FamilyRules MemoryRules();
FamilyRules ReduceRules();
FamilyRules ShapeRules();

// The same places under the shape of another tile.
TileLayout WithShapeOf(const ConcreteType& tile, const TileLayout& layout);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_RULES_FAMILY_H_
