// Instructions that combine only elements at the same place: every tile has one layout.
#include "compiler/rules/family.h"

namespace tarsia::compiler {
namespace {

// The result, so that values are computed where they are wanted; without a result the last operand.
std::optional<Port> Anchor(const RuleOp& op) {
  const bool from_operand = op.opcode == Opcode::kUnpack;  // codes are read as they lie
  if (op.result[0] != nullptr && !from_operand) return Port::Result(0);
  for (size_t i = kMaxOperands; i-- > 0;) {
    if (op.operand[i] != nullptr) return Port::Operand(i);
  }
  return std::nullopt;
}

std::optional<TileLayout> At(const RuleOp& op, Port port, const TileLayout& anchor) {
  return WithShapeOf(*op.At(port), anchor);
}

std::optional<TileLayout> For(const RuleOp& op, Port /*port*/, const TileLayout& layout) {
  return WithShapeOf(*op.At(*Anchor(op)), layout);
}

}  // namespace

FamilyRules ByElementRules() { return {&Anchor, &At, &For}; }

}  // namespace tarsia::compiler
