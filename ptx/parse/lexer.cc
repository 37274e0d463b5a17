#include "ptx/parse/lexer.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "ptx/table/diagnostics.h"

namespace tarsia::ptx {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) || c == '_' || c == '$';
}
bool BeginsName(char c) { return (IsWord(c) && !IsDigit(c)) || c == '%'; }

template <typename T>
bool Convert(std::string_view digits, int base, T* value) {
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, *value, base);
  return error == std::errc() && stop == end && !digits.empty();
}

}  // namespace

Lexer::Lexer(std::string_view text, Diagnostics* diagnostics)
    : source_(text), diagnostics_(diagnostics) {
  Next();
}

void Lexer::SkipBlanks() {
  while (at_ < source_.size()) {
    const char c = source_[at_];
    if (c == '\n') {
      ++at_;
      ++line_;
      line_start_ = at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (c == '/' && Peek(1) == '/') {
      while (at_ < source_.size() && source_[at_] != '\n') ++at_;
    } else if (c == '/' && Peek(1) == '*') {
      at_ += 2;
      while (at_ < source_.size() && !(source_[at_] == '*' && Peek(1) == '/')) {
        if (source_[at_] == '\n') {
          ++line_;
          line_start_ = at_ + 1;
        }
        ++at_;
      }
      at_ = std::min(at_ + 2, source_.size());
    } else {
      return;
    }
  }
}

void Lexer::SkipLine() {
  while (at_ < source_.size() && source_[at_] != '\n') ++at_;
  Next();
}

void Lexer::Take(Token token, size_t length) {
  token_ = token;
  text_ = source_.substr(at_, length);
  location_ = {line_, static_cast<uint32_t>(at_ - line_start_ + 1), static_cast<uint32_t>(length)};
  at_ += length;
}

// Of characters that follow each other and are none of PTX's, the first is reported.
void Lexer::Next() {
  if (Is('{')) ++depth_;
  if (Is('}')) --depth_;
  for (bool first = true; !TryNext(); first = false) {
    if (first || !adjacent_) diagnostics_->Error(diag::kBadCharacter, location_);
  }
}

bool Lexer::TryNext() {
  end_of_last_ = at_;
  SkipBlanks();
  adjacent_ = at_ == end_of_last_;
  const char c = Peek();
  if (at_ >= source_.size()) {
    Take(Token::kEnd, 0);
    return true;
  }
  if (BeginsName(c)) {
    size_t length = 1;
    while (IsWord(Peek(length))) ++length;
    Take(Token::kName, length);
    return true;
  }
  if (c == '.' && IsWord(Peek(1))) {
    size_t length = 2;
    while (IsWord(Peek(length)) ||
           (Peek(length) == ':' && Peek(length + 1) == ':' && IsWord(Peek(length + 2)))) {
      length += Peek(length) == ':' ? 2 : 1;
    }
    Take(Token::kDot, length);
    text_.remove_prefix(1);
    return true;
  }
  if (IsDigit(c)) {
    LexNumber();
    return true;
  }
  if (c == '"') {
    LexString();
    return true;
  }
  constexpr std::string_view kPunctuation = "{}[]()<>,;:+-*/!@|=~.&^?";
  Take(Token::kPunct, 1);
  return kPunctuation.find(c) != std::string_view::npos;
}

void Lexer::LexString() {
  size_t length = 1;
  while (at_ + length < source_.size() && Peek(length) != '"' && Peek(length) != '\n') ++length;
  const bool closed = Peek(length) == '"';
  Take(Token::kString, length + (closed ? 1 : 0));
  text_ = text_.substr(1, length - 1);
  if (!closed) diagnostics_->Error(diag::kUnexpected, location_, "`\"`", "the end of the line");
}

void Lexer::LexNumber() {
  size_t length = 1;
  const auto is_exponent = [&](size_t i) {
    return (Peek(i) == '+' || Peek(i) == '-') && (Peek(i - 1) == 'e' || Peek(i - 1) == 'E') &&
           !(Peek() == '0' && (Peek(1) == 'x' || Peek(1) == 'X' || Peek(1) == 'f' ||
                               Peek(1) == 'F' || Peek(1) == 'd' || Peek(1) == 'D'));
  };
  while (IsWord(Peek(length)) || is_exponent(length) ||
         (Peek(length) == '.' && IsDigit(Peek(length + 1)))) {
    ++length;
  }
  if (Peek(length) == '.' && !IsWord(Peek(length + 1))) ++length;  // `1.`
  Take(Token::kInteger, length);
  LexDecimal(text_);
}

void Lexer::LexDecimal(std::string_view word) {
  const char kind = word.size() > 1 && word[0] == '0' ? word[1] : '\0';
  bool good = false;
  value_ = 0;
  if ((kind == 'f' || kind == 'F') && word.size() == 10 && IsHexDigit(word[2])) {
    token_ = Token::kFloat32;
    good = Convert(word.substr(2), 16, &value_);
  } else if ((kind == 'd' || kind == 'D') && word.size() == 18 && IsHexDigit(word[2])) {
    token_ = Token::kFloat64;
    good = Convert(word.substr(2), 16, &value_);
  } else {
    if (word.back() == 'U') word.remove_suffix(1);
    if (kind == 'x' || kind == 'X') {
      good = Convert(word.substr(2), 16, &value_);
    } else if (kind == 'b' || kind == 'B') {
      good = Convert(word.substr(2), 2, &value_);
    } else if (word.find_first_of(".eE") != std::string_view::npos) {
      double number = 0;
      const char* end = word.data() + word.size();
      const auto [stop, error] = std::from_chars(word.data(), end, number);
      good = error == std::errc() && stop == end;
      value_ = std::bit_cast<uint64_t>(number);
      token_ = Token::kFloat64;
    } else {
      good = Convert(word, word.size() > 1 && word[0] == '0' ? 8 : 10, &value_);
    }
  }
  if (!good) diagnostics_->Error(diag::kBadNumber, location_, text_);
}

}  // namespace tarsia::ptx
