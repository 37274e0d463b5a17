#include "isa/text/parser.h"

#include <algorithm>
#include <bit>
#include <string>
#include <unordered_map>

#include "isa/diagnostics.h"
#include "isa/limits.h"
#include "isa/names.h"
#include "isa/text/graph_parser.h"
#include "isa/text/header_parser.h"
#include "isa/text/inst_parser.h"
#include "isa/text/token_reader.h"
#include "isa/text/value_scope.h"
#include "layout/text/diagnostics.h"
#include "layout/text/expr_parser.h"
#include "support/printable.h"

namespace tarsia {
namespace {

constexpr size_t kMaxText = size_t{256} << 20;

class Parser {
 public:
  Parser(const SourceFile& source, Diagnostics& diagnostics, bool keep_comments)
      : diagnostics_(diagnostics), tokens_(source.text(), &diagnostics, keep_comments) {
    module_.source_name = source.name();
  }

  Module ParseModule() {
    tokens_.SkipNewlines();
    while (lexer_.token() != Token::kEnd) {
      if (lexer_.IsName("kernel")) {
        ParseKernel();
      } else if (lexer_.IsName("graph")) {
        ParseGraph();
      } else {
        tokens_.Expected("`kernel` or `graph`");
        SkipToModulePart();
      }
      tokens_.SkipNewlines();
    }
    return std::move(module_);
  }

  [[nodiscard]] const Lexer& lexer() const { return lexer_; }

 private:
  static constexpr uint32_t kUnbound = ValueScope::kUnbound;

  // ---- tokens ------------------------------------------------------------------------------

  void SkipToModulePart() {
    while (lexer_.token() != Token::kEnd) {
      lexer_.SkipLine();
      if (lexer_.token() != Token::kNewline) lexer_.Next();
      tokens_.SkipNewlines();
      if (tokens_.AtModulePart()) return;
    }
  }

  // ---- graph -------------------------------------------------------------------------------

  void ParseGraph() {
    lexer_.Next();
    if (lexer_.token() == Token::kName) {
      DefineName(module_.pool.strings().Intern(lexer_.text()), "graph", lexer_.text());
    }
    GraphParser parser(&tokens_, &module_);
    if (!parser.Parse()) SkipToModulePart();
  }

  // ---- kernel ------------------------------------------------------------------------------

  void ParseKernel() {
    lexer_.Next();
    Kernel kernel;
    kernel_ = &kernel;
    names_.Enter(kernel_);
    kernel.location = lexer_.location();
    if (lexer_.token() != Token::kName) {
      tokens_.Expected("the kernel's name");
    } else {
      const std::string_view name = lexer_.text();
      kernel.name = module_.pool.strings().Intern(name);
      if (name.find('.') != std::string_view::npos) tokens_.Expected("a name without dots");
      DefineName(kernel.name, "kernel", name);
      lexer_.Next();
    }
    bool ok = ParseParameters();
    if (!ok) lexer_.SkipLine();
    ParseClauses();
    if (lexer_.token() == Token::kLeftBrace) {
      lexer_.Next();
      ParseBlock(0);
      kernel.close_line = lexer_.location().line;
      if (!tokens_.Accept(Token::kRightBrace)) tokens_.Expected("`}` to close the kernel");
    } else {
      tokens_.Expected("`{` to open the kernel's body");
      SkipToModulePart();
    }
    names_.LeaveScope(0);
    kernel_ = nullptr;
    names_.Enter(nullptr);
    module_.kernels.push_back(std::move(kernel));
  }

  // Kernels and graphs share their names.
  void DefineName(StringId id, std::string_view what, std::string_view name) {
    const auto [first, is_new] = names_of_module_.try_emplace(id, lexer_.location());
    if (!is_new) ReportAgain(diagnostics_, what, name, lexer_.location(), first->second);
  }

  bool ParseParameters() {
    return tokens_.Expect(Token::kLeftParen) &&
           tokens_.ParseItems(Token::kRightParen, [&] { return ParseParameter(); });
  }

