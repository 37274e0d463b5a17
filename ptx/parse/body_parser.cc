#include "ptx/parse/body_parser.h"

#include "ptx/table/table.h"

namespace tarsia::ptx {
namespace {

constexpr uint32_t kMaxDepth = 256;

}  // namespace

void BodyParser::Parse(Function* function) {
  calls_.Begin();
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
  if (const auto missing = state_.builder->ResolveLabels()) {
    diagnostics_.Error(diag::kUnknownLabel, missing->second, missing->first);
  }
  CheckWgmmaRegisters(function);
  const uint32_t number = FunctionNumber(function->name);
  for (ParsedCall& call : state_.calls) {
    if (call.caller == kNowhere) call.caller = number;
  }
}

// Skips the rest of the function.
void BodyParser::SkipBody() {
  while (lexer_.token() != Token::kEnd && depth_ > 0) {
    if (lexer_.Is('{')) ++depth_;
    if (lexer_.Is('}')) --depth_;
    lexer_.Next();
  }
}

void BodyParser::ParseStatement() {
  state_.statement_depth = lexer_.depth();
  if (state_.builder->TooLarge()) {
    diagnostics_.Error(diag::kTooLarge, lexer_.location(), "the function");
    return SkipBody();
  }
  if (lexer_.Is('{')) {
    if (depth_ == kMaxDepth) {
      diagnostics_.Error(diag::kTooLarge, lexer_.location(), "the nesting");
      return SkipBody();
    }
    ++depth_;
    state_.builder->PushScope();
    return lexer_.Next();
  }
  if (lexer_.Is('}')) {
    --depth_;
    state_.builder->PopScope();
    return lexer_.Next();
  }
  if (lexer_.Is(';')) return lexer_.Next();
  if (lexer_.token() == Token::kDot) return ParseDirective();
  ParseLabelOrInstruction();
}

void BodyParser::ParseDirective() {
  const std::string_view word = lexer_.text();
  const Location location = lexer_.location();
  if (word == "loc") return locations_.ParseLoc();
  if (word == "file") return locations_.ParseFile();
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

// Declares the names of a declaration that is wrong, so that their uses are no further errors.
void BodyParser::SkipRegisters() {
  for (; lexer_.token() != Token::kEnd && !lexer_.Is(';') && !lexer_.Is('}'); lexer_.Next()) {
    if (lexer_.token() != Token::kName) continue;
    const std::string name(lexer_.text());
    Lexer ahead = lexer_;
    ahead.Next();
    if (ahead.Is('<')) {
      ahead.Next();
      state_.builder->DeclareBrokenRange(name, ahead.value());
    } else {
      state_.builder->DeclareBroken(name);
    }
  }
  Take(';');
}

// .reg .b32 %r<10>, a, b;
void BodyParser::ParseRegisters() {
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
      state_.builder->DeclareRange(*name, *count, bytes);
      continue;
    }
    Symbol symbol;
    symbol.reg = state_.builder->NewRegister(bytes);
    if (!state_.builder->Declare(*name, symbol)) {
      diagnostics_.Error(diag::kRedeclared, location, *name);
    }
  } while (Take(','));
  if (!Expect(';')) SkipToSemicolon();
}

// Local variables and parameters of calls lie in the frame; others belong to the module, under a
// name that is known here.
void BodyParser::ParseLocalVariable(Space space) {
  const auto declarator = declarations_.ParseDeclarator(false);
  if (!declarator) return SkipRegisters();
  Symbol symbol;
  symbol.bytes = declarator->bytes();
  if (space == Space::kLocal) {
    symbol.kind = Symbol::Kind::kLocal;
    symbol.offset = state_.builder->AddLocal(symbol.bytes, declarator->align);
    const auto number = static_cast<uint32_t>(state_.module->frame_variables.size());
    state_.module->frame_variables.push_back({declarator->name, declarator->location});
    state_.builder->function().frame_slots.push_back({symbol.offset, symbol.bytes, number});
  } else {
    Variable variable;
    variable.name = state_.builder->function().name + "::" + declarator->name;
    variable.space = space;
    variable.location = declarator->location;
    variable.align = declarator->align;
    variable.bytes = declarator->bytes();
    if (Take('=') && !declarations_.ParseInitialiser(*declarator, &variable))
      return SkipToSemicolon();
    symbol.kind = Symbol::Kind::kVariable;
    symbol.number = AddVariable(std::move(variable));
  }
  if (!state_.builder->Declare(declarator->name, symbol)) {
    diagnostics_.Error(diag::kRedeclared, declarator->location, declarator->name);
  }
  if (!Expect(';')) SkipToSemicolon();
}

void BodyParser::ParseLabelOrInstruction() {
  if (lexer_.Is('@')) {
    if (!instructions_.Parse()) SkipToSemicolon();
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
  if (!instructions_.Parse()) SkipToSemicolon();
}

bool BodyParser::ParseLabelLine(const std::string& name, Location location) {
  if (lexer_.IsDot("branchtargets")) return calls_.ParseBranchTargets(name);
  if (lexer_.IsDot("callprototype")) return calls_.ParsePrototype(name);
  if (lexer_.IsDot("calltargets")) return calls_.ParseCallTargets(name);
  if (!state_.builder->DeclareLabel(name)) diagnostics_.Error(diag::kRedeclared, location, name);
  return true;
}

}  // namespace tarsia::ptx
