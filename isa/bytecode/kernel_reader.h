// The kernels of bytecode. Internal to isa/bytecode.
//
// Accepts only what text can express: the rules of the parser (names, scopes, the kinds of
// arguments, limits) also apply here.
#ifndef TARSIA_ISA_BYTECODE_KERNEL_READER_H_
#define TARSIA_ISA_BYTECODE_KERNEL_READER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "isa/bytecode/bytecode.h"
#include "isa/bytecode/cursor.h"
#include "isa/bytecode/expr_reader.h"
#include "isa/bytecode/header_reader.h"
#include "isa/bytecode/row_forms.h"
#include "isa/module.h"

namespace tarsia::bytecode {

// Reads from a cursor into a module whose strings and types have been read. Every function returns
// false after an error, like the cursor's.
class KernelReader {
 public:
  KernelReader(Cursor* in, Module* module, ExprReader* exprs)
      : in_(*in), module_(*module), exprs_(*exprs), header_(in, module, exprs) {}

  bool Read();
  // The oldest version that can express what was read.
  [[nodiscard]] BytecodeVersion lowest() const { return lowest_; }

 private:
  struct Block {
    uint32_t end;  // the first instruction after it
    int depth;
    size_t scope;  // values that were visible before it
  };

  bool ReadKernelHead();
  bool ReadParameters();
  bool ReadAssumes();
  bool ReadGrid();
  bool ReadRegisters();
  bool NewValue(StringId name);
  void LeaveScope(size_t size);
  bool ReadBody();
  void LeaveBlock();
  bool ReadInst(uint32_t index);
  bool ReadExtent(uint32_t index, uint8_t form, Inst& inst);
  bool ReadArgs(const RowForm& row, const Inst& inst);
  bool EnterBlock(const Inst& inst, size_t outer_scope);
  bool CheckSlot(SlotForm form, ExprId slot);
  bool ReadAttribute(AttrKind kind);
  bool Repeated(std::string_view thing, StringId name);
  [[nodiscard]] Location Here() const { return Location::AtByte(in_.offset()); }

  Cursor& in_;
  Module& module_;
  ExprReader& exprs_;
  HeaderReader header_;
  const RowForms& rows_ = AllRowForms();
  BytecodeVersion lowest_{0, 1};
  Kernel* kernel_ = nullptr;
  std::vector<uint32_t> bound_;        // by string: 1 + the value that it names here, or 0
  std::vector<uint8_t> kernel_names_;  // by string
  std::vector<uint32_t> scope_;        // the visible values
  std::vector<Block> blocks_;
};

}  // namespace tarsia::bytecode

#endif  // TARSIA_ISA_BYTECODE_KERNEL_READER_H_
