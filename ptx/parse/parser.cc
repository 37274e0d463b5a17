#include "ptx/parse/parser.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "ptx/parse/function_address.h"
#include "ptx/table/builtins.h"
#include "ptx/table/semantics.h"
#include "support/align.h"
#include "support/printable.h"

namespace tarsia::ptx {
namespace {

constexpr int kNewestMajor = 9;  // of the versions of PTX

// Which function of CUDA a declaration is of.
Builtin BuiltinOf(const Function& function) {
  const BuiltinInfo* info = FindBuiltin(function.name);
  const auto fits = [](const std::vector<Param>& params, const std::vector<uint64_t>& sizes) {
    return std::ranges::equal(params, sizes, {}, &Param::bytes);
  };
  if (info == nullptr || !fits(function.params, info->params)) return Builtin::kNone;
  return fits(function.results, info->results) ? info->builtin : Builtin::kNone;
}

// Whether a directive of this name stands at the level of the module.
bool BeginsDirective(std::string_view word) {
  constexpr std::string_view kWords[] = {"visible", "extern", "weak",  "common",
                                         "entry",   "func",   "file",  "alias",
                                         "section", "global", "const", "shared"};
  return std::ranges::find(kWords, word) != std::end(kWords);
}

}  // namespace

std::vector<Diagnostic> Parser::TakeErrors() {
  const size_t count = diagnostics_.count();
  std::vector<Diagnostic> errors = diagnostics_.list();
  for (const Diagnostic& error : errors) all_.Add(error);
  for (size_t i = errors.size(); i < count; ++i) all_.Add({});  // counted, not kept
  diagnostics_ = {};
  return errors;
}

void Parser::SkipToDirective() {
  while (lexer_.token() != Token::kEnd && !lexer_.Is(';')) {
    if (lexer_.Is('{')) return SkipBraces();
    lexer_.Next();
  }
  Take(';');
}

// An error at the level of the module reaches to the next directive.
void Parser::SkipToKnownDirective() {
  SkipToDirective();
  while (lexer_.token() != Token::kEnd) {
    if (lexer_.token() == Token::kDot && BeginsDirective(lexer_.text())) return;
    lexer_.Is('{') ? SkipBraces() : lexer_.Next();
  }
}

std::shared_ptr<Module> Parser::ParseModule(Diagnostics* diagnostics) {
  const bool has_header = ParseHeader();
  while (has_header && lexer_.token() != Token::kEnd) {
    ParseDirective();
    for (Diagnostic& error : TakeErrors()) state_.module->errors.push_back(std::move(error));
  }
  CheckCalls();
  state_.module->lines.FindOwn(state_.module->files);
  (void)TakeErrors();  // of a text without a header
  *diagnostics = std::move(all_);
  diagnostics->Sort();
  if (!has_header) return nullptr;
  uint32_t id = 0;
  for (Function& function : state_.module->functions) {
    if (!function.errors.empty()) continue;
    FindJoins(&function);
    for (Inst& inst : function.code) {
      inst.id = id++;
      inst.semantics = SemanticsOf(inst);
    }
  }
  return state_.module;
}

bool Parser::ParseHeader() {
  const Location location = lexer_.location();
  while (lexer_.IsDot("version") || lexer_.IsDot("target") || lexer_.IsDot("address_size")) {
    const bool version = lexer_.IsDot("version");
    const bool target = lexer_.IsDot("target");
    lexer_.Next();
    if (version) state_.module->version = lexer_.text();
    if (target) state_.module->targets.emplace_back(lexer_.text());
    lexer_.Next();
    while (Take(',')) {
      if (target) state_.module->targets.emplace_back(lexer_.text());
      lexer_.Next();
    }
  }
  if (state_.module->version.empty() || state_.module->targets.empty()) {
    diagnostics_.Error(diag::kNoVersion, location);
    return false;
  }
  const auto version = ParseVersion(state_.module->version);
  if (!version || version->major < 1 || version->major > kNewestMajor) {
    diagnostics_.Error(diag::kUnknownVersion, location, state_.module->version);
  }
  state_.version = version.value_or(PtxVersion{kNewestMajor, 0});
  for (const std::string& name : state_.module->targets) {
    if (const auto target = ParseTarget(name)) state_.targets.push_back(*target);
  }
  return true;
}

void Parser::ParseDirective() {
  state_.statement_depth = lexer_.depth();
  bool external = false;
  while (lexer_.IsDot("visible") || lexer_.IsDot("extern") || lexer_.IsDot("weak") ||
         lexer_.IsDot("common")) {
    external |= lexer_.IsDot("extern");
    lexer_.Next();
  }
  if (lexer_.token() != Token::kDot) {
    Expected("a directive");
    return SkipToKnownDirective();
  }
  if (lexer_.IsDot("entry") || lexer_.IsDot("func")) {
    const bool entry = lexer_.IsDot("entry");
    lexer_.Next();
    ParseFunction(entry);
    state_.builder.reset();
    return;
  }
  if (const auto space = SpaceOf(lexer_.text()); space && *space != Space::kParam) {
    lexer_.Next();
    return ParseVariable(*space, external);
  }
  if (lexer_.IsDot("file")) return locations_.ParseFile();
  if (lexer_.IsDot("loc")) return lexer_.SkipLine();
  if (lexer_.IsDot("alias")) return ParseAlias();
  if (lexer_.IsDot("pragma")) return SkipToSemicolon();
  if (lexer_.IsDot("section")) {
    while (lexer_.token() != Token::kEnd && !lexer_.Is('{')) lexer_.Next();
    return SkipBraces();
  }
  diagnostics_.Error(diag::kUnknownDirective, lexer_.location(), "." + std::string(lexer_.text()));
  SkipToKnownDirective();
}

// .alias name, function;  calls of the name are calls of the function.
void Parser::ParseAlias() {
  lexer_.Next();
  const auto name = ParseName();
  if (!name || !Expect(',')) return SkipToSemicolon();
  const auto function = ParseName();
  if (!function || !Expect(';')) return SkipToSemicolon();
  const uint32_t number = FunctionNumber(*name);
  aliases_.insert_or_assign(number, FunctionNumber(*function));
}

void Parser::ParseVariable(Space space, bool external) {
  const auto declarator = declarations_.ParseDeclarator(false);
  if (!declarator) return SkipToSemicolon();
  Variable variable;
  variable.name = declarator->name;
  variable.space = space;
  variable.location = declarator->location;
  variable.align = declarator->align;
  variable.bytes = declarator->bytes();
  variable.external = external && space != Space::kShared;
  variable.dynamic = space == Space::kShared && external && declarator->unsized;
  if (Take('=') && !declarations_.ParseInitialiser(*declarator, &variable))
    return SkipToSemicolon();
  if (!lexer_.Is(';')) {
    Expected("`;`");
    return SkipToSemicolon();
  }
  Take(';');
  DeclareVariable(std::move(variable));
}

void Parser::DeclareVariable(Variable variable) {
  Symbol symbol;
  symbol.kind = Symbol::Kind::kVariable;
  if (const auto found = state_.names.find(variable.name); found != state_.names.end()) {
    Symbol& known = found->second;
    if (known.kind != Symbol::Kind::kVariable || !state_.module->variables[known.number].external) {
      diagnostics_.Error(diag::kRedeclared, variable.location, variable.name);
      return;
    }
    state_.module->variables[known.number] = std::move(variable);  // declared before, defined now
    return;
  }
  const std::string name = variable.name;
  symbol.number = AddVariable(std::move(variable));
  state_.names.emplace(name, symbol);
}

// Errors of a function are kept with it, once its name is known.
void Parser::ParseFunction(bool entry) {
  for (Diagnostic& error : TakeErrors()) state_.module->errors.push_back(std::move(error));
  Function function;
  function.entry = entry;
  function.location = lexer_.location();
  state_.builder = std::make_unique<FunctionBuilder>(&function);
  if (!ParseSignature(&function)) {
    SkipToDirective();
    function.defined = true;
    if (function.name.empty()) return;
    return AddFunction(std::move(function));
  }
  function.builtin = BuiltinOf(function);
  if (Take(';')) {
    const uint32_t number = FunctionNumber(function.name);
    if (!state_.module->functions[number].defined)
      state_.module->functions[number] = std::move(function);
    return;
  }
  const uint32_t number = FunctionNumber(function.name);
  if (state_.module->functions[number].defined) {
    diagnostics_.Error(diag::kRedeclared, function.location, function.name);
  }
  function.defined = true;
  function.builtin = Builtin::kNone;
  state_.module->functions[number].params = function.params;  // for calls of itself
  state_.module->functions[number].results = function.results;
  bodies_.Parse(&function);
  AddFunction(std::move(function));
}

// (results) name (parameters) bounds
bool Parser::ParseSignature(Function* function) {
  if (lexer_.Is('(') && !ParseFunctionParams(function, &function->results, function->entry)) {
    return false;
  }
  function->location = lexer_.location();
  const auto name = ParseName();
  if (!name) return false;
  function->name = *name;
  if (lexer_.Is('(') && !ParseFunctionParams(function, &function->params, function->entry)) {
    return false;
  }
  return ParseBounds(function);
}

void Parser::AddFunction(Function function) {
  const uint32_t number = FunctionNumber(function.name);
  function.errors = TakeErrors();
  if (!function.errors.empty()) {
    Function bare;
    bare.name = function.name;
    bare.location = function.location;
    bare.entry = function.entry;
    bare.defined = true;
    bare.params = std::move(function.params);
    bare.results = std::move(function.results);
    bare.errors = std::move(function.errors);
    function = std::move(bare);
  }
  state_.module->functions[number] = std::move(function);
}

bool Parser::ParseFunctionParams(Function* function, std::vector<Param>* params, bool entry) {
  Expect('(');
  if (Take(')')) return true;
  do {
    if (!lexer_.IsDot("param")) return Expected("`.param`");
    lexer_.Next();
    const auto declarator = declarations_.ParseDeclarator(true);
    if (!declarator) return false;
    Param param{declarator->name, 0, declarator->bytes(), declarator->align};
    Symbol symbol;
    symbol.bytes = param.bytes;
    if (entry) {
      param.offset = AlignUp(function->param_bytes, param.align);
      function->param_bytes = param.offset + param.bytes;
      symbol.kind = Symbol::Kind::kEntryParam;
    } else {
      param.offset = state_.builder->AddLocal(param.bytes, param.align);
      symbol.kind = Symbol::Kind::kLocal;
    }
    symbol.offset = param.offset;
    if (!state_.builder->Declare(param.name, symbol)) {
      diagnostics_.Error(diag::kRedeclared, declarator->location, param.name);
    }
    params->push_back(std::move(param));
  } while (Take(','));
  return Expect(')');
}

bool Parser::ParseDimensions(std::array<uint32_t, 3>* dimensions) {
  *dimensions = {1, 1, 1};
  size_t n = 0;
  do {
    const auto count = ParseCount();
    if (!count) return false;
    if (n < 3) (*dimensions)[n++] = static_cast<uint32_t>(std::min<uint64_t>(*count, UINT32_MAX));
  } while (Take(','));
  return true;
}

// The directives between the parameters and the body.
bool Parser::ParseBounds(Function* function) {
  std::array<uint32_t, 3> dimensions{};
  while (lexer_.token() == Token::kDot) {
    const std::string_view word = lexer_.text();
    const Location location = lexer_.location();
    lexer_.Next();
    function->explicit_cluster |= word == "explicitcluster";
    if (word == "noreturn" || word == "explicitcluster" || word == "blocksareclusters") continue;
    if (word == "pragma") {
      while (lexer_.token() == Token::kString || lexer_.Is(',')) lexer_.Next();
      Take(';');
      continue;
    }
    if (word == "abi_preserve" || word == "abi_preserve_control" || word == "maxclusterrank" ||
        word == "reqnctapercluster" || word == "maxntid" || word == "reqntid" ||
        word == "minnctapersm" || word == "maxnctapersm" || word == "maxnreg") {
      if (!ParseDimensions(&dimensions)) return false;
      if (word == "maxntid") function->max_threads = dimensions;
      if (word == "reqntid") function->required_threads = dimensions;
      if (word == "reqnctapercluster") function->required_cluster = dimensions;
      if (word == "maxclusterrank") function->max_cluster_rank = dimensions[0];
      if (word == "minnctapersm") function->min_blocks_per_sm = dimensions[0];
      if (word == "maxnreg") function->max_registers = dimensions[0];
      continue;
    }
    diagnostics_.Error(diag::kUnknownDirective, location, "." + std::string(word));
    return false;
  }
  return true;
}

void Parser::CheckCalls() {
  for (const ParsedCall& call : state_.calls) {
    Function& caller = state_.module->functions[call.caller];
    if (!caller.errors.empty()) continue;
    CheckCall(call);
    caller.errors = TakeErrors();
  }
  for (Function& function : state_.module->functions) {
    if (function.errors.empty()) continue;
    function.code.clear();  // calls what cannot be called
    function.calls.clear();
  }
}

void Parser::CheckCall(const ParsedCall& call) {
  CallSite& site = state_.module->functions[call.caller].calls[call.site];
  if (site.function == kIndirect) return;  // known when it runs
  const auto alias = aliases_.find(site.function);
  if (alias != aliases_.end()) site.function = alias->second;
  const Function& callee = state_.module->functions[site.function];
  if (!callee.errors.empty()) return;  // which is enough
  if (!callee.defined && callee.builtin == Builtin::kNone) {
    diagnostics_.Error(diag::kUndefinedFunction, call.location, callee.name);
    return;
  }
  if (callee.params.size() != site.arguments.size() ||
      callee.results.size() != site.results.size()) {
    diagnostics_.Error(diag::kCallShape, call.location, callee.name, callee.params.size(),
                       callee.results.size());
    return;
  }
  const auto check = [&](const std::vector<Param>& params, const std::vector<uint64_t>& bytes) {
    for (size_t i = 0; i < params.size(); ++i) {
      if (params[i].bytes <= bytes[i]) continue;
      diagnostics_.Error(diag::kCallSize, call.location, i + 1, callee.name, params[i].bytes,
                         bytes[i]);
    }
  };
  check(callee.params, call.argument_bytes);
  check(callee.results, call.result_bytes);
}

namespace {

std::shared_ptr<Module> ParseText(const SourceFile& source, Diagnostics* diagnostics) {
  if (const auto bad = FindNoText(source.text())) {
    diagnostics->Error(diag::kNotAText, bad->location, bad->what, bad->at);
    return nullptr;
  }
  ParserState state(source);
  return Parser(&state).ParseModule(diagnostics);
}

}  // namespace

std::shared_ptr<const Module> ParseModule(const SourceFile& source, Diagnostics* diagnostics) {
  Diagnostics errors;
  std::shared_ptr<const Module> module = ParseText(source, &errors);
  for (const Diagnostic& error : errors.list()) diagnostics->Add(error);
  for (size_t i = errors.list().size(); i < errors.count(); ++i) diagnostics->Add({});
  return errors.ok() ? module : nullptr;
}

std::shared_ptr<const Module> ParseModuleInParts(const SourceFile& source,
                                                 Diagnostics* diagnostics) {
  std::shared_ptr<Module> module = ParseText(source, diagnostics);
  if (module == nullptr) return nullptr;
  module->in_parts = true;
  *diagnostics = {};
  return module;
}

}  // namespace tarsia::ptx
