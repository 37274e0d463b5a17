#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ptx/parse/function_address.h"
#include "ptx/parse/parser.h"
#include "ptx/table/bind.h"

namespace tarsia::ptx {
namespace {

constexpr uint32_t kMaxDepth = 256;

// To `bytes` bytes, 0 for a predicate.
uint64_t Truncate(uint64_t bits, int bytes) {
  if (bytes == 0) return bits != 0 ? 1 : 0;
  return bytes >= 8 ? bits : bits & ((uint64_t{1} << (bytes * 8)) - 1);
}

Space SpaceOf(const Inst& inst) {
  if (inst.Has(Mod::kGlobal)) return Space::kGlobal;
  if (inst.Has(Mod::kShared) || inst.Has(Mod::kSharedCta) || inst.Has(Mod::kSharedCluster)) {
    return Space::kShared;
  }
  if (inst.Has(Mod::kLocal)) return Space::kLocal;
  if (inst.Has(Mod::kConst)) return Space::kConst;
  if (inst.Has(Mod::kParam) || inst.Has(Mod::kParamEntry) || inst.Has(Mod::kParamFunc)) {
    return Space::kParam;
  }
  return Space::kGeneric;
}

int VectorLength(const Inst& inst) {
  return inst.Has(Mod::kV2) ? 2 : inst.Has(Mod::kV4) ? 4 : inst.Has(Mod::kV8) ? 8 : 1;
}

// What a parameter's or a variable's `.param` address says about its space.
bool IsParamAccess(const Inst& inst) { return inst.space == Space::kParam; }

// Lets a function's instructions be watched if it has wgmma.
void WatchRegisters(Function* function) {
  for (const Inst& inst : function->code) {
    function->has_wgmma = function->has_wgmma || inst.Has(Mod::kMmaAsync);
  }
  if (!function->has_wgmma) return;
  const Op wgmma[] = {Op::kWgmmaFence, Op::kWgmmaCommit, Op::kWgmmaWait};
  for (Inst& inst : function->code) {
    if (inst.Has(Mod::kMmaAsync) || std::ranges::find(wgmma, inst.op) != std::end(wgmma)) continue;
    inst.wgmma_checked = inst.handler;
    inst.handler = &RunWgmmaChecked;
  }
}

}  // namespace

void Parser::ParseBody(Function* function) {
  branch_tables_.clear();
  prototypes_.clear();
  depth_ = 1;
  Expect('{');
  while (depth_ > 0 && lexer_.token() != Token::kEnd) ParseStatement();
  if (depth_ > 0) Expected("`}`");
  // A body that runs out returns.
  Inst end;
  end.op = Op::kRet;
  end.undef = UndefRule::kOwn;
  end.handler = RowOf(Op::kRet).bind(end);
  end.location = function->location;
  function->code.push_back(std::move(end));
  if (const auto missing = builder_->ResolveLabels()) {
    diagnostics_.Error(diag::kUnknownLabel, missing->second, missing->first);
  }
  WatchRegisters(function);
  const uint32_t number = FunctionNumber(function->name);
  for (Call& call : calls_) {
    if (call.caller == kNowhere) call.caller = number;
  }
}

// Leaves the rest of the function behind.
void Parser::SkipBody() {
  while (lexer_.token() != Token::kEnd && depth_ > 0) {
    if (lexer_.Is('{')) ++depth_;
    if (lexer_.Is('}')) --depth_;
    lexer_.Next();
  }
}

void Parser::ParseStatement() {
  statement_depth_ = lexer_.depth();
  if (builder_->TooLarge()) {
    diagnostics_.Error(diag::kTooLarge, lexer_.location(), "the function");
    return SkipBody();
  }
  if (lexer_.Is('{')) {
    if (depth_ == kMaxDepth) {
      diagnostics_.Error(diag::kTooLarge, lexer_.location(), "the nesting");
      return SkipBody();
    }
    ++depth_;
    builder_->PushScope();
    return lexer_.Next();
  }
  if (lexer_.Is('}')) {
    --depth_;
    builder_->PopScope();
    return lexer_.Next();
  }
  if (lexer_.Is(';')) return lexer_.Next();
  if (lexer_.token() == Token::kDot) return ParseBodyDirective();
  ParseLabelOrInstruction();
}

void Parser::ParseBodyDirective() {
  const std::string_view word = lexer_.text();
  const Location location = lexer_.location();
  if (word == "loc") return ParseLoc();
  if (word == "file") return ParseFile();
  if (word == "pragma") return SkipToSemicolon();
  lexer_.Next();
  if (word == "reg") return ParseRegisters();
  if (word == "local" || word == "param") return ParseLocalVariable(Space::kLocal);
  if (word == "shared") return ParseLocalVariable(Space::kShared);
  if (word == "global") return ParseLocalVariable(Space::kGlobal);
  if (word == "const") return ParseLocalVariable(Space::kConst);
  diagnostics_.Error(diag::kUnknownDirective, location, "." + std::string(word));
  SkipToSemicolon();
}

// The names of a declaration that is wrong: none of them is wrong again where it is used.
void Parser::SkipRegisters() {
  for (; lexer_.token() != Token::kEnd && !lexer_.Is(';') && !lexer_.Is('}'); lexer_.Next()) {
    if (lexer_.token() != Token::kName) continue;
    const std::string name(lexer_.text());
    Lexer ahead = lexer_;
    ahead.Next();
    if (ahead.Is('<')) {
      ahead.Next();
      builder_->DeclareBrokenRange(name, ahead.value());
    } else {
      builder_->DeclareBroken(name);
    }
  }
  Take(';');
}

// .reg .b32 %r<10>, a, b;
void Parser::ParseRegisters() {
  int vector = 1;
  if (lexer_.IsDot("v2") || lexer_.IsDot("v4")) {
    vector = 0;  // vector registers are not supported: say so below
  }
  const auto type = lexer_.token() == Token::kDot ? FindType(lexer_.text()) : std::nullopt;
  const bool narrow = type && *type != Type::kPred && BytesOf(*type) == 0;
  if (!type || narrow || vector == 0) {
    diagnostics_.Error(diag::kUnknownType, lexer_.location(), lexer_.text());
    return SkipRegisters();
  }
  lexer_.Next();
  const auto bytes = static_cast<uint8_t>(BytesOf(*type));
  do {
    const Location location = lexer_.location();
    const auto name = ParseName();
    if (!name) return SkipToSemicolon();
    if (Take('<')) {
      const auto count = ParseCount();
      if (!count || !Expect('>')) return SkipToSemicolon();
      builder_->DeclareRange(*name, *count, bytes);
      continue;
    }
    Symbol symbol;
    symbol.reg = builder_->NewRegister(bytes);
    if (!builder_->Declare(*name, symbol)) {
      diagnostics_.Error(diag::kRedeclared, location, *name);
    }
  } while (Take(','));
  if (!Expect(';')) SkipToSemicolon();
}

// Local variables and parameters of calls lie in the frame; others belong to the module, under a
// name that is known here.
void Parser::ParseLocalVariable(Space space) {
  const auto declarator = ParseDeclarator(false);
  if (!declarator) return SkipRegisters();
  Symbol symbol;
  symbol.bytes = declarator->bytes();
  if (space == Space::kLocal) {
    symbol.kind = Symbol::Kind::kLocal;
    symbol.offset = builder_->AddLocal(symbol.bytes, declarator->align);
    symbol.param = true;
    const auto number = static_cast<uint32_t>(module_->frame_variables.size());
    module_->frame_variables.push_back({declarator->name, declarator->location});
    builder_->function().frame_slots.push_back({symbol.offset, symbol.bytes, number});
  } else {
    Variable variable;
    variable.name = builder_->function().name + "::" + declarator->name;
    variable.space = space;
    variable.location = declarator->location;
    variable.align = declarator->align;
    variable.bytes = declarator->bytes();
    if (Take('=') && !ParseInitialiser(*declarator, &variable)) return SkipToSemicolon();
    symbol.kind = Symbol::Kind::kVariable;
    symbol.number = AddVariable(std::move(variable));
  }
  if (!builder_->Declare(declarator->name, symbol)) {
    diagnostics_.Error(diag::kRedeclared, declarator->location, declarator->name);
  }
  if (!Expect(';')) SkipToSemicolon();
}

void Parser::ParseLabelOrInstruction() {
  if (lexer_.Is('@')) {
    if (!ParseInstruction()) SkipToSemicolon();
    return;
  }
  const Location location = lexer_.location();
  if (lexer_.token() != Token::kName) {
    Expected("an instruction");
    lexer_.Next();
    return SkipToSemicolon();
  }
  // A label is a name and a colon; a mnemonic is never followed by one.
  Lexer ahead = lexer_;
  ahead.Next();
  if (ahead.Is(':')) {
    const std::string name(lexer_.text());
    lexer_ = ahead;
    lexer_.Next();
    if (!ParseLabelLine(name, location)) SkipToSemicolon();
    return;
  }
  if (!ParseInstruction()) SkipToSemicolon();
}

bool Parser::ParseLabelLine(const std::string& name, Location location) {
  if (lexer_.IsDot("branchtargets")) return ParseBranchTargets(name);
  if (lexer_.IsDot("callprototype")) return ParsePrototype(name);
  if (lexer_.IsDot("calltargets")) return ParseCallTargets(name);
  if (!builder_->DeclareLabel(name)) diagnostics_.Error(diag::kRedeclared, location, name);
  return true;
}

bool Parser::ParseBranchTargets(const std::string& name) {
  lexer_.Next();
  auto& tables = builder_->function().tables;
  const auto table = static_cast<uint32_t>(tables.size());
  tables.emplace_back();
  branch_tables_.insert_or_assign(name, table);
  do {
    const Location location = lexer_.location();
    const auto label = ParseName();
    if (!label) return false;
    builder_->UseLabelInTable(*label, location, table, static_cast<uint32_t>(tables[table].size()));
    tables[table].push_back(kNowhere);
  } while (Take(','));
  return Expect(';');
}

// name: .callprototype (results) _ (parameters);  with either list left out.
bool Parser::ParsePrototype(const std::string& name) {
  lexer_.Next();
  Prototype prototype;
  prototypes_[name].broken = true;
  if (lexer_.Is('(') && !ParsePrototypeList(&prototype.results)) return false;
  if (!ParseName()) return false;
  if (lexer_.Is('(') && !ParsePrototypeList(&prototype.params)) return false;
  if (lexer_.IsDot("noreturn")) lexer_.Next();
  prototypes_.insert_or_assign(name, prototype);
  return Expect(';');
}

// name: .calltargets function, function;  of functions that take and give the same.
bool Parser::ParseCallTargets(const std::string& name) {
  lexer_.Next();
  Prototype prototype;
  prototypes_[name].broken = true;
  do {
    const Location location = lexer_.location();
    const auto target = ParseName();
    if (!target) return false;
    const auto symbol = NamedSymbol(*target, location);
    if (!symbol) return false;
    if (symbol->kind != Symbol::Kind::kFunction) {
      diagnostics_.Error(diag::kOperandKind, location, "", *target, "a function");
      return false;
    }
    const Function& function = module_->functions[symbol->number];
    if (prototype.targets.empty()) {
      prototype.params = function.params.size();
      prototype.results = function.results.size();
    } else if (prototype.params != function.params.size() ||
               prototype.results != function.results.size()) {
      diagnostics_.Error(diag::kCallShape, location, *target, function.params.size(),
                         function.results.size());
      return false;
    }
    prototype.targets.push_back(symbol->number);
  } while (Take(','));
  prototypes_.insert_or_assign(name, std::move(prototype));
  return Expect(';');
}

bool Parser::ParsePrototypeList(size_t* count) {
  if (!Expect('(')) return false;
  if (Take(')')) return true;
  do {
    if (!lexer_.IsDot("param")) return Expected("`.param`");
    lexer_.Next();
    if (!ParseDeclarator(true)) return false;
    ++*count;
  } while (Take(','));
  return Expect(')');
}

bool Parser::ParseGuard(Inst* inst) {
  if (!Take('@')) return true;
  const bool negated = Take('!');
  const Location location = lexer_.location();
  const auto name = ParseName();
  if (!name) return false;
  const auto symbol = NamedSymbol(*name, location);
  if (!symbol) return false;
  if (symbol->kind != Symbol::Kind::kRegister || symbol->reg.bytes != 0) {
    diagnostics_.Error(diag::kOperandKind, location, "before @", *name, "a predicate");
    return false;
  }
  inst->guarded = true;
  inst->guard = symbol->reg;
  inst->guard.negated = negated;
  return true;
}

bool Parser::ParseInstruction() {
  Inst inst;
  if (!ParseGuard(&inst)) return false;
  inst.location = lexer_.location();
  inst.loc = loc_;
  inst.source_file = module_->lines[loc_].file;
  inst.source_line = module_->lines[loc_].line;
  const auto mnemonic = ParseName();
  if (!mnemonic) return false;
  const Row* row = nullptr;
  if (!ParseModifiers(&inst, &row, *mnemonic)) return false;
  inst.op = row->op;
  inst.undef = row->undef;
  inst.space = SpaceOf(inst);
  if (!ParseOperands(*row, &inst) || !Expect(';')) return false;
  FinishInstruction(*row, std::move(inst));
  return true;
}

void Parser::FinishInstruction(const Row& row, Inst inst) {
  inst.handler = row.bind(inst);
  const auto is_clock = [&](const FrameValue& value) {
    return value.kind == FrameValue::Kind::kSpecial && IsClock(value.special) &&
           std::ranges::any_of(inst.operands, [&](const Operand& operand) {
             return operand.bank == 0 && operand.offset == value.where.offset;
           });
  };
  // bar is barrier.aligned, but for bar.warp.
  inst.aligned = inst.Has(Mod::kAligned) || (row.mnemonic == "bar" && !inst.Has(Mod::kWarp));
  if (inst.handler != nullptr && inst.aligned) {
    inst.wrapped = inst.handler;
    inst.handler = &RunTogether;
  } else if (inst.handler != nullptr &&
             std::ranges::any_of(builder_->function().frame_values, is_clock)) {
    inst.wrapped = inst.handler;
    inst.handler = &RunWithClock;
  }
  if (inst.handler == nullptr) {
    diagnostics_.Error(diag::kNoSuchForm, inst.location, row.mnemonic);
    return;
  }
  builder_->function().code.push_back(std::move(inst));
}

namespace {

// Whether so many operands, separated by commas, are as many as the row has places.
bool TakesOperands(const Row& row, int count) {
  int least = 0;
  int most = 0;
  for (const OperandShape& shape : row.shapes) {
    if (shape.after_bar) continue;
    ++most;
    if (!shape.optional) ++least;
  }
  return least <= count && count <= most;
}

}  // namespace

bool Parser::ParseModifiers(Inst* inst, const Row** row, std::string_view mnemonic) {
  std::vector<std::string_view> words;
  std::vector<Location> places;
  while (lexer_.token() == Token::kDot) {
    words.push_back(lexer_.text());
    places.push_back(lexer_.location());
    lexer_.Next();
  }
  *row = FindRow(mnemonic, words);
  if (*row == nullptr) {
    places.push_back(inst->location);
    ReportModifiers(mnemonic, words, places);
    return false;
  }
  const ModifierMatch match = MatchModifiers(**row, words);
  inst->mods = match.mods;
  inst->number = match.number;
  inst->type = match.types;
  CheckSince((*row)->since, fmt::format("`{}`", mnemonic), inst->location);
  for (const auto& [word, since] : (*row)->later_words) {
    const auto found = std::ranges::find(words, word);
    if (found == words.end()) continue;
    CheckSince(since, fmt::format("`.{}` of `{}`", word, mnemonic),
               places[static_cast<size_t>(found - words.begin())]);
  }
  return true;
}

// The row that takes the words; of several, the first that takes as many operands as follow.
const Row* Parser::FindRow(std::string_view mnemonic, const std::vector<std::string_view>& words) {
  const Row* first = nullptr;
  for (const Row* row : RowsOf(mnemonic)) {
    if (!MatchModifiers(*row, words).complete) continue;
    if (first == nullptr) {
      first = row;
    } else if (const int count = OperandsLeft(true); !TakesOperands(*first, count)) {
      if (TakesOperands(*row, count)) return row;
    }
  }
  return first;
}

// Reports what the module's target or version does not have.
void Parser::CheckSince(const Since& since, const std::string& what, Location location) {
  if (!std::ranges::all_of(targets_, [&](const Target& target) { return since.Takes(target); })) {
    diagnostics_.Error(diag::kTooOldTarget, location, what, since.TargetText(),
                       module_->targets[0]);
  } else if (!since.Takes(version_)) {
    diagnostics_.Error(diag::kTooOldVersion, location, what, since.version.major,
                       since.version.minor, module_->version);
  }
}

// No row fits: names the first word that no row could take.
void Parser::ReportModifiers(std::string_view mnemonic, const std::vector<std::string_view>& words,
                             const std::vector<Location>& places) {
  const auto rows = RowsOf(mnemonic);
  if (rows.empty()) {
    Diagnostic& error =
        diagnostics_.Error(diag::kUnknownInstruction, places.back(), std::string(mnemonic));
    error.help = DidYouMean(mnemonic, Mnemonics());
    return;
  }
  size_t matched = 0;
  std::vector<std::string_view> expected;  // where all words fit
  for (const Row* row : rows) {
    const ModifierMatch match = MatchModifiers(*row, words);
    matched = std::max(matched, match.matched);
    if (match.missing == nullptr) continue;
    for (const std::string_view word : match.missing->words) {
      if (std::ranges::find(expected, word) == expected.end()) expected.push_back(word);
    }
  }
  if (matched < words.size()) {
    diagnostics_.Error(diag::kUnknownModifier, places[matched], mnemonic, words[matched]);
    return;
  }
  diagnostics_.Error(diag::kMissingModifier, places.back(), mnemonic,
                     fmt::format(".{}", fmt::join(expected, ", .")));
}

bool Parser::ParseOperands(const Row& row, Inst* inst) {
  bool first = true;
  for (const OperandShape& shape : row.shapes) {
    OperandGroup& group = inst->group[inst->groups++];
    group.first = static_cast<uint16_t>(inst->operands.size());
    // An optional operand is there if there are operands enough for it and all behind it.
    const auto wanted = static_cast<int>(row.shapes.size()) - inst->groups + 1;
    const bool left_out = shape.optional && OperandsLeft(first) < wanted;
    if (shape.after_bar ? !lexer_.Is('|') : left_out) continue;
    if (shape.after_bar) {
      Take('|');
    } else if (!first && !Take(',')) {
      diagnostics_.Error(diag::kOperandCount, lexer_.location(), row.mnemonic);
      return false;
    }
    first = false;
    if (!ParseShape(row, shape, inst)) return false;
    group.count = static_cast<uint16_t>(inst->operands.size() - group.first);
  }
  if (lexer_.Is(',')) {
    diagnostics_.Error(diag::kOperandCount, lexer_.location(), row.mnemonic);
    return false;
  }
  return true;
}

// Operands up to the semicolon.
int Parser::OperandsLeft(bool first) const {
  Lexer ahead = lexer_;
  int depth = 0;
  int count = first && !ahead.Is(';') ? 1 : 0;
  for (; ahead.token() != Token::kEnd && !ahead.Is(';'); ahead.Next()) {
    if (ahead.Is('{') || ahead.Is('(') || ahead.Is('[')) ++depth;
    if (ahead.Is('}') || ahead.Is(')') || ahead.Is(']')) --depth;
    if (depth == 0 && ahead.Is(',')) ++count;
  }
  return count;
}

bool Parser::ParseShape(const Row& row, const OperandShape& shape, Inst* inst) {
  switch (shape.role) {
    case OperandRole::kCall:
      return ParseCall(inst);
    case OperandRole::kBrx:
      return ParseBrx(inst);
    case OperandRole::kLabel: {
      const Location location = lexer_.location();
      const auto label = ParseName();
      if (!label) return false;
      const auto here = static_cast<uint32_t>(builder_->function().code.size());
      builder_->UseLabel(*label, location, here);
      return true;
    }
    case OperandRole::kAddress: {
      const auto operand = ParseAddress(*inst);
      if (operand) inst->operands.push_back(*operand);
      return operand.has_value();
    }
    case OperandRole::kBox:
      return ParseBox(inst);
    case OperandRole::kDest:
    case OperandRole::kSource:
      break;
  }
  const Type type =
      shape.type_index >= 0 ? inst->type[static_cast<size_t>(shape.type_index)] : shape.type;
  const int bytes = BytesOf(type) * (shape.twice ? 2 : 1);
  if (shape.count != OperandCount::kOne) return ParseVector(row, shape, type, bytes, inst);
  auto operand = ParseOperand(shape, type, bytes);
  if (!operand || (shape.parts && !ParseParts(row, &*operand))) return false;
  inst->operands.push_back(*operand);
  return true;
}

// What may stand behind a register of a video instruction: `.h20` of halves, `.b3210` of bytes.
bool Parser::ParseParts(const Row& row, Operand* operand) {
  if (lexer_.token() != Token::kDot) return true;
  const std::string_view text = lexer_.text();
  const char letter = row.mnemonic.ends_with('2') ? 'h' : 'b';
  const size_t most = letter == 'h' ? 2 : 4;
  bool good = text.size() > 1 && text.size() <= most + 1 && text[0] == letter;
  for (size_t i = 1; good && i < text.size(); ++i) {
    good = text[i] >= '0' && text[i] <= '7';
    operand->select = static_cast<uint16_t>(operand->select << 4 | (text[i] - '0' + 1));
  }
  if (!good) diagnostics_.Error(diag::kUnknownModifier, lexer_.location(), row.mnemonic, text);
  lexer_.Next();
  return good;
}

// How many elements the list in braces has that begins here.
int Parser::ListLength() const {
  Lexer ahead = lexer_;
  int count = 1;
  for (; ahead.token() != Token::kEnd && !ahead.Is(';') && !ahead.Is('}'); ahead.Next()) {
    if (ahead.Is(',')) ++count;
  }
  return count;
}

// One operand, or a list of them in braces.
bool Parser::ParseVector(const Row& row, const OperandShape& shape, Type type, int bytes,
                         Inst* inst) {
  const Location location = lexer_.location();
  const int wanted = shape.count == OperandCount::kByModifier ? VectorLength(*inst) : 0;
  std::vector<Operand>& list = inst->operands;
  const size_t first = list.size();
  if (!lexer_.Is('{')) {
    const bool descriptor = shape.count == OperandCount::kListOrDescriptor;
    const auto operand = ParseOperand(shape, type, descriptor ? 8 : bytes);
    if (!operand) return false;
    list.push_back(*operand);
  } else {
    // Parts of a whole, from the low end, are bits whatever its type.
    const int parts = shape.count == OperandCount::kConcat ? ListLength() : 1;
    if (bytes % parts != 0) {
      diagnostics_.Error(diag::kNoSuchForm, location, row.mnemonic);
      return false;
    }
    lexer_.Next();
    do {
      const auto operand = ParseOperand(shape, parts == 1 ? type : Type::kNone, bytes / parts);
      if (!operand) return false;
      list.push_back(*operand);
    } while (Take(','));
    if (!Expect('}')) return false;
  }
  if (wanted != 0 && static_cast<size_t>(wanted) != list.size() - first) {
    diagnostics_.Error(diag::kNoSuchForm, location, row.mnemonic);
    return false;
  }
  return list.size() - first <= 256 || Expected("a shorter list");
}

std::optional<Operand> Parser::ParseOperand(const OperandShape& shape, Type type, int bytes) {
  const bool dest = shape.role == OperandRole::kDest;
  if (lexer_.token() == Token::kName) {
    auto operand = ParseNamed(shape, bytes);
    if (operand) operand->dest = dest;
    return operand;
  }
  if (dest) {
    Expected("a register");
    return std::nullopt;
  }
  if (Take('!')) {
    auto operand = ParseNamed(shape, bytes);
    if (operand) operand->negated = true;
    return operand;
  }
  return ParseNumber(type, bytes);
}

std::optional<Operand> Parser::ParseNumber(Type type, int bytes) {
  const Location location = lexer_.location();
  const bool negative = Take('-');
  const bool inverted = !negative && Take('~');
  const Token token = lexer_.token();
  uint64_t bits = lexer_.value();
  if (token != Token::kInteger && token != Token::kFloat32 && token != Token::kFloat64) {
    Expected("an operand");
    return std::nullopt;
  }
  lexer_.Next();
  if (token == Token::kInteger) {
    if (type == Type::kF32 || type == Type::kF64) {
      diagnostics_.Error(diag::kOperandKind, location, "", InfoOf(type).name,
                         "a float, as in 0f3F800000 or 1.0");
      return std::nullopt;
    }
    if (negative) bits = ~bits + 1;
    if (inverted) bits = ~bits;
    return builder_->ConstantOperand({static_cast<uint8_t>(bytes), Truncate(bits, bytes), -1});
  }
  double number = token == Token::kFloat64
                      ? std::bit_cast<double>(bits)
                      : double{std::bit_cast<float>(static_cast<uint32_t>(bits))};
  if (negative) number = -number;
  if (bytes == 8) {
    bits = token == Token::kFloat64 && !negative ? bits : std::bit_cast<uint64_t>(number);
  } else if (bytes == 4) {
    bits = token == Token::kFloat32 ? bits ^ (negative ? 0x80000000U : 0U)
                                    : std::bit_cast<uint32_t>(static_cast<float>(number));
  } else {
    diagnostics_.Error(diag::kOperandKind, location, "", InfoOf(type).name, "an integer");
    return std::nullopt;
  }
  return builder_->ConstantOperand({static_cast<uint8_t>(bytes), bits, -1});
}

std::optional<Symbol> Parser::FindSymbol(std::string_view name) {
  if (auto symbol = builder_->Find(name)) return symbol;
  const auto found = names_.find(name);
  if (found == names_.end()) return std::nullopt;
  return found->second;
}

// The symbol of a name, unless its declaration is lacking, which is said once, or wrong.
std::optional<Symbol> Parser::NamedSymbol(std::string_view name, Location location) {
  const auto symbol = FindSymbol(name);
  if (!symbol) {
    diagnostics_.Error(diag::kUnknownName, location, name);
    builder_->DeclareBroken(name);
    return std::nullopt;
  }
  if (symbol->kind == Symbol::Kind::kBroken) {
    return std::nullopt;
  }
  return symbol;
}

// A register, a special register, `_`, WARP_SZ, or a variable's address.
std::optional<Operand> Parser::ParseNamed(const OperandShape& shape, int bytes) {
  const Location location = lexer_.location();
  const auto parsed = ParseName();
  if (!parsed) return std::nullopt;
  std::string name = *parsed;
  if (name[0] == '%' && lexer_.token() == Token::kDot && lexer_.adjacent()) {
    const std::string whole = name + "." + std::string(lexer_.text());
    if (!shape.parts || FindSpecial(whole)) {
      name = whole;
      lexer_.Next();
    }
  }
  Operand operand;
  if (name == "_" && shape.role == OperandRole::kDest) {
    // Nobody reads it: a register without a name.
    operand = builder_->NewRegister(static_cast<uint8_t>(bytes));
    operand.sink = true;
    return operand;
  }
  const auto special = FindSpecial(name);
  if (name == "WARP_SZ") {
    return builder_->ConstantOperand({static_cast<uint8_t>(bytes), kLanes, -1});
  }
  if (special && !FindSymbol(name)) {
    operand = builder_->SpecialOperand(*special);
  } else {
    const auto symbol = NamedSymbol(name, location);
    if (!symbol) return std::nullopt;
    if (symbol->kind != Symbol::Kind::kRegister) {
      const auto addend = ParseAddend();
      if (!addend) return std::nullopt;
      return SymbolOperand(*symbol, name, location, bytes, *addend);
    }
    operand = symbol->reg;
  }
  const bool fits = (shape.or_predicate && operand.bytes == 0) || operand.bytes == bytes ||
                    (shape.relaxed && operand.bytes > bytes);
  if (!fits) {
    diagnostics_.Error(diag::kOperandWidth, location, name, operand.bytes * 8, "the instruction",
                       bytes * 8);
    return std::nullopt;
  }
  return operand;
}

// The address of a variable, within its own space.
std::optional<Operand> Parser::SymbolOperand(const Symbol& symbol, std::string_view name,
                                             Location location, int bytes, int64_t addend) {
  if (bytes != 4 && bytes != 8) {
    diagnostics_.Error(diag::kOperandWidth, location, name, 64, "the instruction", bytes * 8);
    return std::nullopt;
  }
  const auto width = static_cast<uint8_t>(bytes);
  switch (symbol.kind) {
    case Symbol::Kind::kLocal:
      return builder_->LocalAddress(symbol.offset + static_cast<uint64_t>(addend), width);
    case Symbol::Kind::kEntryParam:
      return builder_->ConstantOperand({width, symbol.offset + static_cast<uint64_t>(addend), -1});
    case Symbol::Kind::kVariable:
      return builder_->ConstantOperand(
          {width, static_cast<uint64_t>(addend), static_cast<int32_t>(symbol.number)});
    case Symbol::Kind::kFunction:
      if (bytes == 8 && addend == 0) {
        return builder_->ConstantOperand({width, AddressOfFunction(symbol.number), -1});
      }
      break;
    case Symbol::Kind::kRegister:
    case Symbol::Kind::kBroken:
      break;
  }
  diagnostics_.Error(diag::kOperandKind, location, "", name, "a variable");
  return std::nullopt;
}

// `+8`, `+-8`, or nothing; PTX has no `-8` here.
std::optional<int64_t> Parser::ParseAddend() {
  if (!Take('+')) return 0;
  const bool negative = Take('-');
  const auto count = ParseCount();
  if (!count) return std::nullopt;
  return static_cast<int64_t>(negative ? ~*count + 1 : *count);
}

std::optional<Operand> Parser::ParseAddress(const Inst& inst) {
  if (!Expect('[')) return std::nullopt;
  const auto operand = ParseAddressTerm(inst);
  return operand && Expect(']') ? operand : std::nullopt;
}

// [map, {x, y}]
bool Parser::ParseBox(Inst* inst) {
  if (!Expect('[')) return false;
  const auto map = ParseAddressTerm(*inst);
  if (!map || !Expect(',') || !Expect('{')) return false;
  inst->operands.push_back(*map);
  const OperandShape shape;
  do {
    const auto coordinate = ParseOperand(shape, Type::kS32, 4);
    if (!coordinate) return false;
    inst->operands.push_back(*coordinate);
  } while (Take(','));
  return Expect('}') && Expect(']');
}

std::optional<Operand> Parser::ParseAddressTerm(const Inst& inst) {
  const Location location = lexer_.location();
  Operand operand;
  if (lexer_.token() == Token::kInteger) {
    operand = builder_->ConstantOperand({8, lexer_.value(), -1});
    lexer_.Next();
  } else {
    const auto name = ParseName();
    if (!name) return std::nullopt;
    const auto symbol = NamedSymbol(*name, location);
    if (!symbol) return std::nullopt;
    if (symbol->kind == Symbol::Kind::kRegister) {
      operand = symbol->reg;
      operand.frame_space = IsParamAccess(inst) && !builder_->function().entry;
    } else {
      const auto address = SymbolOperand(*symbol, *name, location, 8, 0);
      if (!address) return std::nullopt;
      operand = *address;
      operand.frame_space = symbol->kind == Symbol::Kind::kLocal;
    }
    if (operand.bytes != 4 && operand.bytes != 8) {
      diagnostics_.Error(diag::kOperandWidth, location, *name, operand.bytes * 8, "an address", 64);
      return std::nullopt;
    }
  }
  const auto addend = ParseAddend();
  if (!addend) return std::nullopt;
  operand.addend = *addend;
  return operand;
}

// call (results), function, (arguments);  with either list left out. Through a register a prototype
// follows.
bool Parser::ParseCall(Inst* inst) {
  CallSite site;
  Call call;
  if (lexer_.Is('(') && (!ParseCallParams(&site.results, &call.result_bytes) || !Expect(','))) {
    return false;
  }
  const Location location = lexer_.location();
  const auto name = ParseName();
  if (!name) return false;
  const auto symbol = NamedSymbol(*name, location);
  if (!symbol) return false;
  const bool indirect = symbol->kind == Symbol::Kind::kRegister && symbol->reg.bytes == 8;
  if (symbol->kind != Symbol::Kind::kFunction && !indirect) {
    diagnostics_.Error(diag::kOperandKind, location, "", "call", "the name of a function");
    return false;
  }
  site.function = indirect ? kIndirect : symbol->number;
  if (indirect) {
    inst->operands.push_back(symbol->reg);
    if (!Expect(',')) return false;
    if (lexer_.Is('(') &&
        !(ParseCallParams(&site.arguments, &call.argument_bytes) && Expect(','))) {
      return false;
    }
    if (!ParsePrototypeName(&site)) return false;
  } else if (Take(',') && !ParseCallParams(&site.arguments, &call.argument_bytes)) {
    return false;
  }
  auto& calls = builder_->function().calls;
  inst->table = static_cast<uint32_t>(calls.size());
  call.caller = kNowhere;
  call.site = inst->table;
  call.location = location;
  calls_.push_back(std::move(call));
  calls.push_back(std::move(site));
  return true;
}

// Checks the call against the prototype or the list of targets that it names.
bool Parser::ParsePrototypeName(CallSite* site) {
  const Location location = lexer_.location();
  const auto name = ParseName();
  if (!name) return false;
  const auto found = prototypes_.find(*name);
  if (found == prototypes_.end()) {
    diagnostics_.Error(diag::kUnknownName, location, *name);
    prototypes_[*name].broken = true;
    return false;
  }
  const Prototype& prototype = found->second;
  if (prototype.broken) return false;
  if (prototype.params != site->arguments.size() || prototype.results != site->results.size()) {
    diagnostics_.Error(diag::kCallShape, location, *name, prototype.params, prototype.results);
    return false;
  }
  site->targets = prototype.targets;
  return true;
}

bool Parser::ParseCallParams(std::vector<uint64_t>* offsets, std::vector<uint64_t>* bytes) {
  if (!Expect('(')) return false;
  if (Take(')')) return true;
  do {
    const Location location = lexer_.location();
    const auto name = ParseName();
    if (!name) return false;
    const auto symbol = NamedSymbol(*name, location);
    if (!symbol) return false;
    if (symbol->kind != Symbol::Kind::kLocal) {
      diagnostics_.Error(diag::kOperandKind, location, *name, "call", "a .param variable");
      return false;
    }
    offsets->push_back(symbol->offset);
    bytes->push_back(symbol->bytes);
  } while (Take(','));
  return Expect(')');
}

bool Parser::ParseBrx(Inst* inst) {
  OperandShape shape;
  shape.type = Type::kU32;
  const auto index = ParseOperand(shape, Type::kU32, 4);
  if (!index || !Expect(',')) return false;
  const Location location = lexer_.location();
  const auto name = ParseName();
  if (!name) return false;
  const auto found = branch_tables_.find(*name);
  if (found == branch_tables_.end()) {
    diagnostics_.Error(diag::kUnknownLabel, location, *name);
    return false;
  }
  inst->table = found->second;
  inst->operands.push_back(*index);
  return true;
}

}  // namespace tarsia::ptx
