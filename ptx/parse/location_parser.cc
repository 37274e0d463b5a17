#include "ptx/parse/location_parser.h"

#include <string>

namespace tarsia::ptx {

// .file 1 "name", ..
void LocationParser::ParseFile() {
  lexer_.Next();
  if (lexer_.token() == Token::kInteger) {
    const auto number = static_cast<uint32_t>(lexer_.value());
    lexer_.Next();
    if (lexer_.token() == Token::kString) state_.module->files.emplace(number, lexer_.text());
  }
  lexer_.SkipLine();
}

// The numbers of a place, as far as they are in one line; the token after them is in that line or
// in another.
bool LocationParser::ParsePlace(uint32_t line, SourceLines::Place* place) {
  for (uint32_t& number : *place) {
    if (lexer_.token() != Token::kInteger || lexer_.location().line != line) return false;
    number = static_cast<uint32_t>(lexer_.value());
    lexer_.Next();
  }
  return true;
}

// .loc FILE LINE COLUMN[, function_name LABEL, inlined_at FILE LINE COLUMN]
void LocationParser::ParseLoc() {
  const uint32_t line = lexer_.location().line;
  const auto on_line = [&] {
    return lexer_.token() != Token::kEnd && lexer_.location().line == line;
  };
  SourceLines::Place place{};
  SourceLines::Place caller{};
  lexer_.Next();
  bool good = ParsePlace(line, &place);
  bool inlined = false;
  while (good && on_line()) {
    const bool is_caller = lexer_.token() == Token::kName && lexer_.text() == "inlined_at";
    lexer_.Next();
    if (is_caller) good = inlined = ParsePlace(line, &caller);
  }
  if (place[0] != 0) {
    state_.loc =
        inlined ? state_.module->lines.AddInlined(place, caller) : state_.module->lines.Add(place);
  }
  if (on_line()) lexer_.SkipLine();
}

}  // namespace tarsia::ptx
