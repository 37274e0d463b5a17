#include "layout/text/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "layout/text/diagnostics.h"

namespace tarsia {
namespace {

enum CharClass : uint8_t { kOther = 0, kNameStart = 1, kDigit = 2 };

constexpr std::array<uint8_t, 256> kClasses = [] {
  std::array<uint8_t, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<size_t>(c)] = kNameStart;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<size_t>(c)] = kNameStart;
  table['_'] = kNameStart;
  for (int c = '0'; c <= '9'; ++c) table[static_cast<size_t>(c)] = kDigit;
  return table;
}();

uint8_t Class(char c) { return kClasses[static_cast<unsigned char>(c)]; }
bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
int HexDigit(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

struct Punctuation {
  std::string_view spelling;
  Token token;
};
constexpr Punctuation kPunctuation[] = {
#define WORD(constant, name)
#define PUNCTUATION(constant, spelling) {spelling, Token::constant},
#include "layout/text/tokens.def"
#undef WORD
#undef PUNCTUATION
};

// What other languages write with characters that this one lacks.
struct OtherCharacter {
  char character;
  std::string_view help;
};
constexpr OtherCharacter kOtherCharacters[] = {
    {'#', "a comment begins with `//`"},
    {'&', "`a and b` is true if both are"},
    {'|', "`a or b` is true if one of them is"},
    {'!', "`not a` is true if a is false"},
};

// The longest punctuation at the beginning of a text, or null.
const Punctuation* FindPunctuation(std::string_view text) {
  const Punctuation* found = nullptr;
  for (const Punctuation& row : kPunctuation) {
    const bool longer = found == nullptr || row.spelling.size() > found->spelling.size();
    if (longer && text.starts_with(row.spelling)) found = &row;
  }
  return found;
}

}  // namespace

Lexer::Lexer(std::string_view text, Diagnostics* diagnostics, bool keep_comments)
    : input_(text), diagnostics_(diagnostics), keep_comments_(keep_comments) {
  Scan();
}

void Lexer::Next() {
  previous_end_ = {line_, column_ + length_, 1};
  Scan();
}

void Lexer::SkipBlanks() {
  while (position_ < input_.size()) {
    const char c = input_[position_];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++position_;
    } else if (c == '\n' && depth_ > 0) {
      ++position_;
      ++current_line_;
      line_start_ = position_;
    } else if (c == '/' && At(position_ + 1) == '/') {
      size_t end = input_.find('\n', position_);
      if (end == std::string_view::npos) end = input_.size();
      if (keep_comments_) {
        size_t last = end;
        while (last > position_ &&
               (input_[last - 1] == ' ' || input_[last - 1] == '\r' || input_[last - 1] == '\t')) {
          --last;
        }
        Comment comment;
        comment.location = {current_line_, static_cast<uint32_t>(position_ - line_start_ + 1), 2};
        comment.text = input_.substr(position_, last - position_);
        comment.own_line =
            input_.substr(line_start_, position_ - line_start_).find_first_not_of(" \t") ==
            std::string_view::npos;
        comments_.push_back(comment);
      }
      position_ = end;
    } else {
      return;
    }
  }
}

void Lexer::Finish(Token token, size_t begin) {
  token_ = token;
  line_ = current_line_;
  column_ = static_cast<uint32_t>(begin - line_start_ + 1);
  length_ = static_cast<uint32_t>(position_ - begin);
  text_ = input_.substr(begin, position_ - begin);
}

void Lexer::Scan() {
  const size_t before = position_;
  SkipBlanks();
  after_blank_ = position_ != before;
  const size_t begin = position_;
  if (begin >= input_.size()) {
    Finish(Token::kEnd, begin);
    return;
  }
  const char c = input_[begin];
  if (c == '\n') {
    ++position_;
    Finish(Token::kNewline, begin);
    ++current_line_;
    line_start_ = position_;
    return;
  }
  if (Class(c) == kNameStart) return ScanName(begin);
  if (Class(c) == kDigit) return ScanNumber(begin);
  if (c == '"') return ScanString(begin);
  if (c == '%' && Class(At(begin + 1)) == kNameStart) {
    ++position_;
    ScanName(begin);
    token_ = Token::kValue;
    text_.remove_prefix(1);
    return;
  }
  ScanPunctuation();
}

void Lexer::ScanName(size_t begin) {
  const char* p = input_.data() + position_;
  const char* const end = input_.data() + input_.size();
  while (true) {
    while (p != end && Class(*p) != kOther) ++p;
    if (end - p >= 2 && p[0] == '.' && Class(p[1]) != kOther) {
      ++p;
    } else {
      break;
    }
  }
  position_ = static_cast<size_t>(p - input_.data());
  Finish(Token::kName, begin);
}

