// The parts of the rows of isa.def that the reader of bytecode needs. Internal to isa/bytecode.
#ifndef TARSIA_ISA_BYTECODE_ROW_FORMS_H_
#define TARSIA_ISA_BYTECODE_ROW_FORMS_H_

#include <array>
#include <cstdint>

#include "isa/instruction.h"

namespace tarsia::bytecode {

// The required form of a slot of an instruction, so that text can express it.
enum class SlotForm : uint8_t { kValue, kList, kText, kAny };

struct RowForm {
  Opcode opcode{};
  uint8_t results = 0;
  uint8_t slots = 0;
  uint8_t attrs = 0;
  uint8_t since = 0;
  bool known = false;
  bool optional_last = false;
  bool opens_block = false;
  bool is_if = false;
  bool is_for = false;
  uint8_t fast = 0;  // the bit of its attribute `fast`
  uint8_t via = 0;   // of `via`
  std::array<SlotForm, 2 * kMaxOperands> forms{};
  std::array<AttrKind, kMaxAttrs> attr_kinds{};
};

using RowForms = std::array<RowForm, 256>;  // by code

const RowForms& AllRowForms();

}  // namespace tarsia::bytecode

#endif  // TARSIA_ISA_BYTECODE_ROW_FORMS_H_
