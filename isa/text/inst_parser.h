// Reads the text after a mnemonic: operands, attributes, annotation. Internal to isa/.
#ifndef TARSIA_ISA_TEXT_INST_PARSER_H_
#define TARSIA_ISA_TEXT_INST_PARSER_H_

#include <span>
#include <vector>

#include "isa/module.h"
#include "isa/text/token_reader.h"
#include "isa/text/value_scope.h"
#include "layout/text/expr_parser.h"

namespace tarsia {

// The parts of an instruction that have been read.
struct PendingInst {
  Inst inst;
  Location location;
  Location type_location;
};

// Functions return false after reporting an error.
class InstParser {
 public:
  struct Arg {
    ExprId id;
    Location location;
  };

  InstParser(TokenReader* tokens, Module* module, ValueScope* names)
      : tokens_(*tokens),
        lexer_(tokens->lexer()),
        diagnostics_(tokens->diagnostics()),
        module_(*module),
        names_(*names),
        expressions_(lexer_, module->pool, names, diagnostics_) {}

  [[nodiscard]] ExprParser& expressions() { return expressions_; }
  // Begins an instruction.
  void Clear() { slots_.clear(); }
  bool ParseOperands(const InstRow& row, const PendingInst& pending);
  bool ParseAttributes(const InstRow& row, PendingInst& pending);
  bool ParseAnnotation(PendingInst& pending);
  // Reads an expression as the next operand.
  bool ParseSlot();
  void AddSlot(ExprId id, Location location) { slots_.push_back({id, location}); }
  ExprId ParseDType();

  [[nodiscard]] std::span<const Arg> slots() const { return slots_; }
  // The value of the row's i-th attribute, if the instruction has it.
  [[nodiscard]] const Arg& attr(size_t i) const { return attrs_[i]; }

 private:
  [[nodiscard]] Location EndOf(const PendingInst& pending) const;
  bool ParseOperand(const OperandRow& operand);
  bool ParseElement(const OperandRow& operand);
  bool ParseValueSlot();
  ExprId ParseAttributeValue(const AttrRow& row);
  ExprId ParseWord(const AttrRow& row);
  Space AcceptSpace();

  TokenReader& tokens_;
  Lexer& lexer_;
  Diagnostics& diagnostics_;
  Module& module_;
  ValueScope& names_;
  ExprParser expressions_;
  std::vector<Arg> slots_;
  Arg attrs_[kMaxAttrs];
};

// "2 operands"
std::string Plural(size_t n, std::string_view noun);

}  // namespace tarsia

#endif  // TARSIA_ISA_TEXT_INST_PARSER_H_