  bool ParseParameter() {
    Parameter param;
    param.location = lexer_.location();
    if (lexer_.token() != Token::kValue)
      return tokens_.Expected("a parameter such as `%x: ptr<f16>`");
    if (names_.Bound(lexer_.text()) != kUnbound) {
      ReportAgain(diagnostics_, "parameter", "%" + std::string(lexer_.text()), lexer_.location(),
                  kernel_->DefinitionOf(names_.Bound(lexer_.text())));
    }
    const std::string_view name = lexer_.text();
    lexer_.Next();
    if (!tokens_.Expect(Token::kColon)) return false;
    if (lexer_.IsName("ptr")) {
      lexer_.Next();
      param.is_pointer = true;
      if (!tokens_.Expect(Token::kLess)) return false;
      param.dtype = operands_.ParseDType();
      if (param.dtype.none() || !tokens_.Expect(Token::kGreater)) return false;
    } else {
      param.dtype = operands_.ParseDType();
      if (param.dtype.none()) return false;
    }
    names_.NewValue(name);
    kernel_->params.push_back(param);
    return true;
  }

  void ParseClauses() {
    tokens_.SkipNewlines();
    while (lexer_.token() == Token::kName && !tokens_.AtModulePart()) {
      if (!ParseClause() || !ExpectEndOfHeaderLine()) {
        lexer_.SkipLine();
        if (lexer_.token() == Token::kRightBrace) lexer_.Next();
      }
      tokens_.SkipNewlines();
    }
  }

  bool ExpectEndOfHeaderLine() {
    return lexer_.token() == Token::kLeftBrace || tokens_.ExpectEndOfLine();
  }

  bool ParseClause() {
    static constexpr std::string_view kClauses[] = {"const", "require",   "assume", "grid",
                                                    "warps", "registers", "fast"};
    const std::string_view word = lexer_.text();
    const Location location = lexer_.location();
    const auto* const found = std::find(std::begin(kClauses), std::end(kClauses), word);
    if (found == std::end(kClauses)) {
      diagnostics_.Error(diag::kUnknownClause, location, word, "kernel").help =
          DidYouMean(word, kClauses);
      return false;
    }
    lexer_.Next();
    switch (found - std::begin(kClauses)) {
      case 0:
        return header_.ParseConstants(kernel_->constants, &ReservedAs);
      case 1:
        return header_.ParseRequire(kernel_->requires_);
      case 2:
        return ParseAssume(location);
      case 3:
        return ParseGrid(location);
      case 4:
        kernel_->warps_location = lexer_.location();
        kernel_->warps = expressions_.Parse();
        return !kernel_->warps.none();
      case 5:
        kernel_->registers_location = lexer_.location();
        kernel_->registers = expressions_.Parse();
        return !kernel_->registers.none();
      default:
        kernel_->fast = true;
        return true;
    }
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
    if (!tokens_.Expect(Token::kLeftParen)) return false;
    for (size_t i = 0;; ++i) {
      if (i == 3) return tokens_.Expected("`)`: a grid has at most 3 dimensions");
      kernel_->grid[i] = expressions_.Parse();
      if (kernel_->grid[i].none()) return false;
      if (!tokens_.Accept(Token::kComma)) break;
    }
    return tokens_.Expect(Token::kRightParen);
  }

  // ---- body --------------------------------------------------------------------------------

  // Reads up to the closing brace, which the caller reads.
  void ParseBlock(int depth) {
    if (depth > kMaxBlockDepth) {
      diagnostics_.Error(diag::kNestedTooDeep, lexer_.location(), +kMaxBlockDepth);
      tokens_.SkipBraces();
      return;
    }
    const size_t scope = names_.scope();
    tokens_.SkipNewlines();
    while (lexer_.token() != Token::kRightBrace && lexer_.token() != Token::kEnd) {
      if (AtKernel()) break;  // a `}` is missing
      const size_t outside = names_.scope();
      const uint32_t line = lexer_.location().line;
      if (!ParseStatement(depth)) {
        // The counter of a bad `for` is defined in its block, but not after it.
        const bool loop = bad_loop_;
        bad_loop_ = false;
        Recover(depth, line);
        if (loop) names_.LeaveScope(outside);
      }
      tokens_.SkipNewlines();
    }
    names_.LeaveScope(scope);
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
    if (SkipBlock(depth) && AtElse()) {
      lexer_.Next();
      SkipBlock(depth);
    }
  }

