#include "isa/bytecode/row_forms.h"

namespace tarsia::bytecode {
namespace {

void AddSlots(OperandKind kind, RowForm& form) {
  const auto add = [&](SlotForm slot) { form.forms[form.slots++] = slot; };
  form.optional_last = false;
  switch (kind) {
    case OperandKind::kOptionalTile:
      form.optional_last = true;
      [[fallthrough]];
    case OperandKind::kTile:
    case OperandKind::kMemoryTile:
    case OperandKind::kSource:
      return add(SlotForm::kValue);
    case OperandKind::kElement:
      add(SlotForm::kValue);
      return add(SlotForm::kList);
    case OperandKind::kText:
      return add(SlotForm::kText);
    case OperandKind::kTileOrExpr:
    case OperandKind::kExpr:
    case OperandKind::kIndex:
    case OperandKind::kCondition:
    case OperandKind::kConstant:
      return add(SlotForm::kAny);
  }
}

}  // namespace

const RowForms& AllRowForms() {
  static const RowForms forms = [] {
    RowForms out;
    for (const InstRow& row : AllInstructions()) {
      RowForm& form = out[row.code];
      form.opcode = row.opcode;
      form.known = true;
      form.since = row.since;
      form.results = static_cast<uint8_t>(row.results.size());
      for (const OperandRow& operand : row.operands) AddSlots(operand.kind, form);
      form.attrs = static_cast<uint8_t>(row.attrs.size());
      for (size_t i = 0; i < row.attrs.size(); ++i) form.attr_kinds[i] = Row(row.attrs[i]).kind;
      if (const auto fast = row.AttrIndex(Attr::kFast)) {
        form.fast = static_cast<uint8_t>(1u << *fast);
      }
      if (const auto via = row.AttrIndex(Attr::kVia)) form.via = static_cast<uint8_t>(1u << *via);
      form.opens_block = row.Has(kOpensBlock);
      form.is_if = row.opcode == Opcode::kIf;
      form.is_for = row.opcode == Opcode::kFor;
    }
    return out;
  }();
  return forms;
}

}  // namespace tarsia::bytecode
