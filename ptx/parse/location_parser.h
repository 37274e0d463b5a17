// Parses the directives that name source lines: .file and .loc.
#ifndef TARSIA_PTX_PARSE_LOCATION_PARSER_H_
#define TARSIA_PTX_PARSE_LOCATION_PARSER_H_

#include <cstdint>

#include "ptx/parse/parser_part.h"
#include "ptx/parse/source_lines.h"

namespace tarsia::ptx {

class LocationParser : ParserPart {
 public:
  explicit LocationParser(ParserState* state) : ParserPart(state) {}

  void ParseFile();
  // Sets the state's `loc`.
  void ParseLoc();

 private:
  bool ParsePlace(uint32_t line, SourceLines::Place* place);
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_PARSE_LOCATION_PARSER_H_