  // Reads the block of a statement with an error. False if there is none.
  bool SkipBlock(int depth) {
    if (!tokens_.Accept(Token::kLeftBrace)) return false;
    ParseBlock(depth + 1);
    return tokens_.Accept(Token::kRightBrace);
  }

  bool AtKernel() const { return tokens_.AtModulePart() && lexer_.location().column == 1; }

  // Whether this can only be the beginning of a statement. Then the previous statement has ended
  // with its line, even if a bracket is still open.
  bool AtStatement() const {
    if (lexer_.token() == Token::kValue) return lexer_.AssignFollows();
    const auto opcode = lexer_.token() == Token::kName ? FindMnemonic(lexer_.text()) : std::nullopt;
    return opcode && (Row(*opcode).results.size() == 0 || *opcode == Opcode::kFor);
  }

  bool ParseStatement(int depth) {
    results_.clear();
    if (lexer_.token() == Token::kValue && !ParseResults()) return false;
    if (lexer_.token() != Token::kName) {
      tokens_.Expected("an instruction such as `add %a, %b` or `mov 0`");
      DefineResults();
      return false;
    }
    const std::string_view mnemonic = lexer_.text();
    const Location location = lexer_.location();
    const std::optional<Opcode> opcode = FindMnemonic(mnemonic);
    if (!opcode) {
      ReportUnknown(mnemonic, location);
      DefineResults();
      return false;
    }
    lexer_.Next();
    PendingInst pending;
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
      if (lexer_.token() != Token::kValue) return tokens_.Expected("a value such as `%x`");
      results_.push_back({lexer_.text(), lexer_.location()});
      lexer_.Next();
      if (lexer_.token() != Token::kComma) break;
      lexer_.Next();
    }
    if (!tokens_.Expect(Token::kAssign)) {
      DefineResults();
      return false;
    }
    return true;
  }

  // Defines the results after an error, so that their uses cause no further errors.
  void DefineResults() {
    for (const ResultName& result : results_) {
      if (names_.Bound(result.name) == kUnbound) names_.NewValue(result.name);
    }
  }

  void PushArg(ExprId id, Location location) {
    kernel_->args.push_back(id);
    kernel_->arg_locations.push_back(location);
  }

  // Results are bound only after the operands have been read: `%x = add %x, 1` reads the old one.
  bool ParseInst(const InstRow& row, PendingInst& pending, int depth) {
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
    operands_.Clear();
    if (!operands_.ParseOperands(row, pending)) return false;
    if (!operands_.ParseAttributes(row, pending)) return false;
    if (lexer_.token() == Token::kColon && !operands_.ParseAnnotation(pending)) return false;
    Emit(row, pending, results);
    return FinishInst(row, pending, depth);
  }

  void Emit(const InstRow& row, PendingInst& pending, const std::vector<ResultName>& results) {
    Inst& inst = pending.inst;
    inst.first_arg = static_cast<uint32_t>(kernel_->args.size());
    inst.results = static_cast<uint8_t>(results.size());
    inst.slots = static_cast<uint8_t>(operands_.slots().size());
    for (const ResultName& result : results) {
      uint32_t value = names_.Bound(result.name);
      if (value == kUnbound || row.opcode == Opcode::kFor) value = names_.NewValue(result.name);
      PushArg(ExprId::Value(value), result.location);
    }
    for (const InstParser::Arg& slot : operands_.slots()) PushArg(slot.id, slot.location);
    for (size_t i = 0; i < row.attrs.size(); ++i) {
      if ((inst.attrs >> i & 1) != 0) PushArg(operands_.attr(i).id, operands_.attr(i).location);
    }
    kernel_->code.push_back(inst);
    kernel_->locations.push_back(pending.location);
    kernel_->type_locations.push_back(pending.type_location);
    kernel_->close_lines.push_back(0);
    kernel_->else_lines.push_back(0);
  }

