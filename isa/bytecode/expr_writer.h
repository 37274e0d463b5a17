// Strings, expressions and the shared parts of headers as bytecode. Internal to isa/bytecode.
#ifndef TARSIA_ISA_BYTECODE_EXPR_WRITER_H_
#define TARSIA_ISA_BYTECODE_EXPR_WRITER_H_

#include <string>
#include <vector>

#include "isa/bytecode/byte_writer.h"
#include "isa/constant.h"
#include "layout/text/expr.h"

namespace tarsia::bytecode {

// Numbers strings by their first use.
class ExprWriter {
 public:
  explicit ExprWriter(const ExprPool& pool) : pool_(pool), strings_(pool.strings().size()) {}

  // The number of a string.
  uint32_t String(StringId id) { return strings_.Of(id); }
  void Expr(ExprId id, ByteWriter& out);
  void Constants(const std::vector<Constant>& constants, ByteWriter& out);
  void Requires(const std::vector<Require>& requirements, ByteWriter& out);
  // The section of all strings that have been used.
  [[nodiscard]] std::string Strings() const;

 private:
  void Node(const ExprNode& node, ByteWriter& out);

  const ExprPool& pool_;
  Numbering strings_;
};

}  // namespace tarsia::bytecode

#endif  // TARSIA_ISA_BYTECODE_EXPR_WRITER_H_
