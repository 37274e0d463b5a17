#include "ptx/parse/parser_part.h"

namespace tarsia::ptx {

ParserState::ParserState(const SourceFile& source)
    : lexer(source.text(), &diagnostics), module(std::make_shared<Module>()) {
  module->source_name = source.name();
}

// ---- tokens ----------------------------------------------------------------------------------

bool ParserPart::Expected(std::string_view what) {
  std::string found = "the end of the text";
  if (lexer_.token() != Token::kEnd) {
    found = lexer_.token() == Token::kDot ? "`." : "`";
    found += std::string(lexer_.text()) + "`";
  }
  diagnostics_.Error(diag::kUnexpected, lexer_.location(), what, found);
  return false;
}

bool ParserPart::Take(char punctuation) {
  if (!lexer_.Is(punctuation)) return false;
  lexer_.Next();
  return true;
}

bool ParserPart::Expect(char punctuation) {
  if (Take(punctuation)) return true;
  return Expected(std::string("`") + punctuation + "`");
}

std::optional<uint64_t> ParserPart::ParseCount() {
  if (lexer_.token() != Token::kInteger) {
    Expected("a number");
    return std::nullopt;
  }
  const uint64_t value = lexer_.value();
  lexer_.Next();
  return value;
}

std::optional<std::string> ParserPart::ParseName() {
  if (lexer_.token() != Token::kName) {
    Expected("a name");
    return std::nullopt;
  }
  std::string name(lexer_.text());
  lexer_.Next();
  return name;
}

std::optional<int64_t> ParserPart::ParseAddend() {
  if (!Take('+')) return 0;
  const bool negative = Take('-');
  const auto count = ParseCount();
  if (!count) return std::nullopt;
  return static_cast<int64_t>(negative ? ~*count + 1 : *count);
}

// Skips the rest of the statement, whatever lists in braces it has: past its semicolon or, if it
// has none, to the end of the scope or the beginning of another.
void ParserPart::SkipToSemicolon() {
  while (lexer_.token() != Token::kEnd && !lexer_.Is(';')) {
    if (lexer_.depth() <= state_.statement_depth) {
      if (lexer_.Is('}')) return;
      Lexer ahead = lexer_;
      if (lexer_.Is('{')) ahead.Next();
      if (ahead.token() == Token::kDot && lexer_.Is('{')) return;
    }
    lexer_.Next();
  }
  Take(';');
}

void ParserPart::SkipBraces() {
  int depth = 0;
  do {
    if (lexer_.Is('{')) ++depth;
    if (lexer_.Is('}')) --depth;
    lexer_.Next();
  } while (depth > 0 && lexer_.token() != Token::kEnd);
}

// ---- names -----------------------------------------------------------------------------------

std::optional<Symbol> ParserPart::FindSymbol(std::string_view name) {
  if (auto symbol = state_.builder->Find(name)) return symbol;
  const auto found = state_.names.find(name);
  if (found == state_.names.end()) return std::nullopt;
  return found->second;
}

std::optional<Symbol> ParserPart::NamedSymbol(std::string_view name, Location location) {
  const auto symbol = FindSymbol(name);
  if (!symbol) {
    diagnostics_.Error(diag::kUnknownName, location, name);
    state_.builder->DeclareBroken(name);
    return std::nullopt;
  }
  if (symbol->kind == Symbol::Kind::kBroken) {
    return std::nullopt;
  }
  return symbol;
}

std::optional<ParserPart::NamedUse> ParserPart::ParseSymbol() {
  const Location location = lexer_.location();
  auto name = ParseName();
  if (!name) return std::nullopt;
  const auto symbol = NamedSymbol(*name, location);
  if (!symbol) return std::nullopt;
  return NamedUse{std::move(*name), location, *symbol};
}

uint32_t ParserPart::FunctionNumber(const std::string& name) {
  if (const auto found = state_.names.find(name);
      found != state_.names.end() && found->second.kind == Symbol::Kind::kFunction) {
    return found->second.number;
  }
  Symbol symbol;
  symbol.kind = Symbol::Kind::kFunction;
  symbol.number = static_cast<uint32_t>(state_.module->functions.size());
  Function function;
  function.name = name;
  state_.module->functions.push_back(std::move(function));
  state_.names.insert_or_assign(name, symbol);
  return symbol.number;
}

uint32_t ParserPart::AddVariable(Variable variable) {
  state_.module->variables.push_back(std::move(variable));
  return static_cast<uint32_t>(state_.module->variables.size() - 1);
}

}  // namespace tarsia::ptx