  bool FinishInst(const InstRow& row, PendingInst& pending, int depth) {
    const size_t index = kernel_->code.size() - 1;
    const auto own_end = static_cast<uint32_t>(index + 1);
    kernel_->code[index].end = own_end;
    kernel_->code[index].else_begin = own_end;
    if (!row.Has(kOpensBlock)) return tokens_.ExpectEndOfLine();
    if (!ParseBraces(index, depth)) return false;
    kernel_->code[index].else_begin = static_cast<uint32_t>(kernel_->code.size());
    bool ended = false;
    if (pending.inst.opcode == Opcode::kIf) {
      ended = lexer_.token() == Token::kNewline;
      if (AtElse()) {
        ended = false;
        kernel_->else_lines[index] = lexer_.location().line;
        lexer_.Next();
        if (!ParseBraces(index, depth)) return false;
      }
    }
    kernel_->code[index].end = static_cast<uint32_t>(kernel_->code.size());
    return ended || tokens_.ExpectEndOfLine();
  }

  // Behind the block of an `if`: whether `else` is next, on this line or on a later one.
  bool AtElse() {
    tokens_.SkipNewlines();
    return lexer_.IsName("else");
  }

  bool ParseBraces(size_t index, int depth) {
    if (!tokens_.Expect(Token::kLeftBrace)) return false;
    ParseBlock(depth + 1);
    kernel_->close_lines[index] = lexer_.location().line;
    return tokens_.Accept(Token::kRightBrace) || tokens_.Expected("`}` to close the block");
  }

  // for %i [: type] = start to stop [step n] attributes
  bool ParseFor(PendingInst& pending, int depth) {
    if (lexer_.token() != Token::kValue) return tokens_.Expected("the counter, such as `%i`");
    const ResultName counter{lexer_.text(), lexer_.location()};
    results_ = {counter};
    bad_loop_ = true;
    if (names_.Bound(counter.name) != kUnbound) {
      ReportAgain(diagnostics_, "value", "%" + std::string(counter.name), counter.location,
                  kernel_->DefinitionOf(names_.Bound(counter.name)));
    }
    lexer_.Next();
    if (lexer_.token() == Token::kColon && !operands_.ParseAnnotation(pending)) return false;
    operands_.Clear();
    if (!tokens_.Expect(Token::kAssign) || !operands_.ParseSlot()) return false;
    if (!lexer_.IsName("to")) return tokens_.Expected("`to`");
    lexer_.Next();
    if (!operands_.ParseSlot()) return false;
    if (lexer_.IsName("step")) {
      lexer_.Next();
      if (!operands_.ParseSlot()) return false;
    } else {
      operands_.AddSlot(ExprId::Small(1), lexer_.location());
    }
    const InstRow& row = Row(Opcode::kFor);
    if (!operands_.ParseAttributes(row, pending)) return false;
    const size_t scope = names_.scope();
    Emit(row, pending, {counter});
    bad_loop_ = false;
    const bool ok = FinishInst(row, pending, depth);
    names_.LeaveScope(scope);
    results_.clear();
    return ok;
  }

  Diagnostics& diagnostics_;
  TokenReader tokens_;
  Lexer& lexer_ = tokens_.lexer();
  Module module_;
  ValueScope names_{&module_, &diagnostics_};
  InstParser operands_{&tokens_, &module_, &names_};
  ExprParser& expressions_ = operands_.expressions();
  Kernel* kernel_ = nullptr;
  HeaderParser header_{&tokens_, &module_, &expressions_};
  std::unordered_map<StringId, Location> names_of_module_;  // of kernels and graphs
  std::vector<ResultName> results_;
  bool bad_loop_ = false;  // the last statement was a `for` with an error in its first line
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
