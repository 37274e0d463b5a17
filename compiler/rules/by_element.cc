// Instructions that combine only elements at the same place: every tile has one layout, but for the
// table of a `lookup`, which all threads read.
#include "compiler/rules/family.h"
#include "compiler/select/lookup.h"

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

bool IsTable(const RuleOp& op, Port port) {
  return !port.is_result && op.row().operands[port.index].role == Role::kTable;
}

std::optional<TileLayout> At(const RuleOp& op, Port port, const TileLayout& anchor) {
  if (IsTable(op, port)) {
    return TableLayout(op.operand[0]->dtype, op.At(port)->dtype, anchor.threads());
  }
  return WithShapeOf(*op.At(port), anchor);
}

std::optional<TileLayout> For(const RuleOp& op, Port port, const TileLayout& layout) {
  if (IsTable(op, port)) return std::nullopt;
  return WithShapeOf(*op.At(*Anchor(op)), layout);
}

}  // namespace

FamilyRules ByElementRules() { return {&Anchor, &At, &For}; }

}  // namespace tarsia::compiler
