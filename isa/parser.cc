#include "isa/parser.h"

#include <algorithm>
#include <bit>
#include <string>
#include <unordered_set>

#include "isa/diagnostics.h"
#include "isa/limits.h"
#include "isa/names.h"
#include "layout/text/diagnostics.h"
#include "layout/text/expr_parser.h"
#include "support/printable.h"

namespace tarsia {
namespace {

constexpr size_t kMaxText = size_t{256} << 20;

std::string Plural(size_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

// "`a`, `b`, `c`"
std::string Quoted(std::span<const std::string_view> names) {
  std::string out;
  for (const std::string_view name : names) {
    out += (out.empty() ? "`" : ", `") + std::string(name) + "`";
  }
  return out;
}

class Parser final : public ValueResolver {
 public:
  Parser(const SourceFile& source, Diagnostics& diagnostics, bool keep_comments)
      : diagnostics_(diagnostics),
        lexer_(source.text(), &diagnostics, keep_comments),
        expressions_(lexer_, module_.pool, this, diagnostics) {
    module_.source_name = source.name();
  }

  Module ParseModule() {
    SkipNewlines();
    while (lexer_.token() != Token::kEnd) {
      if (lexer_.IsName("kernel")) {
        ParseKernel();
      } else {
        Expected("`kernel`");
        SkipToKernel();
      }
      SkipNewlines();
    }
    return std::move(module_);
  }

  [[nodiscard]] const Lexer& lexer() const { return lexer_; }

  std::optional<ExprId> ResolveValue(std::string_view name, Location location) override {
    const std::optional<StringId> id = module_.pool.strings().Find(name);
    if (id && *id < bindings_.size() && bindings_[*id] != kUnbound) {
      return ExprId::Value(bindings_[*id]);
    }
    if (kernel_ == nullptr) {
      diagnostics_.Error(diag::kNoValuesHere, location, name);
      return std::nullopt;
    }
    Diagnostic& error = diagnostics_.Error(diag::kUndefinedValue, location, name);
    const std::string_view nearest = Nearest(name, VisibleNames());
    if (!nearest.empty()) error.help = "did you mean `%" + std::string(nearest) + "`?";
    return std::nullopt;
  }

 private:
  static constexpr uint32_t kUnbound = UINT32_MAX;

  // ---- tokens ------------------------------------------------------------------------------

  void SkipNewlines() {
    while (lexer_.token() == Token::kNewline) lexer_.Next();
  }

  bool Expected(std::string_view what) {
    // One error a place: what the lexer or an inner rule said there comes first.
    const bool said = lexer_.token() == Token::kError ||
                      (!diagnostics_.ok() && diagnostics_.last().location == lexer_.location());
    if (!said) diagnostics_.Error(diag::kExpected, lexer_.location(), what, lexer_.Found());
    return false;
  }

  bool Accept(Token token) {
    if (lexer_.token() != token) return false;
    lexer_.Next();
    return true;
  }

  bool Expect(Token token) { return Accept(token) || Expected(TokenName(token)); }

  bool ExpectEndOfLine() {
    if (lexer_.token() == Token::kNewline || lexer_.token() == Token::kEnd ||
        lexer_.token() == Token::kRightBrace) {
      return true;
    }
    return Expected("the end of the line");
  }

  void SkipToKernel() {
    while (lexer_.token() != Token::kEnd) {
      lexer_.SkipLine();
      if (lexer_.token() != Token::kNewline) lexer_.Next();
      SkipNewlines();
      if (lexer_.IsName("kernel")) return;
    }
  }

  // ---- scopes ------------------------------------------------------------------------------

  std::vector<std::string_view> VisibleNames() const {
    std::vector<std::string_view> names;
    for (const StringId id : scope_) names.push_back(module_.pool.strings()[id]);
    return names;
  }

  uint32_t NewValue(std::string_view name) {
    const StringId id = module_.pool.strings().Intern(name);
    if (id >= bindings_.size())
      bindings_.resize(std::max<size_t>(id + 1, bindings_.size() * 2), kUnbound);
    const auto value = static_cast<uint32_t>(kernel_->value_names.size());
    kernel_->value_names.push_back(module_.pool.strings()[id]);
    kernel_->value_name_ids.push_back(id);
    bindings_[id] = value;
    scope_.push_back(id);
    return value;
  }

  uint32_t Bound(std::string_view name) const {
    const std::optional<StringId> id = module_.pool.strings().Find(name);
    return id && *id < bindings_.size() ? bindings_[*id] : kUnbound;
  }

  void LeaveScope(size_t size) {
    while (scope_.size() > size) {
      bindings_[scope_.back()] = kUnbound;
      scope_.pop_back();
    }
  }

  // ---- kernel ------------------------------------------------------------------------------

  void ParseKernel() {
    lexer_.Next();
    Kernel kernel;
    kernel_ = &kernel;
    kernel.location = lexer_.location();
    if (lexer_.token() != Token::kName) {
      Expected("the kernel's name");
    } else {
      const std::string_view name = lexer_.text();
      kernel.name = module_.pool.strings().Intern(name);
      if (name.find('.') != std::string_view::npos) Expected("a name without dots");
      if (!kernel_names_.insert(kernel.name).second) {
        diagnostics_.Error(diag::kRedefinition, lexer_.location(), "kernel", name);
      }
      lexer_.Next();
    }
    bool ok = ParseParameters();
    if (!ok) lexer_.SkipLine();
    ParseClauses();
    if (lexer_.token() == Token::kLeftBrace) {
      lexer_.Next();
      ParseBlock(0);
      kernel.close_line = lexer_.location().line;
      if (!Accept(Token::kRightBrace)) Expected("`}` to close the kernel");
    } else {
      Expected("`{` to open the kernel's body");
      SkipToKernel();
    }
    LeaveScope(0);
    kernel_ = nullptr;
    module_.kernels.push_back(std::move(kernel));
  }

  bool ParseParameters() {
    if (!Expect(Token::kLeftParen)) return false;
    while (lexer_.token() != Token::kRightParen) {
      Parameter param;
      param.location = lexer_.location();
      if (lexer_.token() != Token::kValue) return Expected("a parameter such as `%x: ptr<f16>`");
      if (Bound(lexer_.text()) != kUnbound) {
        diagnostics_.Error(diag::kRedefinition, lexer_.location(), "parameter",
                           "%" + std::string(lexer_.text()));
      }
      const std::string_view name = lexer_.text();
      lexer_.Next();
      if (!Expect(Token::kColon)) return false;
      if (lexer_.IsName("ptr")) {
        lexer_.Next();
        param.is_pointer = true;
        if (!Expect(Token::kLess)) return false;
        param.dtype = ParseDType();
        if (param.dtype.none() || !Expect(Token::kGreater)) return false;
      } else {
        param.dtype = ParseDType();
        if (param.dtype.none()) return false;
      }
      NewValue(name);
      kernel_->params.push_back(param);
      if (lexer_.token() == Token::kComma) {
        lexer_.Next();
      } else if (lexer_.token() != Token::kRightParen) {
        return Expected("`,` or `)`");
      }
    }
    lexer_.Next();
    return true;
  }

  // A sum, so that `>` closes; a bare unknown name is most likely a mistyped type.
  ExprId ParseDType() { return expressions_.ParseSum(); }

  void ParseClauses() {
    SkipNewlines();
    while (lexer_.token() == Token::kName && !lexer_.IsName("kernel")) {
      if (!ParseClause() || !ExpectEndOfHeaderLine()) {
        lexer_.SkipLine();
        if (lexer_.token() == Token::kRightBrace) lexer_.Next();
      }
      SkipNewlines();
    }
  }

  bool ExpectEndOfHeaderLine() { return lexer_.token() == Token::kLeftBrace || ExpectEndOfLine(); }

  bool ParseClause() {
    static constexpr std::string_view kClauses[] = {"const", "require", "assume",
                                                    "grid",  "warps",   "fast"};
    const std::string_view word = lexer_.text();
    const Location location = lexer_.location();
    const auto* const found = std::find(std::begin(kClauses), std::end(kClauses), word);
    if (found == std::end(kClauses)) {
      diagnostics_.Error(diag::kUnknownClause, location, word).help = DidYouMean(word, kClauses);
      return false;
    }
    lexer_.Next();
    switch (found - std::begin(kClauses)) {
      case 0:
        return ParseConstant();
      case 1:
        return ParseRequire();
      case 2:
        return ParseAssume(location);
      case 3:
        return ParseGrid(location);
      case 4:
        kernel_->warps_location = lexer_.location();
        kernel_->warps = expressions_.Parse();
        return !kernel_->warps.none();
      case 5:
        kernel_->fast = true;
        return true;
    }
    return false;
  }

  bool ParseConstant() {
    Constant constant;
    constant.location = lexer_.location();
    if (lexer_.token() != Token::kName) return Expected("the constant's name");
    const std::string_view name = lexer_.text();
    constant.name = module_.pool.strings().Intern(name);
    CheckConstantName(name);
    lexer_.Next();
    if (!Expect(Token::kColon)) return false;
    if (lexer_.token() != Token::kName) return Expected("the constant's kind");
    const auto* const kind =
        std::find(std::begin(kConstKindNames), std::end(kConstKindNames), lexer_.text());
    if (kind == std::end(kConstKindNames)) {
      diagnostics_.Error(diag::kUnknownKind, lexer_.location(), lexer_.text());
      return false;
    }
    constant.kind = static_cast<ConstKind>(kind - std::begin(kConstKindNames));
    lexer_.Next();
    if (Accept(Token::kAssign)) {
      const Location begin = lexer_.location();
      constant.default_value = expressions_.Parse();
      if (constant.default_value.none()) return false;
      constant.default_location = Until(begin);
    }
    if (lexer_.IsName("tune")) {
      lexer_.Next();
      constant.candidates = ParseCandidates();
      if (constant.candidates.none()) return false;
    }
    kernel_->constants.push_back(constant);
    return true;
  }

  void CheckConstantName(std::string_view name) {
    for (const Constant& other : kernel_->constants) {
      if (module_.pool.strings()[other.name] == name) {
        diagnostics_.Error(diag::kRedefinition, lexer_.location(), "constant", name);
      }
    }
    const std::string_view what = ReservedAs(name);
    if (!what.empty()) {
      diagnostics_.Error(diag::kReservedName, lexer_.location(), name, what);
    }
  }

  ExprId ParseCandidates() {
    if (!Expect(Token::kLeftBrace)) return {};
    std::vector<ExprId> items;
    while (lexer_.token() != Token::kRightBrace) {
      const ExprId item = expressions_.Parse();
      if (item.none()) return {};
      if (items.size() >= ExprPool::kMaxItems) {
        diagnostics_.Error(diag::kTooMany, lexer_.location(), +ExprPool::kMaxItems, "items");
        return {};
      }
      items.push_back(item);
      if (lexer_.token() == Token::kComma) {
        lexer_.Next();
      } else if (lexer_.token() != Token::kRightBrace) {
        Expected("`,` or `}`");
        return {};
      }
    }
    lexer_.Next();
    return module_.pool.List(items);
  }

  bool ParseRequire() {
    Require require;
    require.location = lexer_.location();
    require.condition = expressions_.Parse();
    if (require.condition.none()) return false;
    require.location.length = std::max(1u, lexer_.previous_end().column - require.location.column);
    if (Accept(Token::kComma)) {
      if (lexer_.token() != Token::kString) return Expected("the message, a string");
      require.message = module_.pool.strings().Intern(lexer_.StringValue());
      lexer_.Next();
    } else {
      require.message = module_.pool.strings().Intern("");
    }
    kernel_->requires_.push_back(require);
    return true;
  }

  bool ParseAssume(Location location) {
    Assume assume;
    assume.location = location;
    assume.condition = expressions_.Parse();
    if (assume.condition.none()) return false;
    if (lexer_.IsName("align")) {
      lexer_.Next();
      assume.alignment = expressions_.Parse();
      if (assume.alignment.none()) return false;
    }
    kernel_->assumes.push_back(assume);
    return true;
  }

  bool ParseGrid(Location location) {
    kernel_->grid_location = location;
    if (!Expect(Token::kLeftParen)) return false;
    for (size_t i = 0;; ++i) {
      if (i == 3) return Expected("`)`: a grid has at most 3 dimensions");
      kernel_->grid[i] = expressions_.Parse();
      if (kernel_->grid[i].none()) return false;
      if (!Accept(Token::kComma)) break;
    }
    return Expect(Token::kRightParen);
  }

  // ---- body --------------------------------------------------------------------------------

  // Up to the closing brace, which is left to the caller.
  void ParseBlock(int depth) {
    if (depth > kMaxBlockDepth) {
      diagnostics_.Error(diag::kNestedTooDeep, lexer_.location(), +kMaxBlockDepth);
      SkipBraces();
      return;
    }
    const size_t scope = scope_.size();
    SkipNewlines();
    while (lexer_.token() != Token::kRightBrace && lexer_.token() != Token::kEnd) {
      if (AtKernel()) break;  // a `}` is missing
      const size_t outside = scope_.size();
      const uint32_t line = lexer_.location().line;
      if (!ParseStatement(depth)) {
        // The counter of a bad `for` means something in its block, and nothing behind it.
        const bool loop = bad_loop_;
        bad_loop_ = false;
        Recover(depth, line);
        if (loop) LeaveScope(outside);
      }
      SkipNewlines();
    }
    LeaveScope(scope);
  }

  void SkipBraces() {
    int depth = 0;
    while (lexer_.token() != Token::kEnd) {
      if (lexer_.token() == Token::kLeftBrace) ++depth;
      if (lexer_.token() == Token::kRightBrace && depth-- == 0) return;
      lexer_.Next();
    }
  }

  // After an error: the rest of the line is skipped; a block that it opens is read all the same.
  void Recover(int depth, uint32_t line) {
    if (AtKernel() || (lexer_.location().line != line && AtStatement())) {
      lexer_.LeaveBrackets();
      return;
    }
    if (lexer_.token() != Token::kLeftBrace && lexer_.token() != Token::kRightBrace) {
      lexer_.SkipLine();
    }
    if (lexer_.token() == Token::kLeftBrace) {
      lexer_.Next();
      ParseBlock(depth + 1);
      Accept(Token::kRightBrace);
    }
  }

  bool AtKernel() const { return lexer_.IsName("kernel") && lexer_.location().column == 1; }

  // Whether this can only be the beginning of a statement: then what stands before it, though
  // some bracket may still be open, has ended with its line.
  bool AtStatement() const {
    if (lexer_.token() == Token::kValue) return lexer_.AssignFollows();
    const auto opcode = lexer_.token() == Token::kName ? FindMnemonic(lexer_.text()) : std::nullopt;
    return opcode && (Row(*opcode).results.size() == 0 || *opcode == Opcode::kFor);
  }

  struct Pending {
    Inst inst;
    Location location;
    Location type_location;
  };

  bool ParseStatement(int depth) {
    results_.clear();
    if (lexer_.token() == Token::kValue && !ParseResults()) return false;
    if (lexer_.token() != Token::kName) return Expected("an instruction");
    const std::string_view mnemonic = lexer_.text();
    const Location location = lexer_.location();
    const std::optional<Opcode> opcode = FindMnemonic(mnemonic);
    if (!opcode) {
      ReportUnknown(mnemonic, location);
      DefineResults();
      return false;
    }
    lexer_.Next();
    Pending pending;
    pending.location = location;
    pending.inst.opcode = *opcode;
    const bool ok = *opcode == Opcode::kFor ? ParseFor(pending, depth)
                                            : ParseInst(Row(*opcode), pending, depth);
    if (!ok) DefineResults();
    return ok;
  }

  void ReportUnknown(std::string_view mnemonic, Location location) {
    if (mnemonic == "else") {
      diagnostics_.Error(diag::kElseOnItsOwn, location);
      return;
    }
    Diagnostic& error = diagnostics_.Error(diag::kUnknownMnemonic, location, mnemonic);
    std::string help(HelpForOtherName(mnemonic));
    if (help.empty()) help = DidYouMean(mnemonic, Mnemonics());
    if (!help.empty()) error.help = help;
  }

  struct ResultName {
    std::string_view name;
    Location location;
  };

  bool ParseResults() {
    while (true) {
      if (lexer_.token() != Token::kValue) return Expected("a value such as `%x`");
      results_.push_back({lexer_.text(), lexer_.location()});
      lexer_.Next();
      if (lexer_.token() != Token::kComma) break;
      lexer_.Next();
    }
    if (!Expect(Token::kAssign)) {
      DefineResults();
      return false;
    }
    return true;
  }

  // After an error, so that what follows is not blamed for it.
  void DefineResults() {
    for (const ResultName& result : results_) {
      if (Bound(result.name) == kUnbound) NewValue(result.name);
    }
  }

  void PushArg(ExprId id, Location location) {
    kernel_->args.push_back(id);
    kernel_->arg_locations.push_back(location);
  }

  // Results are bound only after the operands were read: `%x = add %x, 1` reads the old one.
  bool ParseInst(const InstRow& row, Pending& pending, int depth) {
    const std::vector<ResultName> results = std::move(results_);
    results_ = results;
    if (results.size() != row.results.size()) {
      Location at = results.empty() ? pending.location : results.front().location;
      diagnostics_.Error(
          diag::kResultCount, at, row.mnemonic,
          row.results.size() == 0 ? "no result" : Plural(row.results.size(), "result"),
          results.empty()
              ? "none is"
              : std::to_string(results.size()) + (results.size() == 1 ? " is" : " are"));
      return false;
    }
    slots_.clear();
    if (!ParseOperands(row, pending)) return false;
    if (!ParseAttributes(row, pending)) return false;
    if (lexer_.token() == Token::kColon && !ParseAnnotation(pending)) return false;
    Emit(row, pending, results);
    return FinishInst(row, pending, depth);
  }

  struct Arg {
    ExprId id;
    Location location;
  };

  void Emit(const InstRow& row, Pending& pending, const std::vector<ResultName>& results) {
    Inst& inst = pending.inst;
    inst.first_arg = static_cast<uint32_t>(kernel_->args.size());
    inst.results = static_cast<uint8_t>(results.size());
    inst.slots = static_cast<uint8_t>(slots_.size());
    for (const ResultName& result : results) {
      uint32_t value = Bound(result.name);
      if (value == kUnbound || row.opcode == Opcode::kFor) value = NewValue(result.name);
      PushArg(ExprId::Value(value), result.location);
    }
    for (const Arg& slot : slots_) PushArg(slot.id, slot.location);
    for (size_t i = 0; i < row.attrs.size(); ++i) {
      if ((inst.attrs >> i & 1) != 0) PushArg(attrs_[i].id, attrs_[i].location);
    }
    kernel_->code.push_back(inst);
    kernel_->locations.push_back(pending.location);
    kernel_->type_locations.push_back(pending.type_location);
    kernel_->close_lines.push_back(0);
    kernel_->else_lines.push_back(0);
  }

  bool FinishInst(const InstRow& row, Pending& pending, int depth) {
    const size_t index = kernel_->code.size() - 1;
    const auto own_end = static_cast<uint32_t>(index + 1);
    kernel_->code[index].end = own_end;
    kernel_->code[index].else_begin = own_end;
    if (!row.Has(kOpensBlock)) return ExpectEndOfLine();
    if (!ParseBraces(index, depth)) return false;
    kernel_->code[index].else_begin = static_cast<uint32_t>(kernel_->code.size());
    if (pending.inst.opcode == Opcode::kIf && lexer_.IsName("else")) {
      kernel_->else_lines[index] = lexer_.location().line;
      lexer_.Next();
      if (!ParseBraces(index, depth)) return false;
    }
    kernel_->code[index].end = static_cast<uint32_t>(kernel_->code.size());
    return ExpectEndOfLine();
  }

  bool ParseBraces(size_t index, int depth) {
    if (!Expect(Token::kLeftBrace)) return false;
    ParseBlock(depth + 1);
    kernel_->close_lines[index] = lexer_.location().line;
    return Accept(Token::kRightBrace) || Expected("`}` to close the block");
  }

  // for %i [: type] = start to stop [step n] attributes
  bool ParseFor(Pending& pending, int depth) {
    if (lexer_.token() != Token::kValue) return Expected("the counter, such as `%i`");
    const ResultName counter{lexer_.text(), lexer_.location()};
    results_ = {counter};
    bad_loop_ = true;
    if (Bound(counter.name) != kUnbound) {
      diagnostics_.Error(diag::kRedefinition, counter.location, "value",
                         "%" + std::string(counter.name));
    }
    lexer_.Next();
    if (lexer_.token() == Token::kColon && !ParseAnnotation(pending)) return false;
    slots_.clear();
    if (!Expect(Token::kAssign) || !ParseSlot()) return false;
    if (!lexer_.IsName("to")) return Expected("`to`");
    lexer_.Next();
    if (!ParseSlot()) return false;
    if (lexer_.IsName("step")) {
      lexer_.Next();
      if (!ParseSlot()) return false;
    } else {
      slots_.push_back({ExprId::Small(1), lexer_.location()});
    }
    const InstRow& row = Row(Opcode::kFor);
    if (!ParseAttributes(row, pending)) return false;
    const size_t scope = scope_.size();
    Emit(row, pending, {counter});
    bad_loop_ = false;
    const bool ok = FinishInst(row, pending, depth);
    LeaveScope(scope);
    results_.clear();
    return ok;
  }

  bool ParseSlot() {
    const Location begin = lexer_.location();
    const ExprId id = expressions_.Parse();
    if (id.none()) return false;
    slots_.push_back({id, Until(begin)});
    return true;
  }

  // From `begin` to the end of the token before the current one, on one line.
  Location Until(Location begin) const {
    const Location end = lexer_.previous_end();
    if (end.line == begin.line && end.column > begin.column)
      begin.length = end.column - begin.column;
    return begin;
  }

  bool ParseOperands(const InstRow& row, Pending& pending) {
    for (size_t i = 0; i < row.operands.size(); ++i) {
      const OperandRow& operand = row.operands[i];
      if (i > 0) {
        if (lexer_.token() != Token::kComma) {
          if (operand.kind == OperandKind::kOptionalTile) break;
          diagnostics_.Error(diag::kMissingOperand, EndOf(pending), row.mnemonic, operand.name);
          return false;
        }
        lexer_.Next();
      } else if (AtEndOfOperands()) {
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

  bool AtEndOfOperands() const {
    return lexer_.token() == Token::kNewline || lexer_.token() == Token::kEnd ||
           lexer_.token() == Token::kColon || lexer_.token() == Token::kRightBrace ||
           lexer_.token() == Token::kLeftBrace;
  }

  Location EndOf(const Pending& pending) const {
    Location at = pending.location;
    const Location end = lexer_.previous_end();
    if (end.line == at.line && end.column > at.column) at.length = end.column - at.column;
    return at;
  }

  bool ParseOperand(const OperandRow& operand) {
    switch (operand.kind) {
      case OperandKind::kTile:
      case OperandKind::kOptionalTile:
      case OperandKind::kMemoryTile:
      case OperandKind::kSource:
        if (lexer_.token() != Token::kValue) {
          return Expected("operand `" + std::string(operand.name) + "`, a value such as `%x`");
        }
        return ParseValueSlot();
      case OperandKind::kElement: {
        if (lexer_.token() != Token::kValue) {
          return Expected("operand `" + std::string(operand.name) + "`, such as `%tile[0, 0]`");
        }
        if (!ParseValueSlot()) return false;
        if (lexer_.token() != Token::kLeftBracket) return Expected("`[` and the indices");
        const Location begin = lexer_.location();
        const ExprId list = expressions_.ParseList();
        if (list.none()) return false;
        slots_.push_back({list, Until(begin)});
        return true;
      }
      case OperandKind::kText:
        if (lexer_.token() != Token::kString) {
          return Expected("the " + std::string(operand.name) + ", a string");
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

  bool ParseValueSlot() {
    const Location location = lexer_.location();
    const std::optional<ExprId> value = ResolveValue(lexer_.text(), location);
    lexer_.Next();
    if (!value) return false;
    slots_.push_back({*value, location});
    return true;
  }

  bool ParseAttributes(const InstRow& row, Pending& pending) {
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
      attrs_[*index] = {value, Row(*attr).kind == AttrKind::kFlag ? location : Until(value_at)};
      pending.inst.attrs = static_cast<uint8_t>(pending.inst.attrs | 1u << *index);
    }
    return true;
  }

  static std::string AttributeHelp(std::string_view text,
                                   const std::vector<std::string_view>& known) {
    if (std::string help = DidYouMean(text, known); !help.empty()) return help;
    if (known.empty()) return "it has no attributes";
    return "it has " + Quoted(known);
  }

  ExprId ParseAttributeValue(const AttrRow& row) {
    switch (row.kind) {
      case AttrKind::kFlag:
        return module_.pool.Bool(true);
      case AttrKind::kInt:
        return expressions_.ParseSum();
      case AttrKind::kIntList:
        if (lexer_.token() != Token::kLeftBracket) {
          Expected("a list such as `[0, 1]`");
          return {};
        }
        return expressions_.ParseList();
      case AttrKind::kRounding:
      case AttrKind::kCache:
        return ParseWord(row);
    }
    return {};
  }

  ExprId ParseWord(const AttrRow& row) {
    const auto words = AttrWords(row.kind);
    if (lexer_.token() != Token::kName) {
      Expected("a word");
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

  // : [ space "<" dtype ">" | dtype ] [ shape [ layout ] [ "bits" bitlayout ] ]
  bool ParseAnnotation(Pending& pending) {
    lexer_.Next();
    const Location begin = lexer_.location();
    TypeExpr type;
    type.space = AcceptSpace();
    if (type.space != Space::kNone) {
      if (!Expect(Token::kLess)) return false;
      type.dtype = ParseDType();
      if (type.dtype.none() || !Expect(Token::kGreater)) return false;
    } else if (lexer_.token() != Token::kLeftBracket) {
      type.dtype = ParseDType();
      if (type.dtype.none()) return false;
    }
    if (lexer_.token() == Token::kLeftBracket) {
      type.shape = expressions_.ParseList();
      if (type.shape.none()) return false;
      if (!AtEndOfOperands() && !lexer_.IsName("bits")) {
        type.layout = expressions_.Parse();
        if (type.layout.none()) return false;
      }
      if (lexer_.IsName("bits")) {
        lexer_.Next();
        type.bits = expressions_.Parse();
        if (type.bits.none()) return false;
      }
    }
    pending.type_location = Until(begin);
    pending.inst.type = module_.Intern(type);
    return true;
  }

  Space AcceptSpace() {
    for (const Space space : {Space::kGlobal, Space::kShared, Space::kRegister}) {
      if (lexer_.IsName(SpaceName(space))) {
        lexer_.Next();
        return space;
      }
    }
    return Space::kNone;
  }

  Diagnostics& diagnostics_;
  Lexer lexer_;
  Module module_;
  ExprParser expressions_;
  Kernel* kernel_ = nullptr;
  std::unordered_set<StringId> kernel_names_;
  std::vector<uint32_t> bindings_;  // by StringId: the value that a name means now
  std::vector<StringId> scope_;     // names bound, innermost last
  std::vector<ResultName> results_;
  bool bad_loop_ = false;  // the last statement was a `for` with an error in its first line
  std::vector<Arg> slots_;
  Arg attrs_[kMaxAttrs];
};

}  // namespace

std::optional<Module> Parse(const SourceFile& source, Diagnostics& diagnostics,
                            std::vector<Comment>* comments) {
  if (source.text().size() > kMaxText) {
    diagnostics.Error(diag::kTextTooLong, Location(), source.text().size(), +kMaxText);
    return std::nullopt;
  }
  const size_t before = diagnostics.count();
  if (const auto bad = FindNoText(source.text())) {
    diagnostics.Error(diag::kNotAText, bad->location, bad->what, bad->at);
    return std::nullopt;
  }
  Parser parser(source, diagnostics, comments != nullptr);
  Module module = parser.ParseModule();
  if (comments != nullptr) *comments = parser.lexer().comments();
  if (diagnostics.count() != before) {
    diagnostics.Sort();
    return std::nullopt;
  }
  return module;
}

}  // namespace tarsia
