// What the parts of the parser share: the tokens, the errors, and the names that are declared.
#ifndef TARSIA_PTX_PARSE_PARSER_PART_H_
#define TARSIA_PTX_PARSE_PARSER_PART_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/parse/function_builder.h"
#include "ptx/parse/lexer.h"
#include "ptx/parse/module.h"
#include "ptx/table/diagnostics.h"
#include "ptx/table/since.h"

namespace tarsia::ptx {

// A call, which is checked when all functions are known.
struct ParsedCall {
  uint32_t caller = 0;
  uint32_t site = 0;
  Location location;
  std::vector<uint64_t> argument_bytes;
  std::vector<uint64_t> result_bytes;
};

// The state of parsing a module.
struct ParserState {
  explicit ParserState(const SourceFile& source);

  Diagnostics diagnostics;  // since they were last taken
  Lexer lexer;
  std::shared_ptr<Module> module;
  std::map<std::string, Symbol, std::less<>> names;  // at the level of the module
  std::unique_ptr<FunctionBuilder> builder;          // of the function, or null
  int statement_depth = 0;                           // of braces, where the statement begins
  PtxVersion version;
  std::vector<Target> targets;  // one in what compilers write
  uint32_t loc = 0;             // of .loc, in Module::lines
  std::vector<ParsedCall> calls;
};

class ParserPart {
 protected:
  // The state must outlive this.
  explicit ParserPart(ParserState* state)
      : state_(*state), lexer_(state->lexer), diagnostics_(state->diagnostics) {}

  // ---- tokens ------------------------------------------------------------------------------
  // An error at the token; false.
  bool Expected(std::string_view what);
  bool Take(char punctuation);    // takes it if it is there
  bool Expect(char punctuation);  // an error if it is not
  std::optional<uint64_t> ParseCount();
  std::optional<std::string> ParseName();
  // `+8`, `+-8`, or nothing; PTX has no `-8` here.
  std::optional<int64_t> ParseAddend();
  void SkipToSemicolon();
  void SkipBraces();

  // ---- names -------------------------------------------------------------------------------
  std::optional<Symbol> FindSymbol(std::string_view name);
  // The symbol of a name, unless its declaration is wrong or lacking; the latter is reported once.
  std::optional<Symbol> NamedSymbol(std::string_view name, Location location);
  // A name at the token and its symbol.
  struct NamedUse {
    std::string name;
    Location location;
    Symbol symbol;
  };
  std::optional<NamedUse> ParseSymbol();
  // The number of a function, which need not be declared yet.
  uint32_t FunctionNumber(const std::string& name);
  uint32_t AddVariable(Variable variable);

  ParserState& state_;
  Lexer& lexer_;
  Diagnostics& diagnostics_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_PARSE_PARSER_PART_H_
