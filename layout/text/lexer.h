// Splits Tarsia text (programs, layout expressions) into tokens.
//
//   name     [A-Za-z_][A-Za-z0-9_]* ( '.' [A-Za-z0-9_]+ )*
//            such as matmul, reduce.sum, mma.m16n8k16.f16.a
//   value    '%' name
//            such as %acc; modulo therefore needs a blank: K % 2
//   integer  decimal or 0x hexadecimal, at most 64 bits
//   float    digits with '.' and/or exponent; `inf` and `nan` are names
//   string   "..." with \n \t \" \\ \xHH
//   newline  ends a statement; inside ( ) and [ ] newlines are blanks
//   comment  // to the end of the line, kept aside for the formatter
//
// The text must be UTF-8 as far as comments and strings go; any other byte outside of them is an
// error token. Not thread-safe; cheap to make.
#ifndef TARSIA_LAYOUT_TEXT_LEXER_H_
#define TARSIA_LAYOUT_TEXT_LEXER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"

namespace tarsia {

enum class Token : uint8_t {
#define WORD(constant, name) constant,
#define PUNCTUATION(constant, spelling) constant,
#include "layout/text/tokens.def"
#undef WORD
#undef PUNCTUATION
};

struct Comment {
  Location location;      // of the `//`
  std::string_view text;  // with the `//`, without the newline and trailing blanks
  bool own_line = false;  // nothing but blanks before it on its line
};

class Lexer {
 public:
  // `text` must outlive the lexer and what it returned.
  explicit Lexer(std::string_view text, Diagnostics* diagnostics, bool keep_comments = false);

  // The current token and its parts.
  [[nodiscard]] Token token() const { return token_; }
  [[nodiscard]] Location location() const { return {line_, column_, length_}; }
  // The spelling: of a value without its '%', of a string with its quotes and escapes.
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] uint64_t integer() const { return integer_; }
  [[nodiscard]] double number() const { return number_; }
  // The bytes of a string token, escapes resolved.
  [[nodiscard]] std::string StringValue() const;
  // True when blanks or comments stood between the previous token and this one.
  [[nodiscard]] bool after_blank() const { return after_blank_; }
  // The token as an error shows it: "`%x`", "`12`", "the end of the line".
  [[nodiscard]] std::string Found() const;
  // True when the token after this one is `=`.
  [[nodiscard]] bool AssignFollows() const;
  // Just after the previous token.
  [[nodiscard]] Location previous_end() const { return previous_end_; }

  void Next();
  // Forgets the brackets that were left open, so that the line ends again; for error recovery.
  void LeaveBrackets() { depth_ = 0; }
  // Skips to the next newline at the outermost bracket level; for error recovery.
  void SkipLine();
  [[nodiscard]] bool IsName(std::string_view name) const {
    return token_ == Token::kName && text_ == name;
  }
  [[nodiscard]] const std::vector<Comment>& comments() const { return comments_; }

 private:
  void Scan();
  void SkipBlanks();
  void ScanName(size_t begin);
  void ScanNumber(size_t begin);
  void ScanString(size_t begin);
  void ScanPunctuation();
  void NoteBracket(Token token);
  void Finish(Token token, size_t begin);
  [[nodiscard]] char At(size_t i) const { return i < input_.size() ? input_[i] : '\0'; }

  std::string_view input_;
  Diagnostics* diagnostics_;
  bool keep_comments_;
  size_t position_ = 0;
  size_t line_start_ = 0;
  uint32_t current_line_ = 1;
  int depth_ = 0;  // of ( and [
  Token token_ = Token::kEnd;
  uint32_t line_ = 1, column_ = 1, length_ = 0;
  std::string_view text_;
  uint64_t integer_ = 0;
  double number_ = 0;
  bool after_blank_ = false;
  Location previous_end_;
  std::vector<Comment> comments_;
};

// The name of a token in a message: "`->`", "a name", "the end of the line".
std::string_view TokenName(Token token);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_TEXT_LEXER_H_
