// Parses the body of a function: scopes, declarations, labels and instructions.
#ifndef TARSIA_PTX_PARSE_BODY_PARSER_H_
#define TARSIA_PTX_PARSE_BODY_PARSER_H_

#include <string>

#include "ptx/parse/call_parser.h"
#include "ptx/parse/declaration_parser.h"
#include "ptx/parse/instruction_parser.h"
#include "ptx/parse/location_parser.h"
#include "ptx/parse/parser_part.h"

namespace tarsia::ptx {

class BodyParser : ParserPart {
 public:
  explicit BodyParser(ParserState* state)
      : ParserPart(state),
        locations_(state),
        declarations_(state),
        calls_(state),
        instructions_(state, &calls_) {}

  // The body of a function, to which the state's builder belongs.
  void Parse(Function* function);

 private:
  void ParseStatement();
  void SkipBody();
  void ParseDirective();
  void ParseRegisters();
  void SkipRegisters();
  void ParseLocalVariable(Space space);
  void ParseLabelOrInstruction();
  bool ParseLabelLine(const std::string& name, Location location);

  LocationParser locations_;
  DeclarationParser declarations_;
  CallParser calls_;
  InstructionParser instructions_;
  uint32_t depth_ = 0;  // of scopes
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_PARSE_BODY_PARSER_H_
