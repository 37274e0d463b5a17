// Parses what is at the level of the module: the header, directives, functions and variables.
// The inside of module.h.
#ifndef TARSIA_PTX_PARSE_PARSER_H_
#define TARSIA_PTX_PARSE_PARSER_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "ptx/parse/body_parser.h"
#include "ptx/parse/declaration_parser.h"
#include "ptx/parse/location_parser.h"
#include "ptx/parse/module.h"
#include "ptx/parse/parser_part.h"

namespace tarsia::ptx {

class Parser : ParserPart {
 public:
  // The state must outlive this.
  explicit Parser(ParserState* state)
      : ParserPart(state), locations_(state), declarations_(state), bodies_(state) {}
  // The module with its errors, and all of them (of each function the first) in `diagnostics`.
  // Null, with one error, if it has no header.
  std::shared_ptr<Module> ParseModule(Diagnostics* diagnostics);

 private:
  // The errors since the last call.
  std::vector<Diagnostic> TakeErrors();
  void SkipToDirective();
  void SkipToKnownDirective();
  bool ParseHeader();
  void ParseDirective();
  void ParseAlias();
  void ParseVariable(Space space, bool external);
  void DeclareVariable(Variable variable);

  void ParseFunction(bool entry);
  bool ParseSignature(Function* function);
  bool ParseFunctionParams(Function* function, std::vector<Param>* params, bool entry);
  bool ParseBounds(Function* function);
  bool ParseDimensions(std::array<uint32_t, 3>* dimensions);
  void AddFunction(Function function);
  void CheckCalls();
  void CheckCall(const ParsedCall& call);

  LocationParser locations_;
  DeclarationParser declarations_;
  BodyParser bodies_;
  Diagnostics all_;
  std::map<uint32_t, uint32_t> aliases_;  // of functions, by number
};

// Finds where the paths of each branch meet again (flow.cc).
void FindJoins(Function* function);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_PARSE_PARSER_H_
