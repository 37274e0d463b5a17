// Splits PTX text into tokens.
//
//   name       [A-Za-z_$%][A-Za-z0-9_$]*                     add  %r1  $L__BB0_1  _
//   dot word   '.' [A-Za-z0-9_$]+ ( '::' [A-Za-z0-9_]+ )*    .reg  .f32  .shared::cta  .x
//   number     decimal, 0x.., 0.. octal, 0b.., with an optional U; 0f and 0d with hexadecimal
//              digits of an f32 or f64; decimal floats
//   string     "..."
//   others     one character each
//
// Comments and blanks separate tokens. Not thread-safe; cheap to make.
#ifndef TARSIA_PTX_PARSE_LEXER_H_
#define TARSIA_PTX_PARSE_LEXER_H_

#include <cstdint>
#include <string_view>

#include "support/diagnostic.h"

namespace tarsia::ptx {

enum class Token : uint8_t { kEnd, kName, kDot, kInteger, kFloat32, kFloat64, kString, kPunct };

class Lexer {
 public:
  // Both must outlive the lexer.
  Lexer(std::string_view text, Diagnostics* diagnostics);

  void Next();
  // Skips the rest of the line, whatever it holds; the next token is one of the next line.
  void SkipLine();

  [[nodiscard]] Token token() const { return token_; }
  // The token as written; of a dot word what follows the dot, of a string what the quotes hold.
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] bool Is(char punctuation) const {
    return token_ == Token::kPunct && text_[0] == punctuation;
  }
  [[nodiscard]] bool IsDot(std::string_view word) const {
    return token_ == Token::kDot && text_ == word;
  }
  // Whether the token follows the one before with nothing in between.
  [[nodiscard]] bool adjacent() const { return adjacent_; }
  // The value of a number: an integer, or the bits of a float.
  [[nodiscard]] uint64_t value() const { return value_; }
  [[nodiscard]] Location location() const { return location_; }
  // Braces that are open before the token.
  [[nodiscard]] int depth() const { return depth_; }

 private:
  // False at a character that PTX does not use.
  bool TryNext();
  void SkipBlanks();
  void LexNumber();
  void LexDecimal(std::string_view word);
  void LexString();
  void Take(Token token, size_t length);
  [[nodiscard]] char Peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  std::string_view source_;
  Diagnostics* diagnostics_;
  size_t at_ = 0;
  size_t end_of_last_ = 0;
  uint32_t line_ = 1;
  size_t line_start_ = 0;
  Token token_ = Token::kEnd;
  std::string_view text_;
  bool adjacent_ = false;
  uint64_t value_ = 0;
  int depth_ = 0;
  Location location_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_PARSE_LEXER_H_
