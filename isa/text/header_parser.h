// The clauses that the headers of kernels and graphs share. Internal to isa/.
#ifndef TARSIA_ISA_TEXT_HEADER_PARSER_H_
#define TARSIA_ISA_TEXT_HEADER_PARSER_H_

#include <string_view>
#include <vector>

#include "isa/module.h"
#include "isa/text/token_reader.h"
#include "layout/text/expr_parser.h"

namespace tarsia {

// Reports a second definition of a name at `again`. `what` is "kernel", "constant", ...
void ReportAgain(Diagnostics& diagnostics, std::string_view what, std::string_view name,
                 Location again, Location first);

// Functions return false after reporting an error; the word of the clause has been read.
class HeaderParser {
 public:
  // `reserved` says why a constant cannot have a name; empty if it can.
  using Reserved = std::string_view (*)(std::string_view name);

  HeaderParser(TokenReader* tokens, Module* module, ExprParser* expressions)
      : tokens_(*tokens), lexer_(tokens->lexer()), module_(*module), expressions_(*expressions) {}

  // name: kind [= default] [tune {..}] { , name: kind .. }
  bool ParseConstants(std::vector<Constant>& constants, Reserved reserved);
  // condition [, message]
  bool ParseRequire(std::vector<Require>& requirements);

 private:
  bool ParseConstant(std::vector<Constant>& constants, Reserved reserved);
  void CheckName(std::string_view name, const std::vector<Constant>& constants, Reserved reserved);
  ExprId ParseCandidates();

  TokenReader& tokens_;
  Lexer& lexer_;
  Module& module_;
  ExprParser& expressions_;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_TEXT_HEADER_PARSER_H_
