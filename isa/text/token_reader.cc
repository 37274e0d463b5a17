#include "isa/text/token_reader.h"

#include "layout/text/diagnostics.h"

namespace tarsia {

bool TokenReader::Expected(std::string_view what) {
  // One error per place: that of the lexer or of an inner rule comes first.
  const bool said = lexer_.token() == Token::kError ||
                    (!diagnostics_.ok() && diagnostics_.last().location == lexer_.location());
  if (!said) diagnostics_.Error(diag::kExpected, lexer_.location(), what, lexer_.Found());
  return false;
}

bool TokenReader::ExpectEndOfLine() {
  if (lexer_.token() == Token::kNewline || lexer_.token() == Token::kEnd ||
      lexer_.token() == Token::kRightBrace) {
    return true;
  }
  return Expected("the end of the line");
}

bool TokenReader::AtEndOfOperands() const {
  return lexer_.token() == Token::kNewline || lexer_.token() == Token::kEnd ||
         lexer_.token() == Token::kColon || lexer_.token() == Token::kRightBrace ||
         lexer_.token() == Token::kLeftBrace;
}

void TokenReader::SkipBraces() {
  int depth = 0;
  while (lexer_.token() != Token::kEnd) {
    if (lexer_.token() == Token::kLeftBrace) ++depth;
    if (lexer_.token() == Token::kRightBrace && depth-- == 0) return;
    lexer_.Next();
  }
}

Location TokenReader::Until(Location begin) const {
  const Location end = lexer_.previous_end();
  if (end.line == begin.line && end.column > begin.column) begin.length = end.column - begin.column;
  return begin;
}

}  // namespace tarsia
