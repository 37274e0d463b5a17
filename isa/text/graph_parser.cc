#include "isa/text/graph_parser.h"

#include <algorithm>
#include <string>
#include <utility>

#include "isa/diagnostics.h"
#include "isa/graph/diagnostics.h"
#include "isa/graph/other_words.h"
#include "isa/names.h"
#include "isa/text/inst_parser.h"
#include "layout/text/diagnostics.h"

namespace tarsia {
namespace {

// Of brackets, prefixes and operators: the text of ExprPool::kMaxDepth levels has at most two per
// level.
constexpr int kMaxOpen = 2 * ExprPool::kMaxDepth + 16;

}  // namespace

// ---- header ----------------------------------------------------------------------------------

bool GraphParser::Parse() {
  graph_.location = lexer_.location();
  ParseName();
  if (!ParseInputs() || !ParseOutputTypes()) lexer_.SkipLine();
  ParseClauses();
  const bool has_body = lexer_.token() == Token::kLeftBrace;
  if (has_body) {
    lexer_.Next();
    ParseBody();
    graph_.close_line = lexer_.location().line;
    if (!tokens_.Accept(Token::kRightBrace)) tokens_.Expected("`}` to close the graph");
  } else {
    tokens_.Expected("`{` to open the graph's body");
  }
  module_.graphs.push_back(std::move(graph_));
  return has_body;
}

bool GraphParser::ParseName() {
  if (lexer_.token() != Token::kName) return tokens_.Expected("the graph's name");
  graph_.name = module_.pool.strings().Intern(lexer_.text());
  if (!IsPlainName(lexer_.text())) tokens_.Expected("a name without dots");
  lexer_.Next();
  return true;
}

bool GraphParser::ParseInputs() {
  return tokens_.Expect(Token::kLeftParen) &&
         tokens_.ParseItems(Token::kRightParen, [&] { return ParseInput(); });
}

bool GraphParser::ParseInput() {
  GraphInput input;
  input.location = lexer_.location();
  if (lexer_.token() != Token::kValue) {
    return tokens_.Expected("an input such as `%x: f32[i:n, d]`");
  }
  const Name name{lexer_.text(), input.location};
  lexer_.Next();
  const bool ok = tokens_.Expect(Token::kColon) && ParseType(input.dtype, input.axes);
  // After an error too, so that the uses of the input cause no further ones.
  const StringId id = module_.pool.strings().Intern(name.text);
  Define(name, graph_.AddValue(id, module_.pool.strings()[id]));
  graph_.inputs.push_back(input);
  return ok;
}

bool GraphParser::ParseType(ExprId& dtype, IndexRange& axes) {
  dtype = expressions_.ParseSum();
  if (dtype.none()) return false;
  axes.first = static_cast<uint32_t>(graph_.axes.size());
  if (lexer_.token() != Token::kLeftBracket) return true;
  lexer_.Next();
  return tokens_.ParseItems(Token::kRightBracket, [&] {
    if (!ParseAxis(false, graph_.axes)) return false;
    ++axes.count;
    return true;
  });
}

// A name that an expression would read as something else.
void GraphParser::ReportAxisName(std::string_view name) {
  const std::string_view what = ReservedAs(name);
  const size_t digits = std::min(name.find_first_of("0123456789"), name.size());
  std::string other(name.substr(0, digits));
  other.append("_").append(name.substr(digits));
  diagnostics_.Error(diag::kGraphAxisName, lexer_.location(), name, what).help =
      "use another name, such as `" + other + "`";
}

bool GraphParser::ParseAxis(bool sum, std::vector<AxisExpr>& out) {
  if (lexer_.token() != Token::kName) return tokens_.Expected("an axis such as `i:n`");
  AxisExpr axis;
  axis.location = lexer_.location();
  const std::string_view name = lexer_.text();
  if (!IsExpressionName(name)) ReportAxisName(name);
  axis.name = module_.pool.strings().Intern(name);
  lexer_.Next();
  if (lexer_.token() == Token::kColon) {
    lexer_.Next();
    axis.extent = sum ? expressions_.ParseSum() : expressions_.Parse();
    if (axis.extent.none()) return false;
    axis.location = tokens_.Until(axis.location);
    const ExprPool& pool = module_.pool;
    if (pool.kind(axis.extent) == ExprKind::kName && pool.Text(axis.extent) == name) {
      axis.extent = ExprId();  // `d:d` is `d`
    }
  }
  out.push_back(axis);
  return true;
}

bool GraphParser::ParseOutputTypes() {
  if (lexer_.token() != Token::kArrow) return true;
  do {
    lexer_.Next();
    GraphOutputType type;
    const Location begin = lexer_.location();
    if (!ParseType(type.dtype, type.axes)) return false;
    type.location = tokens_.Until(begin);
    if (lexer_.IsName("in")) {
      lexer_.Next();
      if (lexer_.token() != Token::kValue) return tokens_.Expected("an input such as `%x`");
      const ExprId input = ResolveValue();
      if (input.none()) return false;
      type.in_place = input.value();
      type.location = tokens_.Until(begin);
    }
    graph_.output_types.push_back(type);
  } while (lexer_.token() == Token::kComma);
  return true;
}

void GraphParser::ParseClauses() {
  tokens_.SkipNewlines();
  while (lexer_.token() == Token::kName && !tokens_.AtModulePart()) {
    if (!ParseClause() || (lexer_.token() != Token::kLeftBrace && !tokens_.ExpectEndOfLine())) {
      lexer_.SkipLine();
      if (lexer_.token() == Token::kRightBrace) lexer_.Next();
    }
    tokens_.SkipNewlines();
  }
}

bool GraphParser::ParseClause() {
  static constexpr std::string_view kClauses[] = {"const", "require"};
  const std::string_view word = lexer_.text();
  if (word != "const" && word != "require") {
    diagnostics_.Error(diag::kUnknownClause, lexer_.location(), word, "graph").help =
        DidYouMean(word, kClauses);
    return false;
  }
  lexer_.Next();
  if (word == "require") return header_.ParseRequire(graph_.requires_);
  if (header_.ParseConstants(graph_.constants, &ReservedInGraphs)) return true;
  // A number that is no size is an input without axes.
  if (diagnostics_.last().info == &diag::kUnknownKind) {
    const std::string_view kind = lexer_.text();
    const std::string_view other = FindOther(OtherTypes(), kind);
    const std::string type(FindDType(kind) ? kind : other.empty() ? "f32" : other);
    diagnostics_.last().help +=
        "; a number that is no size is an input, such as `%a: " + type + "`";
  }
  return false;
}

// ---- body ------------------------------------------------------------------------------------

void GraphParser::ParseBody() {
  bool returned = false;
  tokens_.SkipNewlines();
  while (lexer_.token() != Token::kRightBrace && lexer_.token() != Token::kEnd) {
    if (tokens_.AtModulePart() && lexer_.location().column == 1) break;  // a `}` is missing
    if (returned) {
      diagnostics_.Error(diag::kGraphAfterReturn, lexer_.location());
      tokens_.SkipBraces();
      return;
    }
    returned = lexer_.IsName("return");
    if (!ParseStatement() || !tokens_.ExpectEndOfLine()) {
      HelpWithToken();
      Recover();
    }
    tokens_.SkipNewlines();
  }
  if (!returned) diagnostics_.Error(diag::kGraphNoReturn, graph_.location);
}

void GraphParser::HelpWithToken() {
  Diagnostic& error = diagnostics_.last();
  if (!error.help.empty() || error.location != lexer_.location()) return;
  const Location before = lexer_.previous_end();
  const bool adjacent = before.line == error.location.line &&
                        before.column == error.location.column && !lexer_.after_blank();
  const Token token = lexer_.token();
  if (token == Token::kAssign) error.help = "`a == b` compares";
  if (token == Token::kStar && adjacent) error.help = "`pow(a, b)` is a power";
  if (token == Token::kError && lexer_.text() == "^") error.help = "`pow(a, b)` is a power";
  if (token == Token::kLeftBracket) {
    error.help =
        "`slice` takes a part of an axis, `gather` the elements that indices name, "
        "`select(iota<i> == 0, %x, 0)` and a `sum` one element";
  }
}

// A bracket that was left open has joined the next line to this one.
void GraphParser::Recover() {
  if (lexer_.token() == Token::kRightBrace) return;
  const bool first = lexer_.previous_end().line != lexer_.location().line;
  if (first && (lexer_.IsName("return") || lexer_.token() == Token::kValue)) {
    lexer_.LeaveBrackets();
  } else {
    lexer_.SkipLine();
  }
}

bool GraphParser::Close(Location open) {
  if (tokens_.Accept(Token::kRightParen)) return true;
  const Location at = lexer_.location();
  if (at.line == open.line || lexer_.token() == Token::kError) {
    return tokens_.Expected(TokenName(Token::kRightParen));
  }
  diagnostics_.Error(diag::kGraphUnclosed, open, lexer_.Found(), at.line);
  return false;
}

bool GraphParser::ParseStatement() {
  results_.clear();
  if (lexer_.IsName("return")) return ParseReturn();
  if (lexer_.token() != Token::kValue) {
    return tokens_.Expected("a statement such as `%y = exp(%x)`, or `return`");
  }
  if (!ParseResults()) return false;
  const Location begin = lexer_.location();
  head_ = true;
  const ExprId root = ParseBinary(1);
  head_ = false;
  if (!root.none() && tokens_.ExpectEndOfLine() && Finish(root, tokens_.Until(begin))) return true;
  DefineResults();
  return false;
}

bool GraphParser::ParseResults() {
  while (true) {
    if (lexer_.token() != Token::kValue) return tokens_.Expected("a value such as `%x`");
    results_.push_back({lexer_.text(), lexer_.location()});
    lexer_.Next();
    if (lexer_.token() != Token::kComma) break;
    lexer_.Next();
  }
  if (tokens_.Expect(Token::kAssign)) return true;
  DefineResults();
  return false;
}

bool GraphParser::Finish(ExprId root, Location begin) {
  if (!root.is_value()) {
    diagnostics_.Error(diag::kGraphConstantStatement, begin);
    return false;
  }
  const uint32_t value = root.value();
  if (graph_.HasName(value)) {
    diagnostics_.Error(diag::kGraphNamedTwice, begin, graph_.ValueName(value));
    return false;
  }
  const GraphRow& row = Row(graph_.nodes.back().op);
  if (results_.size() != row.results()) {
    diagnostics_.Error(diag::kResultCount, results_.front().location, row.word,
                       Plural(row.results(), "result"),
                       std::to_string(results_.size()) + (results_.size() == 1 ? " is" : " are"));
    return false;
  }
  for (size_t i = 0; i < results_.size(); ++i) {
    const StringId id = module_.pool.strings().Intern(results_[i].text);
    graph_.value_name_ids[value + i] = id;
    graph_.value_names[value + i] = module_.pool.strings()[id];
    Define(results_[i], value + static_cast<uint32_t>(i));
  }
  return true;
}

// After an error, so that the uses of the results cause no further errors.
void GraphParser::DefineResults() {
  for (const Name& name : results_) {
    if (values_.contains(name.text)) continue;
    const StringId id = module_.pool.strings().Intern(name.text);
    Define(name, graph_.AddValue(id, module_.pool.strings()[id]));
  }
}

uint32_t GraphParser::Define(const Name& name, uint32_t value) {
  if (definitions_.size() <= value) definitions_.resize(value + 1);
  definitions_[value] = name.location;
  const auto [first, is_new] = values_.try_emplace(name.text, value);
  if (!is_new) {
    ReportAgain(diagnostics_, "value", "%" + std::string(name.text), name.location,
                definitions_[first->second]);
  }
  return value;
}

bool GraphParser::ParseReturn() {
  constexpr std::string_view kNameIt = "a formula gets a name in a line before: `%y = ...`";
  graph_.return_location = lexer_.location();
  lexer_.Next();
  do {
    if (lexer_.token() != Token::kValue) {
      tokens_.Expected("a value such as `%y`");
      const bool named = lexer_.token() == Token::kName && values_.contains(lexer_.text());
      diagnostics_.last().help =
          named ? "did you mean `%" + std::string(lexer_.text()) + "`?" : std::string(kNameIt);
      return false;
    }
    const Location location = lexer_.location();
    const ExprId value = ResolveValue();
    if (value.none()) return false;
    graph_.outputs.push_back(value.value());
    graph_.output_locations.push_back(location);
  } while (tokens_.Accept(Token::kComma));
  if (tokens_.ExpectEndOfLine()) return true;
  HelpWithToken();
  if (diagnostics_.last().help.empty()) diagnostics_.last().help = kNameIt;
  return false;
}

// ---- expressions -----------------------------------------------------------------------------

// Precedence climbing, as in layout/text/expr_parser.h; comparisons do not chain.
ExprId GraphParser::ParseBinary(int precedence) {
  const Location begin = lexer_.location();
  if (precedence > 3 || !lexer_.IsName("not")) {
    const ExprId left = ParseUnary();
    return left.none() ? left : ParseBinaryRest(left, begin, precedence);
  }
  head_ = false;
  lexer_.Next();
  if (depth_ >= kMaxOpen) return TooDeep();
  ++depth_;
  const Location at = lexer_.location();
  const ExprId operand = ParseBinary(3);
  --depth_;
  if (operand.none()) return {};
  const ExprId made = MakeUnary(UnaryOp::kNot, operand, tokens_.Until(at), tokens_.Until(begin));
  return made.none() ? made : ParseBinaryRest(made, begin, precedence);
}

ExprId GraphParser::ParseBinaryRest(ExprId left, Location begin, int precedence) {
  head_ = false;
  while (true) {
    const std::optional<BinaryOp> op = BinaryOpOf(lexer_);
    if (!op || Precedence(*op) < precedence) return left;
    const Location left_at = tokens_.Until(begin);
    lexer_.Next();
    const Location at = lexer_.location();
    if (depth_ >= kMaxOpen) return TooDeep();
    ++depth_;
    const ExprId right = ParseBinary(Precedence(*op) + 1);
    --depth_;
    if (right.none()) return {};
    left = MakeBinary(*op, left, right, left_at, tokens_.Until(at), tokens_.Until(begin));
    if (left.none()) return {};
    const std::optional<BinaryOp> next = BinaryOpOf(lexer_);
    const int compare = Precedence(BinaryOp::kEqual);
    if (Precedence(*op) == compare && next && Precedence(*next) == compare) {
      tokens_.Expected("no second comparison (use `and`)");
      return {};
    }
  }
}

ExprId GraphParser::ParseUnary() {
  if (lexer_.token() != Token::kMinus) return ParsePrimary();
  head_ = false;
  const Location minus = lexer_.location();
  lexer_.Next();
  if (expressions_.AtNumber()) return expressions_.ParseNegativeNumber(minus);
  if (depth_ >= kMaxOpen) return TooDeep();
  ++depth_;
  const Location at = lexer_.location();
  const ExprId operand = ParseUnary();
  --depth_;
  if (operand.none()) return {};
  return MakeUnary(UnaryOp::kNegate, operand, tokens_.Until(at), tokens_.Until(minus));
}

ExprId GraphParser::ParsePrimary() {
  const bool head = std::exchange(head_, false);
  if (lexer_.token() == Token::kLeftParen) return ParseParentheses();
  if (lexer_.token() == Token::kValue) return ResolveValue();
  if (lexer_.token() == Token::kName) return ParseName(head);
  return expressions_.ParsePrimary();
}

ExprId GraphParser::ParseParentheses() {
  if (depth_ >= kMaxOpen) return TooDeep();
  ++depth_;
  const Location open = lexer_.location();
  lexer_.Next();
  const ExprId id = ParseBinary(1);
  --depth_;
  if (id.none() || Close(open)) return id;
  return {};
}

ExprId GraphParser::ParseName(bool head) {
  const std::string_view word = lexer_.text();
  const Location location = lexer_.location();
  if (const std::optional<GraphOp> op = FindGraphOp(word, false)) {
    lexer_.Next();
    const bool angle = lexer_.token() == Token::kLess;
    return ParseOperation(*FindGraphOp(word, angle), location, head);
  }
  if (IsExpressionName(word) && !IsConstant(word) && !FindFunc(word)) {
    ReportUnknown(word, location);
    return {};
  }
  return expressions_.ParsePrimary();
}

bool GraphParser::IsConstant(std::string_view name) const {
  return std::any_of(
      graph_.constants.begin(), graph_.constants.end(),
      [&](const Constant& constant) { return module_.pool.strings()[constant.name] == name; });
}

void GraphParser::ReportUnknown(std::string_view word, Location location) {
  Diagnostic& error = diagnostics_.Error(diag::kGraphUnknownWord, location, word);
  for (const GraphRow& row : AllGraphOps()) {
    if (row.word != word || !row.symbol) continue;
    error.help = "it is written `a " + std::string(Spelling(*row.symbol)) + " b`";
    return;
  }
  if (word == "neg") {
    error.help = "it is written `-x`";
    return;
  }
  if (values_.contains(word)) {
    error.help = "did you mean `%" + std::string(word) + "`?";
    return;
  }
  if (const std::string_view help = FindOther(OtherGraphWords(), word); !help.empty()) {
    error.help = help;
    return;
  }
  std::vector<std::string_view> known = GraphWords();
  for (const Constant& constant : graph_.constants) {
    known.push_back(module_.pool.strings()[constant.name]);
  }
  if (std::string help = DidYouMean(word, known); !help.empty()) error.help = help;
}

// Behind the word of the operation.
ExprId GraphParser::ParseOperation(GraphOp op, Location location, bool head) {
  const GraphRow& row = Row(op);
  Pending pending;
  pending.node.op = op;
  pending.node.location = location;
  const bool angle = lexer_.token() == Token::kLess;
  if (angle != (row.axes != AxesForm::kNoAxes)) {
    if (angle) {
      diagnostics_.Error(diag::kGraphNoAxes, lexer_.location(), row.word);
    } else {
      diagnostics_.Error(diag::kGraphAxesNeeded, location, row.word, Describe(row.axes));
    }
    return {};
  }
  if (depth_ >= kMaxOpen) return TooDeep();
  ++depth_;
  const bool ok = (!angle || ParseAngle(row, pending)) && ParseOperands(row, head, pending) &&
                  ParseOption(row, pending);
  --depth_;
  if (!ok) return {};
  const auto is_constant = [](ExprId id) { return !id.is_value(); };
  if (row.Has(kAlsoOfConstants) &&
      std::all_of(pending.operands.begin(), pending.operands.end(), is_constant)) {
    const Func func = op == GraphOp::kMin ? Func::kMin : Func::kMax;
    const ExprId call = module_.pool.Call(func, pending.operands);
    return module_.pool.Depth(call) > ExprPool::kMaxDepth ? TooDeep() : call;
  }
  return Emit(pending);
}

bool GraphParser::ParseAngle(const GraphRow& row, Pending& pending) {
  lexer_.Next();
  if (row.axes == AxesForm::kType) {
    pending.node.dtype = expressions_.ParseSum();
    return !pending.node.dtype.none() && tokens_.Expect(Token::kGreater);
  }
  const bool one = row.axes == AxesForm::kNewAxis || row.axes == AxesForm::kOneAxis ||
                   row.axes == AxesForm::kOneAxisAndLast;
  const bool map = row.axes == AxesForm::kRenames || row.axes == AxesForm::kMap;
  const size_t before_arrow = row.axes == AxesForm::kJoin ? 2 : 1;
  while (true) {
    if (!ParseAxis(true, pending.axes)) return false;
    const bool join = row.axes == AxesForm::kJoin && pending.axes.size() == before_arrow;
    if (map || join) {
      if (!tokens_.Expect(Token::kArrow) || !ParseAxis(true, pending.axes)) return false;
    }
    if (one || join || row.axes == AxesForm::kMap) break;
    if (row.axes == AxesForm::kRowsColumns && pending.axes.size() == 2) break;
    const bool more = row.axes == AxesForm::kJoin || row.axes == AxesForm::kRowsColumns;
    if (lexer_.token() != Token::kComma) {
      if (more) return tokens_.Expected(Describe(row.axes));
      break;
    }
    lexer_.Next();
  }
  if (pending.axes.size() > row.AxisCount().second) {
    diagnostics_.Error(diag::kTooMany, lexer_.location(), +ExprPool::kMaxItems, "axes");
    return false;
  }
  return tokens_.Expect(Token::kGreater);
}

// In parentheses, or, at the beginning of a statement, to its end.
bool GraphParser::ParseOperands(const GraphRow& row, bool head, Pending& pending) {
  const bool call = lexer_.token() == Token::kLeftParen;
  const Location open = lexer_.location();
  if (!call && row.operands.size() == 0) return true;
  if (!call && !head) return tokens_.Expected("`(` and the operands");
  if (call) lexer_.Next();
  for (size_t i = 0; i < row.operands.size(); ++i) {
    const bool ended = call ? lexer_.token() == Token::kRightParen : tokens_.AtEndOfOperands();
    if (ended || (i > 0 && lexer_.token() != Token::kComma)) {
      if (lexer_.token() == Token::kAssign) return tokens_.Expected("`,` or `)`");
      Diagnostic& error =
          diagnostics_.Error(diag::kMissingOperand, tokens_.Until(pending.node.location), row.word,
                             row.operands[i].name);
      if (row.Has(kAlsoOfConstants) && FindGraphOp(row.word, true) != row.op) {
        error.help = "with axes, as in `" + std::string(row.word) + "<j>(%x)`, it reduces";
      }
      return false;
    }
    if (i > 0) lexer_.Next();
    if (!ParseOperand(row, i, pending)) return false;
  }
  if (row.axes == AxesForm::kOneAxisAndLast &&
      (!tokens_.Expect(Token::kComma) || !ParseAxis(false, pending.axes))) {
    return false;
  }
  if (lexer_.token() == Token::kComma) {
    diagnostics_.Error(diag::kOperandCount, lexer_.location(), row.word,
                       Plural(row.operands.size(), "operand"), row.operands.size() + 1);
    return false;
  }
  return !call || Close(open);
}

bool GraphParser::ParseOperand(const GraphRow& row, size_t i, Pending& pending) {
  const Location begin = lexer_.location();
  const ExprId operand = ParseBinary(1);
  if (operand.none()) return false;
  if (row.Has(kNamedOperands) && (!operand.is_value() || !graph_.HasName(operand.value()))) {
    diagnostics_.Error(diag::kGraphNameNeeded, tokens_.Until(begin), row.operands[i].name,
                       row.word);
    return false;
  }
  pending.Add(operand, tokens_.Until(begin));
  return true;
}

bool GraphParser::ParseOption(const GraphRow& row, Pending& pending) {
  // `return` begins the next line, which a bracket that was left open has joined to this one.
  if (lexer_.token() != Token::kName || BinaryOpOf(lexer_) || lexer_.IsName("return")) return true;
  const std::string_view word = lexer_.text();
  const Location location = lexer_.location();
  std::vector<std::string_view> words;
  std::string known;
  for (const OptionRow& option : kOptionRows) {
    if (!row.Takes(option.option)) continue;
    if (words.empty() || words.back() != option.word) words.push_back(option.word);
    if (option.word == word)
      known += (known.empty() ? "`" : ", `") + std::string(option.value) + "`";
  }
  if (std::find(words.begin(), words.end(), word) == words.end()) {
    Diagnostic& error = diagnostics_.Error(diag::kGraphOption, location, row.word, word);
    error.help = DidYouMean(word, words);
    return false;
  }
  lexer_.Next();
  for (const OptionRow& option : kOptionRows) {
    if (option.word != word || !row.Takes(option.option)) continue;
    if (!option.value.empty() && !lexer_.IsName(option.value)) continue;
    if (!option.value.empty()) lexer_.Next();
    pending.node.option = option.option;
    return true;
  }
  if (lexer_.token() != Token::kName) return tokens_.Expected("one of " + known);
  diagnostics_.Error(diag::kUnknownWord, lexer_.location(), word, lexer_.text()).help =
      "it can be " + known;
  return false;
}

ExprId GraphParser::ResolveValue() {
  const auto found = values_.find(lexer_.text());
  if (found == values_.end()) {
    Diagnostic& error = diagnostics_.Error(diag::kUndefinedValue, lexer_.location(), lexer_.text());
    std::vector<std::string_view> names;
    for (const std::string_view name : graph_.value_names) {
      if (!name.empty()) names.push_back(name);
    }
    if (lexer_.text().ends_with(".T")) {
      error.help = FindOther(OtherGraphWords(), "transpose");
      return {};
    }
    const std::string_view nearest = Nearest(lexer_.text(), names);
    if (!nearest.empty()) error.help = "did you mean `%" + std::string(nearest) + "`?";
    return {};
  }
  lexer_.Next();
  return ExprId::Value(found->second);
}

// ---- nodes -----------------------------------------------------------------------------------

ExprId GraphParser::MakeBinary(BinaryOp op, ExprId a, ExprId b, Location a_at, Location b_at,
                               Location all) {
  if (!a.is_value() && !b.is_value()) {
    const ExprId made = module_.pool.Binary(op, a, b);
    return module_.pool.Depth(made) > ExprPool::kMaxDepth ? TooDeep() : made;
  }
  Pending pending;
  pending.node.op = *FindGraphOp(op);
  pending.node.location = all;
  pending.Add(a, a_at);
  pending.Add(b, b_at);
  return Emit(pending);
}

ExprId GraphParser::MakeUnary(UnaryOp op, ExprId a, Location a_at, Location all) {
  if (!a.is_value()) {
    const ExprId made = module_.pool.Unary(op, a);
    return module_.pool.Depth(made) > ExprPool::kMaxDepth ? TooDeep() : made;
  }
  Pending pending;
  pending.node.op = op == UnaryOp::kNot ? GraphOp::kNot : GraphOp::kNeg;
  pending.node.location = all;
  pending.Add(a, a_at);
  return Emit(pending);
}

ExprId GraphParser::Emit(Pending& pending) {
  uint16_t depth = 0;
  for (size_t i = 0; i < pending.operands.size(); ++i) {
    const ExprId operand = pending.operands[i];
    if (!CheckOperand(operand, pending.operand_locations[i])) return {};
    if (operand.is_value() && operand.value() < depths_.size() &&
        !graph_.HasName(operand.value())) {
      depth = std::max(depth, depths_[operand.value()]);
    }
  }
  if (++depth > ExprPool::kMaxDepth) return TooDeep();
  GraphNode& node = pending.node;
  node.operands = {static_cast<uint32_t>(graph_.operands.size()),
                   static_cast<uint32_t>(pending.operands.size())};
  node.axes = {static_cast<uint32_t>(graph_.axes.size()),
               static_cast<uint32_t>(pending.axes.size())};
  graph_.operands.insert(graph_.operands.end(), pending.operands.begin(), pending.operands.end());
  graph_.operand_locations.insert(graph_.operand_locations.end(), pending.operand_locations.begin(),
                                  pending.operand_locations.end());
  graph_.axes.insert(graph_.axes.end(), pending.axes.begin(), pending.axes.end());
  node.first_result = graph_.AddValue(Graph::kNoName, "");
  for (size_t i = 1; i < Row(node.op).results(); ++i) graph_.AddValue(Graph::kNoName, "");
  graph_.nodes.push_back(node);
  depths_.resize(graph_.value_names.size(), depth);
  return ExprId::Value(node.first_result);
}

bool GraphParser::CheckOperand(ExprId operand, Location location) {
  if (!operand.is_value() || graph_.HasName(operand.value())) return true;
  const GraphNode* const node = graph_.NodeOf(operand.value());
  if (node == nullptr || Row(node->op).results() == 1) return true;
  diagnostics_.Error(diag::kGraphSeveralResults, location, Row(node->op).word,
                     Row(node->op).results());
  return false;
}

ExprId GraphParser::TooDeep() {
  diagnostics_.Error(diag::kTooDeep, lexer_.location(), +ExprPool::kMaxDepth);
  return {};
}

}  // namespace tarsia
