// Parses declarators and the initialisers of variables.
#ifndef TARSIA_PTX_PARSE_DECLARATION_PARSER_H_
#define TARSIA_PTX_PARSE_DECLARATION_PARSER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ptx/parse/parser_part.h"
#include "ptx/table/types.h"

namespace tarsia::ptx {

// The state space that a directive names.
std::optional<Space> SpaceOf(std::string_view word);

// What `.align 8 .b8 name[16]` says.
struct Declarator {
  std::string name;
  Location location;
  Type type = Type::kNone;
  uint64_t align = 1;
  uint64_t elements = 1;
  bool unsized = false;  // name[]
  int vector = 1;        // .v2, .v4
  [[nodiscard]] uint64_t bytes() const {
    return elements * static_cast<uint64_t>(vector) * static_cast<uint64_t>(BytesOf(type));
  }
};

class DeclarationParser : ParserPart {
 public:
  explicit DeclarationParser(ParserState* state) : ParserPart(state) {}

  // `param`: of a parameter, which may say what it points to.
  std::optional<Declarator> ParseDeclarator(bool param);
  // What follows `=`.
  bool ParseInitialiser(const Declarator& declarator, Variable* variable);

 private:
  bool ParseTypeWords(bool param, Declarator* declarator);
  bool ParseSuffix(Declarator* declarator);
  bool ParseInitialValues(const Declarator& declarator, Variable* variable, uint64_t* at);
  bool ParseInitialValue(const Declarator& declarator, Variable* variable, uint64_t at);
  bool ParseInitialAddress(size_t size, Variable* variable, uint64_t at);
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_PARSE_DECLARATION_PARSER_H_
