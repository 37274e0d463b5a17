#include "isa/text/inst_parser.h"

#include <algorithm>
#include <string>

#include "isa/diagnostics.h"
#include "layout/text/diagnostics.h"

namespace tarsia {
namespace {

// "`a`, `b`, `c`"
std::string Quoted(std::span<const std::string_view> names) {
  std::string out;
  for (const std::string_view name : names) {
    out += (out.empty() ? "`" : ", `") + std::string(name) + "`";
  }
  return out;
}

std::string AttributeHelp(std::string_view text, const std::vector<std::string_view>& known) {
  if (std::string help = DidYouMean(text, known); !help.empty()) return help;
  if (known.empty()) return "it has no attributes";
  return "it has " + Quoted(known);
}

}  // namespace

std::string Plural(size_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

bool InstParser::ParseOperands(const InstRow& row, const PendingInst& pending) {
  for (size_t i = 0; i < row.operands.size(); ++i) {
    const OperandRow& operand = row.operands[i];
    if (i > 0) {
      if (lexer_.token() != Token::kComma) {
        if (operand.kind == OperandKind::kOptionalTile) break;
        diagnostics_.Error(diag::kMissingOperand, EndOf(pending), row.mnemonic, operand.name);
        return false;
      }
      lexer_.Next();
    } else if (tokens_.AtEndOfOperands()) {
      diagnostics_.Error(diag::kMissingOperand, EndOf(pending), row.mnemonic, operand.name);
      return false;
    }
    if (!ParseOperand(operand)) return false;
  }
  if (lexer_.token() == Token::kComma) {
    diagnostics_.Error(diag::kOperandCount, lexer_.location(), row.mnemonic,
                       Plural(row.operands.size(), "operand"), row.operands.size() + 1);
    return false;
  }
  return true;
}

bool InstParser::ParseOperand(const OperandRow& operand) {
  switch (operand.kind) {
    case OperandKind::kTile:
    case OperandKind::kOptionalTile:
    case OperandKind::kMemoryTile:
    case OperandKind::kSource:
      if (lexer_.token() != Token::kValue) {
        return tokens_.Expected("operand `" + std::string(operand.name) +
                                "`, a value such as `%x`");
      }
      return ParseValueSlot();
    case OperandKind::kElement:
      return ParseElement(operand);
    case OperandKind::kText:
      if (lexer_.token() != Token::kString) {
        return tokens_.Expected("the " + std::string(operand.name) + ", a string");
      }
      return ParseSlot();
    case OperandKind::kTileOrExpr:
    case OperandKind::kExpr:
    case OperandKind::kIndex:
    case OperandKind::kCondition:
    case OperandKind::kConstant:
      return ParseSlot();
  }
  return false;
}

// A value and, in brackets, the indices of an element.
bool InstParser::ParseElement(const OperandRow& operand) {
  if (lexer_.token() != Token::kValue) {
    return tokens_.Expected("operand `" + std::string(operand.name) + "`, such as `%tile[0, 0]`");
  }
  if (!ParseValueSlot()) return false;
  if (lexer_.token() != Token::kLeftBracket) return tokens_.Expected("`[` and the indices");
  const Location begin = lexer_.location();
  const ExprId list = expressions_.ParseList();
  if (list.none()) return false;
  slots_.push_back({list, tokens_.Until(begin)});
  return true;
}

bool InstParser::ParseValueSlot() {
  const Location location = lexer_.location();
  const std::optional<ExprId> value = names_.ResolveValue(lexer_.text(), location);
  lexer_.Next();
  if (!value) return false;
  slots_.push_back({*value, location});
  return true;
}

bool InstParser::ParseSlot() {
  const Location begin = lexer_.location();
  const ExprId id = expressions_.Parse();
  if (id.none()) return false;
  slots_.push_back({id, tokens_.Until(begin)});
  return true;
}

bool InstParser::ParseAttributes(const InstRow& row, PendingInst& pending) {
  while (lexer_.token() == Token::kName) {
    const std::string_view text = lexer_.text();
    const Location location = lexer_.location();
    const std::optional<Attr> attr = FindAttr(text);
    const std::optional<size_t> index = attr ? row.AttrIndex(*attr) : std::nullopt;
    if (!index) {
      std::vector<std::string_view> known;
      for (const Attr a : row.attrs) known.push_back(Row(a).text);
      diagnostics_.Error(diag::kUnknownAttribute, location, row.mnemonic, text).help =
          AttributeHelp(text, known);
      return false;
    }
    if ((pending.inst.attrs >> *index & 1) != 0) {
      diagnostics_.Error(diag::kRepeatedAttribute, location, text);
      return false;
    }
    lexer_.Next();
    const Location value_at = lexer_.location();
    const ExprId value = ParseAttributeValue(Row(*attr));
    if (value.none()) return false;
    attrs_[*index] = {value,
                      Row(*attr).kind == AttrKind::kFlag ? location : tokens_.Until(value_at)};
    pending.inst.attrs = static_cast<uint8_t>(pending.inst.attrs | 1u << *index);
  }
  return true;
}

ExprId InstParser::ParseAttributeValue(const AttrRow& row) {
  switch (row.kind) {
    case AttrKind::kFlag:
      return module_.pool.Bool(true);
    case AttrKind::kInt:
      return expressions_.ParseSum();
    case AttrKind::kIntList:
      if (lexer_.token() != Token::kLeftBracket) {
        tokens_.Expected("a list such as `[0, 1]`");
        return {};
      }
      return expressions_.ParseList();
    case AttrKind::kRounding:
    case AttrKind::kCache:
    case AttrKind::kVia:
      return ParseWord(row);
  }
  return {};
}

ExprId InstParser::ParseWord(const AttrRow& row) {
  const auto words = AttrWords(row.kind);
  if (lexer_.token() != Token::kName) {
    tokens_.Expected("a word");
    return {};
  }
  const auto found = std::find(words.begin(), words.end(), lexer_.text());
  if (found == words.end()) {
    Diagnostic& error =
        diagnostics_.Error(diag::kUnknownWord, lexer_.location(), row.text, lexer_.text());
    error.help = "it can be " + Quoted(words);
    return {};
  }
  lexer_.Next();
  return module_.pool.Int(found - words.begin());
}

bool InstParser::ParseAnnotation(PendingInst& pending) {
  lexer_.Next();
  const Location begin = lexer_.location();
  TypeExpr type;
  type.space = AcceptSpace();
  if (type.space != Space::kNone) {
    if (!tokens_.Expect(Token::kLess)) return false;
    type.dtype = ParseDType();
    if (type.dtype.none() || !tokens_.Expect(Token::kGreater)) return false;
  } else if (lexer_.token() != Token::kLeftBracket) {
    type.dtype = ParseDType();
    if (type.dtype.none()) return false;
  }
  if (lexer_.token() == Token::kLeftBracket) {
    type.shape = expressions_.ParseList();
    if (type.shape.none()) return false;
    if (!tokens_.AtEndOfOperands() && !lexer_.IsName("bits")) {
      type.layout = expressions_.Parse();
      if (type.layout.none()) return false;
    }
    if (lexer_.IsName("bits")) {
      lexer_.Next();
      type.bits = expressions_.Parse();
      if (type.bits.none()) return false;
    }
  }
  pending.type_location = tokens_.Until(begin);
  pending.inst.type = module_.Intern(type);
  return true;
}

Space InstParser::AcceptSpace() {
  for (const Space space : {Space::kGlobal, Space::kShared, Space::kRegister}) {
    if (lexer_.IsName(SpaceName(space))) {
      lexer_.Next();
      return space;
    }
  }
  return Space::kNone;
}

ExprId InstParser::ParseDType() { return expressions_.ParseSum(); }

Location InstParser::EndOf(const PendingInst& pending) const {
  Location at = pending.location;
  const Location end = lexer_.previous_end();
  if (end.line == at.line && end.column > at.column) at.length = end.column - at.column;
  return at;
}

}  // namespace tarsia
