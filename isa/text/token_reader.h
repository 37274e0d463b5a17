// Token functions for all parts of the parser. Internal to isa/.
#ifndef TARSIA_ISA_TEXT_TOKEN_READER_H_
#define TARSIA_ISA_TEXT_TOKEN_READER_H_

#include <string>
#include <string_view>

#include "layout/text/lexer.h"
#include "support/diagnostic.h"

namespace tarsia {

class TokenReader {
 public:
  TokenReader(std::string_view text, Diagnostics* diagnostics, bool keep_comments)
      : diagnostics_(*diagnostics), lexer_(text, diagnostics, keep_comments) {}

  [[nodiscard]] Lexer& lexer() { return lexer_; }
  [[nodiscard]] const Lexer& lexer() const { return lexer_; }
  [[nodiscard]] Diagnostics& diagnostics() { return diagnostics_; }

  // Reports that something else was found, unless this place already has an error. Returns false.
  bool Expected(std::string_view what);
  // Takes a token if it is of this kind.
  bool Accept(Token token) {
    if (lexer_.token() != token) return false;
    lexer_.Next();
    return true;
  }
  // As Accept; reports an error and returns false if it is not.
  bool Expect(Token token) { return Accept(token) || Expected(TokenName(token)); }
  // The items of a list, with commas between them, up to `close`, which is taken. item() reads one;
  // it gives false after an error, as this does.
  template <typename Item>
  bool ParseItems(Token close, const Item& item) {
    while (lexer_.token() != close) {
      if (!item()) return false;
      if (!Accept(Token::kComma) && lexer_.token() != close) {
        return Expected("`,` or " + std::string(TokenName(close)));
      }
    }
    lexer_.Next();
    return true;
  }
  bool ExpectEndOfLine();
  // At the word that begins a kernel or a graph.
  [[nodiscard]] bool AtModulePart() const {
    return lexer_.IsName("kernel") || lexer_.IsName("graph");
  }
  [[nodiscard]] bool AtEndOfOperands() const;
  void SkipNewlines() {
    while (lexer_.token() == Token::kNewline) lexer_.Next();
  }
  // Skips to the brace that closes the block.
  void SkipBraces();
  // From `begin` to the end of the token before the current one, on one line.
  [[nodiscard]] Location Until(Location begin) const;

 private:
  Diagnostics& diagnostics_;
  Lexer lexer_;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_TEXT_TOKEN_READER_H_
