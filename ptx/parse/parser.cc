#include "ptx/parse/parser.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ptx/parse/function_address.h"
#include "ptx/table/builtins.h"
#include "ptx/table/semantics.h"
#include "support/printable.h"

namespace tarsia::ptx {
namespace {

constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 30;
constexpr int kNewestMajor = 9;  // of the versions of PTX
constexpr uint64_t kMaxAlign = 4096;
constexpr uint64_t kMaxInitialBytes = uint64_t{1} << 26;

std::optional<Space> SpaceOf(std::string_view word) {
  if (word == "global") return Space::kGlobal;
  if (word == "const") return Space::kConst;
  if (word == "shared") return Space::kShared;
  if (word == "local") return Space::kLocal;
  if (word == "param") return Space::kParam;
  return std::nullopt;
}

uint64_t RoundUp(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

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

Parser::Parser(const SourceFile& source)
    : source_(source), lexer_(source.text(), &diagnostics_), module_(std::make_shared<Module>()) {
  module_->source_name = source.name();
}

std::vector<Diagnostic> Parser::TakeErrors() {
  const size_t count = diagnostics_.count();
  std::vector<Diagnostic> errors = diagnostics_.list();
  for (const Diagnostic& error : errors) all_.Add(error);
  for (size_t i = errors.size(); i < count; ++i) all_.Add({});  // counted, not kept
  diagnostics_ = {};
  return errors;
}

// ---- tokens ----------------------------------------------------------------------------------

bool Parser::Expected(std::string_view what) {
  std::string found = "the end of the text";
  if (lexer_.token() != Token::kEnd) {
    found = lexer_.token() == Token::kDot ? "`." : "`";
    found += std::string(lexer_.text()) + "`";
  }
  diagnostics_.Error(diag::kUnexpected, lexer_.location(), what, found);
  return false;
}

bool Parser::Take(char punctuation) {
  if (!lexer_.Is(punctuation)) return false;
  lexer_.Next();
  return true;
}

bool Parser::Expect(char punctuation) {
  if (Take(punctuation)) return true;
  return Expected(std::string("`") + punctuation + "`");
}

std::optional<uint64_t> Parser::ParseCount() {
  if (lexer_.token() != Token::kInteger) {
    Expected("a number");
    return std::nullopt;
  }
  const uint64_t value = lexer_.value();
  lexer_.Next();
  return value;
}

std::optional<std::string> Parser::ParseName() {
  if (lexer_.token() != Token::kName) {
    Expected("a name");
    return std::nullopt;
  }
  std::string name(lexer_.text());
  lexer_.Next();
  return name;
}

// To the end of the statement, whatever lists in braces it has: behind its semicolon, or where one
// is lacking to what cannot be of it, the end of the scope or the beginning of another.
void Parser::SkipToSemicolon() {
  while (lexer_.token() != Token::kEnd && !lexer_.Is(';')) {
    if (lexer_.depth() <= statement_depth_) {
      if (lexer_.Is('}')) return;
      Lexer ahead = lexer_;
      if (lexer_.Is('{')) ahead.Next();
      if (ahead.token() == Token::kDot && lexer_.Is('{')) return;
    }
    lexer_.Next();
  }
  Take(';');
}

void Parser::SkipBraces() {
  int depth = 0;
  do {
    if (lexer_.Is('{')) ++depth;
    if (lexer_.Is('}')) --depth;
    lexer_.Next();
  } while (depth > 0 && lexer_.token() != Token::kEnd);
}

void Parser::SkipToDirective() {
  while (lexer_.token() != Token::kEnd && !lexer_.Is(';')) {
    if (lexer_.Is('{')) return SkipBraces();
    lexer_.Next();
  }
  Take(';');
}

// What is wrong at the level of the module is wrong up to the next directive.
void Parser::SkipToKnownDirective() {
  SkipToDirective();
  while (lexer_.token() != Token::kEnd) {
    if (lexer_.token() == Token::kDot && BeginsDirective(lexer_.text())) return;
    lexer_.Is('{') ? SkipBraces() : lexer_.Next();
  }
}

// ---- the module ------------------------------------------------------------------------------

std::shared_ptr<Module> Parser::ParseModule(Diagnostics* diagnostics) {
  const bool has_header = ParseHeader();
  while (has_header && lexer_.token() != Token::kEnd) {
    ParseDirective();
    for (Diagnostic& error : TakeErrors()) module_->errors.push_back(std::move(error));
  }
  CheckCalls();
  module_->lines.FindOwn(module_->files);
  (void)TakeErrors();  // of a text without a header
  *diagnostics = std::move(all_);
  diagnostics->Sort();
  if (!has_header) return nullptr;
  uint32_t id = 0;
  for (Function& function : module_->functions) {
    if (!function.errors.empty()) continue;
    FindJoins(&function);
    for (Inst& inst : function.code) {
      inst.id = id++;
      inst.semantics = SemanticsOf(inst);
    }
  }
  return module_;
}

bool Parser::ParseHeader() {
  const Location location = lexer_.location();
  while (lexer_.IsDot("version") || lexer_.IsDot("target") || lexer_.IsDot("address_size")) {
    const bool version = lexer_.IsDot("version");
    const bool target = lexer_.IsDot("target");
    lexer_.Next();
    if (version) module_->version = lexer_.text();
    if (target) module_->targets.emplace_back(lexer_.text());
    lexer_.Next();
    while (Take(',')) {
      if (target) module_->targets.emplace_back(lexer_.text());
      lexer_.Next();
    }
  }
  if (module_->version.empty() || module_->targets.empty()) {
    diagnostics_.Error(diag::kNoVersion, location);
    return false;
  }
  const auto version = ParseVersion(module_->version);
  if (!version || version->major < 1 || version->major > kNewestMajor) {
    diagnostics_.Error(diag::kUnknownVersion, location, module_->version);
  }
  version_ = version.value_or(PtxVersion{kNewestMajor, 0});
  for (const std::string& name : module_->targets) {
    if (const auto target = ParseTarget(name)) targets_.push_back(*target);
  }
  return true;
}

// .file 1 "name", ..
void Parser::ParseFile() {
  lexer_.Next();
  if (lexer_.token() == Token::kInteger) {
    const auto number = static_cast<uint32_t>(lexer_.value());
    lexer_.Next();
    if (lexer_.token() == Token::kString) module_->files.emplace(number, lexer_.text());
  }
  lexer_.SkipLine();
}

// The numbers of a place, as far as they stand in one line; the token behind them is of that line
// or of another.
bool Parser::ParsePlace(uint32_t line, SourceLines::Place* place) {
  for (uint32_t& number : *place) {
    if (lexer_.token() != Token::kInteger || lexer_.location().line != line) return false;
    number = static_cast<uint32_t>(lexer_.value());
    lexer_.Next();
  }
  return true;
}

// .loc FILE LINE COLUMN[, function_name LABEL, inlined_at FILE LINE COLUMN]
void Parser::ParseLoc() {
  const uint32_t line = lexer_.location().line;
  const auto on_line = [&] {
    return lexer_.token() != Token::kEnd && lexer_.location().line == line;
  };
  SourceLines::Place place{};
  SourceLines::Place caller{};
  lexer_.Next();
  bool good = ParsePlace(line, &place);
  bool inlined = false;
  while (good && on_line()) {
    const bool is_caller = lexer_.token() == Token::kName && lexer_.text() == "inlined_at";
    lexer_.Next();
    if (is_caller) good = inlined = ParsePlace(line, &caller);
  }
  if (place[0] != 0) {
    loc_ = inlined ? module_->lines.AddInlined(place, caller) : module_->lines.Add(place);
  }
  if (on_line()) lexer_.SkipLine();
}

void Parser::ParseDirective() {
  statement_depth_ = lexer_.depth();
  Linkage linkage;
  while (lexer_.IsDot("visible") || lexer_.IsDot("extern") || lexer_.IsDot("weak") ||
         lexer_.IsDot("common")) {
    linkage.external |= lexer_.IsDot("extern");
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
    builder_.reset();
    return;
  }
  if (const auto space = SpaceOf(lexer_.text()); space && *space != Space::kParam) {
    lexer_.Next();
    return ParseVariable(*space, linkage);
  }
  if (lexer_.IsDot("file")) return ParseFile();
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

uint32_t Parser::FunctionNumber(const std::string& name) {
  if (const auto found = names_.find(name);
      found != names_.end() && found->second.kind == Symbol::Kind::kFunction) {
    return found->second.number;
  }
  Symbol symbol;
  symbol.kind = Symbol::Kind::kFunction;
  symbol.number = static_cast<uint32_t>(module_->functions.size());
  Function function;
  function.name = name;
  module_->functions.push_back(std::move(function));
  names_.insert_or_assign(name, symbol);
  return symbol.number;
}

// What is wrong with a function is kept with it, once its name is known.
void Parser::ParseFunction(bool entry) {
  for (Diagnostic& error : TakeErrors()) module_->errors.push_back(std::move(error));
  Function function;
  function.entry = entry;
  function.location = lexer_.location();
  builder_ = std::make_unique<FunctionBuilder>(&function);
  if (!ParseSignature(&function)) {
    SkipToDirective();
    function.defined = true;
    if (function.name.empty()) return;
    return AddFunction(std::move(function));
  }
  function.builtin = BuiltinOf(function);
  if (Take(';')) {
    const uint32_t number = FunctionNumber(function.name);
    if (!module_->functions[number].defined) module_->functions[number] = std::move(function);
    return;
  }
  const uint32_t number = FunctionNumber(function.name);
  if (module_->functions[number].defined) {
    diagnostics_.Error(diag::kRedeclared, function.location, function.name);
  }
  function.defined = true;
  function.builtin = Builtin::kNone;
  module_->functions[number].params = function.params;  // for calls of itself
  module_->functions[number].results = function.results;
  ParseBody(&function);
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
  module_->functions[number] = std::move(function);
}

bool Parser::ParseFunctionParams(Function* function, std::vector<Param>* params, bool entry) {
  Expect('(');
  if (Take(')')) return true;
  do {
    if (!lexer_.IsDot("param")) return Expected("`.param`");
    lexer_.Next();
    const auto declarator = ParseDeclarator(true);
    if (!declarator) return false;
    Param param{declarator->name, 0, declarator->bytes(), declarator->align};
    Symbol symbol;
    symbol.bytes = param.bytes;
    if (entry) {
      param.offset = RoundUp(function->param_bytes, param.align);
      function->param_bytes = param.offset + param.bytes;
      symbol.kind = Symbol::Kind::kEntryParam;
    } else {
      param.offset = builder_->AddLocal(param.bytes, param.align);
      symbol.kind = Symbol::Kind::kLocal;
      symbol.param = true;
    }
    symbol.offset = param.offset;
    if (!builder_->Declare(param.name, symbol)) {
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

// What stands between the parameters and the body.
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

// `.align 8 .b8 name[16]`, `.u64 .ptr .global .align 16 name`, `.v4 .f32 name`
std::optional<Parser::Declarator> Parser::ParseDeclarator(bool param) {
  Declarator declarator;
  bool aligned = false;
  while (lexer_.token() == Token::kDot) {
    const std::string_view word = lexer_.text();
    if (word == "align") {
      lexer_.Next();
      const auto align = ParseCount();
      if (!align) return std::nullopt;
      // Behind a type it is that of what a pointer points to.
      if (declarator.type == Type::kNone) {
        declarator.align = *align;
        aligned = true;
      }
      continue;
    }
    if (word == "v2" || word == "v4") {
      declarator.vector = word == "v2" ? 2 : 4;
    } else if (const auto type = FindType(word)) {
      declarator.type = *type;
    } else if (!(param && (word == "ptr" || SpaceOf(word)))) {
      break;
    }
    lexer_.Next();
  }
  declarator.location = lexer_.location();
  if (declarator.type == Type::kNone || declarator.type == Type::kPred) {
    Expected("a type");
    return std::nullopt;
  }
  if (!aligned) declarator.align = static_cast<uint64_t>(BytesOf(declarator.type));
  if (!aligned) declarator.align *= static_cast<uint64_t>(declarator.vector);
  const auto name = ParseName();
  if (!name) return std::nullopt;
  declarator.name = *name;
  const bool sized = ParseSuffix(&declarator);
  const bool aligns = std::has_single_bit(declarator.align) && declarator.align <= kMaxAlign;
  if (sized && !aligns) diagnostics_.Error(diag::kTooLarge, declarator.location, "the alignment");
  if (sized && aligns) return declarator;
  if (builder_ != nullptr) builder_->DeclareBroken(*name);
  return std::nullopt;
}

// `[4][8]`
bool Parser::ParseSuffix(Declarator* declarator) {
  while (Take('[')) {
    if (Take(']')) {
      declarator->unsized = true;
      declarator->elements = 0;
      continue;
    }
    const auto count = ParseCount();
    if (!count || !Expect(']')) return false;
    if (*count > kMaxVariableBytes || declarator->elements * *count > kMaxVariableBytes) {
      diagnostics_.Error(diag::kTooLarge, declarator->location, "the variable");
      return false;
    }
    declarator->elements *= *count;
  }
  return true;
}

uint32_t Parser::AddVariable(Variable variable) {
  module_->variables.push_back(std::move(variable));
  return static_cast<uint32_t>(module_->variables.size() - 1);
}

void Parser::ParseVariable(Space space, const Linkage& linkage) {
  const auto declarator = ParseDeclarator(false);
  if (!declarator) return SkipToSemicolon();
  Variable variable;
  variable.name = declarator->name;
  variable.space = space;
  variable.location = declarator->location;
  variable.align = declarator->align;
  variable.bytes = declarator->bytes();
  variable.external = linkage.external && space != Space::kShared;
  variable.dynamic = space == Space::kShared && linkage.external && declarator->unsized;
  if (Take('=') && !ParseInitialiser(*declarator, &variable)) return SkipToSemicolon();
  if (!lexer_.Is(';')) {
    Expected("`;`");
    return SkipToSemicolon();
  }
  Take(';');
  Symbol symbol;
  symbol.kind = Symbol::Kind::kVariable;
  if (const auto found = names_.find(variable.name); found != names_.end()) {
    Symbol& known = found->second;
    if (known.kind != Symbol::Kind::kVariable || !module_->variables[known.number].external) {
      diagnostics_.Error(diag::kRedeclared, variable.location, variable.name);
      return;
    }
    module_->variables[known.number] = std::move(variable);  // declared before, defined now
    return;
  }
  const std::string name = variable.name;
  symbol.number = AddVariable(std::move(variable));
  names_.emplace(name, symbol);
}

bool Parser::ParseInitialiser(const Declarator& declarator, Variable* variable) {
  variable->has_initial = true;
  if (declarator.bytes() > kMaxInitialBytes) {
    diagnostics_.Error(diag::kTooLarge, declarator.location, "the initialiser");
    return false;
  }
  variable->initial.assign(declarator.bytes(), 0);
  uint64_t at = 0;
  return ParseInitialValues(declarator, variable, &at);
}

// One value, or values in braces (nested ones of arrays of arrays follow each other).
bool Parser::ParseInitialValues(const Declarator& declarator, Variable* variable, uint64_t* at) {
  int depth = 0;
  do {
    while (Take('{')) ++depth;
    const auto size = static_cast<uint64_t>(BytesOf(declarator.type));
    if (declarator.unsized) variable->initial.resize(*at + size);
    if (*at + size > variable->initial.size() || *at > kMaxInitialBytes) {
      return Expected("no more values");
    }
    if (!ParseInitialValue(declarator, variable, *at)) return false;
    *at += size;
    while (depth > 0 && Take('}')) --depth;
  } while (depth > 0 ? Take(',') : false);
  if (declarator.unsized) variable->bytes = variable->initial.size();
  return depth == 0 || Expected("`}`");
}

bool Parser::ParseInitialValue(const Declarator& declarator, Variable* variable, uint64_t at) {
  const auto size = static_cast<size_t>(BytesOf(declarator.type));
  const bool negative = Take('-');
  if (lexer_.token() == Token::kName) {
    Relocation relocation;
    relocation.offset = at;
    relocation.bytes = static_cast<uint8_t>(size);
    std::string name(lexer_.text());
    lexer_.Next();
    if (name == "generic" && Take('(')) {
      relocation.generic = true;
      name = lexer_.text();
      lexer_.Next();
      if (!Expect(')')) return false;
    }
    const auto found = names_.find(name);
    if (found != names_.end() && found->second.kind == Symbol::Kind::kFunction && size == 8) {
      const uint64_t address = AddressOfFunction(found->second.number);
      std::memcpy(variable->initial.data() + at, &address, size);
      return true;
    }
    if (found == names_.end() || found->second.kind != Symbol::Kind::kVariable || size < 4 ||
        size > 8) {
      diagnostics_.Error(diag::kUnknownName, lexer_.location(), name);
      return false;
    }
    relocation.variable = found->second.number;
    const auto addend = ParseAddend();
    if (!addend) return false;
    relocation.addend = *addend;
    variable->relocations.push_back(relocation);
    return true;
  }
  uint64_t bits = lexer_.value();
  if (lexer_.token() == Token::kFloat64 && declarator.type == Type::kF32) {
    bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
  } else if (lexer_.token() != Token::kInteger && lexer_.token() != Token::kFloat32 &&
             lexer_.token() != Token::kFloat64) {
    return Expected("a number");
  }
  if (negative) {
    bits = lexer_.token() == Token::kInteger ? ~bits + 1 : bits ^ (uint64_t{1} << (size * 8 - 1));
  }
  lexer_.Next();
  std::memcpy(variable->initial.data() + at, &bits, std::min<size_t>(size, 8));
  return true;
}

void Parser::CheckCalls() {
  for (const Call& call : calls_) {
    Function& caller = module_->functions[call.caller];
    if (!caller.errors.empty()) continue;
    CheckCall(call);
    caller.errors = TakeErrors();
  }
  for (Function& function : module_->functions) {
    if (function.errors.empty()) continue;
    function.code.clear();  // calls what cannot be called
    function.calls.clear();
  }
}

void Parser::CheckCall(const Call& call) {
  CallSite& site = module_->functions[call.caller].calls[call.site];
  if (site.function == kIndirect) return;  // known when it runs
  const auto alias = aliases_.find(site.function);
  if (alias != aliases_.end()) site.function = alias->second;
  const Function& callee = module_->functions[site.function];
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
  return Parser(source).ParseModule(diagnostics);
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
