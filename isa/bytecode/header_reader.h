// The parts of headers that kernels and graphs share, from bytecode. Internal to isa/bytecode.
#ifndef TARSIA_ISA_BYTECODE_HEADER_READER_H_
#define TARSIA_ISA_BYTECODE_HEADER_READER_H_

#include <vector>

#include "isa/bytecode/cursor.h"
#include "isa/bytecode/expr_reader.h"
#include "isa/module.h"

namespace tarsia::bytecode {

// Every function returns false after an error, like the cursor's.
class HeaderReader {
 public:
  HeaderReader(Cursor* in, Module* module, ExprReader* exprs)
      : in_(*in), module_(*module), exprs_(*exprs) {}

  bool Constants(std::vector<Constant>& constants, NameUse use);
  bool Requires(std::vector<Require>& requirements);

 private:
  bool ReadConstant(Constant& constant, NameUse use);
  bool NamesDiffer(const std::vector<Constant>& constants);
  [[nodiscard]] Location Here() const { return Location::AtByte(in_.offset()); }

  Cursor& in_;
  Module& module_;
  ExprReader& exprs_;
};

}  // namespace tarsia::bytecode

#endif  // TARSIA_ISA_BYTECODE_HEADER_READER_H_
