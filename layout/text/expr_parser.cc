#include "layout/text/expr_parser.h"

#include <array>
#include <limits>

#include "layout/text/diagnostics.h"

namespace tarsia {
namespace {

// Nested brackets, operators and arguments. The text of a tree of kMaxDepth levels has at most two
// per level.
constexpr int kMaxNesting = 2 * ExprPool::kMaxDepth + 16;

// Items of a list under construction; on the stack unless the list is very long.
class Items {
 public:
  void Add(ExprId id) {
    if (count_ < fixed_.size()) {
      fixed_[count_++] = id;
      return;
    }
    if (more_.empty()) more_.assign(fixed_.begin(), fixed_.end());
    more_.push_back(id);
    ++count_;
  }
  [[nodiscard]] size_t size() const { return count_; }
  [[nodiscard]] std::span<const ExprId> span() const {
    return more_.empty() ? std::span(fixed_.data(), count_) : std::span<const ExprId>(more_);
  }

 private:
  std::array<ExprId, 16> fixed_;
  std::vector<ExprId> more_;
  size_t count_ = 0;
};

// Counts one level of nesting for as long as it lives.
class Level {
 public:
  explicit Level(int& depth) : depth_(depth) { ++depth_; }
  ~Level() { --depth_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  [[nodiscard]] bool TooDeep() const { return depth_ > kMaxNesting; }

 private:
  int& depth_;
};

}  // namespace

std::optional<BinaryOp> BinaryOpOf(const Lexer& lexer) {
  switch (lexer.token()) {
    case Token::kEqualEqual:
      return BinaryOp::kEqual;
    case Token::kNotEqual:
      return BinaryOp::kNotEqual;
    case Token::kLess:
      return BinaryOp::kLess;
    case Token::kLessEqual:
      return BinaryOp::kLessEqual;
    case Token::kGreater:
      return BinaryOp::kGreater;
    case Token::kGreaterEqual:
      return BinaryOp::kGreaterEqual;
    case Token::kPlus:
      return BinaryOp::kAdd;
    case Token::kMinus:
      return BinaryOp::kSubtract;
    case Token::kStar:
      return BinaryOp::kMultiply;
    case Token::kSlash:
      return BinaryOp::kDivide;
    case Token::kPercent:
      return BinaryOp::kModulo;
    case Token::kName:
      if (lexer.text() == "and") return BinaryOp::kAnd;
      if (lexer.text() == "or") return BinaryOp::kOr;
      return std::nullopt;
    case Token::kEnd:
    case Token::kNewline:
    case Token::kError:
    case Token::kValue:
    case Token::kInteger:
    case Token::kFloat:
    case Token::kString:
    case Token::kLeftParen:
    case Token::kRightParen:
    case Token::kLeftBracket:
    case Token::kRightBracket:
    case Token::kLeftBrace:
    case Token::kRightBrace:
    case Token::kAssign:
    case Token::kComma:
    case Token::kColon:
    case Token::kTilde:
    case Token::kArrow:
    case Token::kDotDot:
      return std::nullopt;
  }
  return std::nullopt;
}

ExprId ExprParser::TooDeep() {
  diagnostics_.Error(diag::kTooDeep, lexer_.location(), +ExprPool::kMaxDepth);
  return {};
}

// A chain `a + b + c ...` nests to the left, so the levels of the result are counted.
ExprId ExprParser::Checked(ExprId id) {
  return pool_.Depth(id) > ExprPool::kMaxDepth ? TooDeep() : id;
}

ExprId ExprParser::Expected(std::string_view what) {
  if (lexer_.token() != Token::kError) {  // that error is reported already
    diagnostics_.Error(diag::kExpected, lexer_.location(), what, lexer_.Found());
  }
  return {};
}

ExprId ExprParser::Parse() { return ParseBinary(1); }

ExprId ExprParser::ParseSum() { return ParseBinary(Precedence(BinaryOp::kAdd)); }

// Precedence climbing; comparisons do not chain.
ExprId ExprParser::ParseBinary(int precedence) {
  if (precedence <= 3 && lexer_.IsName("not")) {
    lexer_.Next();
    const Level level(depth_);
    if (level.TooDeep()) return TooDeep();
    ExprId operand = ParseBinary(3);
    if (operand.none()) return {};
    operand = Checked(pool_.Unary(UnaryOp::kNot, operand));
    if (operand.none()) return {};
    return ParseBinaryRest(operand, precedence);
  }
  const ExprId left = ParseUnary();
  if (left.none()) return {};
  return ParseBinaryRest(left, precedence);
}

ExprId ExprParser::ParseBinaryRest(ExprId left, int precedence) {
  while (true) {
    const std::optional<BinaryOp> op = BinaryOpOf(lexer_);
    if (!op || Precedence(*op) < precedence) return left;
    const int own = Precedence(*op);
    lexer_.Next();
    const Level level(depth_);
    if (level.TooDeep()) return TooDeep();
    const ExprId right = ParseBinary(own + 1);
    if (right.none()) return {};
    left = Checked(pool_.Binary(*op, left, right));
    if (left.none()) return {};
    const std::optional<BinaryOp> next = BinaryOpOf(lexer_);
    if (own == Precedence(BinaryOp::kEqual) && next && Precedence(*next) == own) {
      return Expected("no second comparison (use `and`)");
    }
  }
}

ExprId ExprParser::ParseUnary() {
  const Token token = lexer_.token();
  if (token != Token::kMinus && token != Token::kTilde) return ParsePrimary();
  const Level level(depth_);
  if (level.TooDeep()) return TooDeep();
  const Location minus = lexer_.location();
  lexer_.Next();
  ExprId out;
  if (token == Token::kTilde) {
    const ExprId count = ParseUnary();
    if (!count.none()) out = Checked(pool_.Intern(ExprKind::kReplicate, 0, 0, {&count, 1}));
  } else if (AtNumber()) {
    out = ParseNegativeNumber(minus);
  } else {
    const ExprId operand = ParseUnary();
    if (!operand.none()) out = Checked(pool_.Unary(UnaryOp::kNegate, operand));
  }
  return out;
}

bool ExprParser::AtNumber() const {
  return lexer_.token() == Token::kInteger || lexer_.token() == Token::kFloat ||
         lexer_.IsName("inf");
}

ExprId ExprParser::ParseNegativeNumber(Location minus) {
  ExprId out;
  if (lexer_.token() == Token::kInteger) {
    constexpr uint64_t kLeast = uint64_t{1} << 63;
    if (lexer_.integer() > kLeast) {
      Location whole = minus;
      if (lexer_.location().line == minus.line) {
        whole.length = lexer_.location().column + lexer_.location().length - minus.column;
      }
      diagnostics_.Error(diag::kBadNumber, whole, "-" + std::string(lexer_.text()));
      return {};
    }
    out = pool_.Int(static_cast<int64_t>(0 - lexer_.integer()));
  } else if (lexer_.token() == Token::kFloat) {
    out = pool_.Float(-lexer_.number());
  } else {
    out = pool_.Float(-std::numeric_limits<double>::infinity());
  }
  lexer_.Next();
  return out;
}

ExprId ExprParser::ParsePrimary() {
  const Token token = lexer_.token();
  if (token == Token::kLeftParen) return ParseParentheses();
  if (token == Token::kLeftBracket) return ParseList();
  if (token == Token::kName) return ParseName();
  ExprId id;
  if (token == Token::kValue) {
    id = ResolveValue();
  } else if (token == Token::kInteger) {
    id = ConvertInteger();
  } else if (token == Token::kFloat) {
    id = pool_.Float(lexer_.number());
  } else if (token == Token::kString) {
    id = pool_.String(lexer_.StringValue());
  } else {
    return Expected("an expression");
  }
  lexer_.Next();
  return id;
}

// The value that the token names; none, after an error, if there is no such value.
ExprId ExprParser::ResolveValue() {
  if (values_ != nullptr) {
    return values_->ResolveValue(lexer_.text(), lexer_.location()).value_or(ExprId());
  }
  diagnostics_.Error(diag::kNoValuesHere, lexer_.location(), lexer_.text());
  return {};
}

ExprId ExprParser::ConvertInteger() {
  if (lexer_.integer() <= static_cast<uint64_t>(INT64_MAX)) {
    return pool_.Int(static_cast<int64_t>(lexer_.integer()));
  }
  diagnostics_.Error(diag::kBadNumber, lexer_.location(), lexer_.text());
  return {};
}

ExprId ExprParser::ParseParentheses() {
  const Level level(depth_);
  if (level.TooDeep()) return TooDeep();
  lexer_.Next();
  const ExprId id = Parse();
  if (id.none()) return {};
  if (lexer_.token() != Token::kRightParen) return Expected("`)`");
  lexer_.Next();
  return id;
}

ExprId ExprParser::ParseList() {
  lexer_.Next();
  return ParseSequence(Token::kRightBracket, ExprKind::kList, 0);
}

ExprId ExprParser::ParseSequence(Token close, ExprKind kind, uint8_t code) {
  const Level level(depth_);
  if (level.TooDeep()) return TooDeep();
  Items items;
  while (lexer_.token() != close) {
    const ExprId item = kind == ExprKind::kCall ? ParseArgument() : Parse();
    if (item.none()) return {};
    if (items.size() >= ExprPool::kMaxItems) {
      diagnostics_.Error(diag::kTooMany, lexer_.location(), +ExprPool::kMaxItems, "items");
      return {};
    }
    items.Add(item);
    if (lexer_.token() == Token::kComma) {
      lexer_.Next();
    } else if (lexer_.token() != close) {
      return Expected(close == Token::kRightParen ? "`,` or `)`" : "`,` or `]`");
    }
  }
  lexer_.Next();
  return Checked(pool_.Intern(kind, code, 0, items.span()));
}

ExprId ExprParser::ParseArgument() {
  if (lexer_.token() != Token::kName) return Parse();
  if (!lexer_.AssignFollows()) return Parse();
  const std::string_view name = lexer_.text();
  lexer_.Next();
  lexer_.Next();
  const ExprId value = Parse();
  return value.none() ? value : Checked(pool_.Keyword(name, value));
}

ExprId ExprParser::ParseName() {
  const std::string_view name = lexer_.text();
  const Location location = lexer_.location();
  lexer_.Next();
  if (lexer_.token() == Token::kLeftParen && !lexer_.after_blank()) {
    const std::optional<Func> function = FindFunc(name);
    if (!function) {
      diagnostics_.Error(diag::kUnknownFunction, location, name).help =
          DidYouMean(name, FuncNames());
      return {};
    }
    lexer_.Next();
    return ParseSequence(Token::kRightParen, ExprKind::kCall, static_cast<uint8_t>(*function));
  }
  if (name == "true" || name == "false") return pool_.Bool(name == "true");
  if (name == "inf") return pool_.Float(std::numeric_limits<double>::infinity());
  if (name == "nan") return pool_.Float(std::numeric_limits<double>::quiet_NaN());
  if (const std::optional<DType> type = FindDType(name)) return pool_.Type(*type);
  if (name == "and" || name == "or" || name == "not") {
    diagnostics_.Error(diag::kExpected, location, "an expression", "`" + std::string(name) + "`");
    return {};
  }
  const ExprKind kind =
      name.find('.') == std::string_view::npos ? ExprKind::kName : ExprKind::kFragment;
  return pool_.Intern(kind, 0, pool_.strings().Intern(name), {});
}

Result<ExprId> ParseExpression(std::string_view text, ExprPool& pool) {
  Diagnostics diagnostics;
  Lexer lexer(text, &diagnostics);
  while (lexer.token() == Token::kNewline) lexer.Next();
  ExprParser parser(lexer, pool, nullptr, diagnostics);
  const ExprId id = parser.Parse();
  while (!id.none() && lexer.token() == Token::kNewline) lexer.Next();
  if (!id.none() && lexer.token() != Token::kEnd) {
    diagnostics.Error(diag::kExpected, lexer.location(), "the end of the expression",
                      TokenName(lexer.token()));
  }
  if (!diagnostics.ok()) return diagnostics.list().front();
  return id;
}

}  // namespace tarsia