void Lexer::ScanNumber(size_t begin) {
  const char* const first = input_.data() + begin;
  const char* const last = input_.data() + input_.size();
  if (first[0] == '0' && (At(begin + 1) == 'x' || At(begin + 1) == 'X')) {
    const auto [end, error] = std::from_chars(first + 2, last, integer_, 16);
    position_ = static_cast<size_t>(end - input_.data());
    Finish(Token::kInteger, begin);
    if (error != std::errc() || end == first + 2 || Class(At(position_)) != kOther) {
      while (Class(At(position_)) != kOther) ++position_;
      Finish(Token::kError, begin);
      diagnostics_->Error(diag::kBadNumber, location(), text_);
    }
    return;
  }
  const auto [end, error] = std::from_chars(first, last, integer_, 10);
  position_ = static_cast<size_t>(end - input_.data());
  const bool fraction = At(position_) == '.' && Class(At(position_ + 1)) == kDigit;
  const bool exponent = At(position_) == 'e' || At(position_) == 'E';
  if (fraction || exponent) {
    const auto [float_end, float_error] = std::from_chars(first, last, number_);
    position_ = static_cast<size_t>(float_end - input_.data());
    Finish(Token::kFloat, begin);
    if (float_error == std::errc() && Class(At(position_)) == kOther) return;
    while (Class(At(position_)) != kOther) ++position_;
    Finish(Token::kError, begin);
    diagnostics_->Error(diag::kBadNumber, location(), text_);
    return;
  }
  Finish(Token::kInteger, begin);
  if (error != std::errc() || Class(At(position_)) != kOther) {
    while (Class(At(position_)) != kOther) ++position_;
    Finish(Token::kError, begin);
    diagnostics_->Error(diag::kBadNumber, location(), text_);
  }
}

void Lexer::ScanString(size_t begin) {
  ++position_;
  while (position_ < input_.size() && input_[position_] != '"' && input_[position_] != '\n') {
    position_ += input_[position_] == '\\' && At(position_ + 1) != '\n' ? 2 : 1;
  }
  position_ = std::min(position_, input_.size());
  if (At(position_) != '"') {
    Finish(Token::kError, begin);
    diagnostics_->Error(diag::kUnterminatedString, location());
    return;
  }
  ++position_;
  Finish(Token::kString, begin);
}

std::string Lexer::StringValue() const {
  std::string out;
  for (size_t i = 1; i + 1 < text_.size(); ++i) {
    if (text_[i] != '\\') {
      out += text_[i];
      continue;
    }
    const char c = text_[++i];
    if (c == 'n') {
      out += '\n';
    } else if (c == 't') {
      out += '\t';
    } else if (c == 'x' && i + 3 < text_.size() && IsHex(text_[i + 1]) && IsHex(text_[i + 2])) {
      out += static_cast<char>(HexDigit(text_[i + 1]) * 16 + HexDigit(text_[i + 2]));
      i += 2;
    } else {
      out += c;
    }
  }
  return out;
}

// A brace closes all open brackets, so that one missing bracket does not affect the rest of the
// file.
void Lexer::NoteBracket(Token token) {
  if (token == Token::kLeftParen || token == Token::kLeftBracket) ++depth_;
  if (token == Token::kRightParen || token == Token::kRightBracket) depth_ -= depth_ > 0;
  if (token == Token::kLeftBrace || token == Token::kRightBrace) depth_ = 0;
}

void Lexer::ScanPunctuation() {
  const size_t begin = position_;
  const char c = input_[begin];
  const Punctuation* found = FindPunctuation(input_.substr(begin, 2));
  const Token token = found != nullptr ? found->token : Token::kError;
  position_ += found != nullptr ? found->spelling.size() : 1;
  NoteBracket(token);
  // Two of an operator are one error, as are the bytes of one character beyond ASCII.
  if (found == nullptr && (c == '&' || c == '|') && At(position_) == c) ++position_;
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x80) {
    while ((static_cast<unsigned char>(At(position_)) & 0xC0) == 0x80) ++position_;
  }
  Finish(token, begin);
  if (token != Token::kError) return;
  const bool printable = byte > 0x20 && byte < 0x7F;
  Diagnostic& error = diagnostics_->Error(
      diag::kBadCharacter, location(),
      printable ? fmt::format("`{}`", text_) : fmt::format("byte 0x{:02x}", +byte));
  for (const OtherCharacter& other : kOtherCharacters) {
    if (c == other.character) error.help = other.help;
  }
  if (byte >= 0x80) error.help = "names are of letters, digits and `_` of ASCII";
}

std::string Lexer::Found() const {
  if (token_ == Token::kValue) return "`%" + std::string(text_) + "`";
  const bool as_written =
      token_ == Token::kName || token_ == Token::kInteger || token_ == Token::kFloat;
  return as_written ? "`" + std::string(text_) + "`" : std::string(TokenName(token_));
}

bool Lexer::AssignFollows() const {
  const size_t next = input_.find_first_not_of(" \t\r\n", position_);
  return next != std::string_view::npos && input_[next] == '=' && At(next + 1) != '=';
}

void Lexer::SkipLine() {
  depth_ = 0;
  while (token_ != Token::kEnd && token_ != Token::kNewline) {
    Next();
    if (token_ == Token::kRightBrace || token_ == Token::kLeftBrace) return;
    depth_ = 0;
  }
}

std::string_view TokenName(Token token) {
  static constexpr std::string_view kTokenNames[] = {
#define WORD(constant, name) name,
#define PUNCTUATION(constant, spelling) "`" spelling "`",
#include "layout/text/tokens.def"
#undef WORD
#undef PUNCTUATION
  };
  return kTokenNames[static_cast<size_t>(token)];
}

}  // namespace tarsia
