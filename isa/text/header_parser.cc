#include "isa/text/header_parser.h"

#include <algorithm>
#include <string>

#include "isa/diagnostics.h"
#include "layout/text/diagnostics.h"

namespace tarsia {

void ReportAgain(Diagnostics& diagnostics, std::string_view what, std::string_view name,
                 Location again, Location first) {
  Diagnostic& error = diagnostics.Error(diag::kRedefinition, again, what, name);
  if (first.IsText()) {
    error.notes.push_back({first, "`" + std::string(name) + "` is defined here"});
  }
}

bool HeaderParser::ParseConstants(std::vector<Constant>& constants, Reserved reserved) {
  do {
    if (!ParseConstant(constants, reserved)) return false;
  } while (tokens_.Accept(Token::kComma));
  return true;
}

bool HeaderParser::ParseConstant(std::vector<Constant>& constants, Reserved reserved) {
  Constant constant;
  constant.location = lexer_.location();
  if (lexer_.token() != Token::kName) return tokens_.Expected("the constant's name");
  const std::string_view name = lexer_.text();
  constant.name = module_.pool.strings().Intern(name);
  CheckName(name, constants, reserved);
  lexer_.Next();
  if (!tokens_.Expect(Token::kColon)) return false;
  if (lexer_.token() != Token::kName) return tokens_.Expected("the constant's kind");
  const auto* const kind =
      std::find(std::begin(kConstKindNames), std::end(kConstKindNames), lexer_.text());
  if (kind == std::end(kConstKindNames)) {
    tokens_.diagnostics().Error(diag::kUnknownKind, lexer_.location(), lexer_.text());
    return false;
  }
  constant.kind = static_cast<ConstKind>(kind - std::begin(kConstKindNames));
  lexer_.Next();
  if (tokens_.Accept(Token::kAssign)) {
    const Location begin = lexer_.location();
    constant.default_value = expressions_.Parse();
    if (constant.default_value.none()) return false;
    constant.default_location = tokens_.Until(begin);
  }
  if (lexer_.IsName("tune")) {
    lexer_.Next();
    constant.candidates = ParseCandidates();
    if (constant.candidates.none()) return false;
  }
  constants.push_back(constant);
  return true;
}

void HeaderParser::CheckName(std::string_view name, const std::vector<Constant>& constants,
                             Reserved reserved) {
  for (const Constant& other : constants) {
    if (module_.pool.strings()[other.name] != name) continue;
    ReportAgain(tokens_.diagnostics(), "constant", name, lexer_.location(), other.location);
  }
  const std::string_view what = reserved(name);
  if (!what.empty()) {
    tokens_.diagnostics().Error(diag::kReservedName, lexer_.location(), name, what);
  }
}

ExprId HeaderParser::ParseCandidates() {
  if (!tokens_.Expect(Token::kLeftBrace)) return {};
  std::vector<ExprId> items;
  const bool ok = tokens_.ParseItems(Token::kRightBrace, [&] {
    const ExprId item = expressions_.Parse();
    if (item.none()) return false;
    if (items.size() >= ExprPool::kMaxItems) {
      tokens_.diagnostics().Error(diag::kTooMany, lexer_.location(), +ExprPool::kMaxItems, "items");
      return false;
    }
    items.push_back(item);
    return true;
  });
  return ok ? module_.pool.List(items) : ExprId();
}

bool HeaderParser::ParseRequire(std::vector<Require>& requirements) {
  Require require;
  require.location = lexer_.location();
  require.condition = expressions_.Parse();
  if (require.condition.none()) return false;
  require.location.length = std::max(1u, lexer_.previous_end().column - require.location.column);
  if (tokens_.Accept(Token::kComma)) {
    if (lexer_.token() != Token::kString) return tokens_.Expected("the message, a string");
    require.message = module_.pool.strings().Intern(lexer_.StringValue());
    lexer_.Next();
  } else {
    require.message = module_.pool.strings().Intern("");
  }
  requirements.push_back(require);
  return true;
}

}  // namespace tarsia
