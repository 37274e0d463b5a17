#include "vm/ptx/parser.h"

#include <bit>
#include <cstring>

#include "vm/ptx/function_address.h"
#include "vm/ptx/race.h"

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

Builtin BuiltinOf(std::string_view name) {
  if (name == "vprintf") return Builtin::kVprintf;
  if (name == "__assertfail") return Builtin::kAssertFail;
  return Builtin::kNone;
}

}  // namespace

Parser::Parser(const SourceFile& source, Diagnostics* diagnostics)
    : source_(source),
      diagnostics_(*diagnostics),
      lexer_(source.text(), diagnostics),
      module_(std::make_shared<Module>()) {
  module_->source_name = source.name();
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

void Parser::SkipToSemicolon() {
  while (lexer_.token() != Token::kEnd && !lexer_.Is(';') && !lexer_.Is('}')) lexer_.Next();
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

// ---- the module ------------------------------------------------------------------------------

std::shared_ptr<const Module> Parser::ParseModule() {
  ParseHeader();
  while (lexer_.token() != Token::kEnd) ParseDirective();
  CheckCalls();
  if (!diagnostics_.ok()) return nullptr;
  uint32_t id = 0;
  for (Function& function : module_->functions) {
    FindJoins(&function);
    for (Inst& inst : function.code) {
      inst.id = id++;
      inst.how = HowOf(inst);
    }
  }
  return module_;
}

void Parser::ParseHeader() {
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
    return;
  }
  const auto version = ParseVersion(module_->version);
  if (!version || version->major < 1 || version->major > kNewestMajor) {
    diagnostics_.Error(diag::kUnknownVersion, location, module_->version);
  }
  version_ = version.value_or(PtxVersion{kNewestMajor, 0});
  for (const std::string& name : module_->targets) {
    if (const auto target = ParseTarget(name)) targets_.push_back(*target);
  }
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

void Parser::ParseDirective() {
  Linkage linkage;
  while (lexer_.IsDot("visible") || lexer_.IsDot("extern") || lexer_.IsDot("weak") ||
         lexer_.IsDot("common")) {
    linkage.external |= lexer_.IsDot("extern");
    lexer_.Next();
  }
  if (lexer_.token() != Token::kDot) {
    Expected("a directive");
    return SkipToDirective();
  }
  if (lexer_.IsDot("entry") || lexer_.IsDot("func")) {
    const bool entry = lexer_.IsDot("entry");
    lexer_.Next();
    return ParseFunction(entry);
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
  SkipToDirective();
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
  function.builtin = BuiltinOf(name);
  module_->functions.push_back(std::move(function));
  names_.insert_or_assign(name, symbol);
  return symbol.number;
}

void Parser::ParseFunction(bool entry) {
  Function function;
  function.entry = entry;
  builder_ = std::make_unique<FunctionBuilder>(&function);
  bool good = true;
  if (lexer_.Is('(')) good = ParseFunctionParams(&function, &function.results, entry);
  function.location = lexer_.location();
  const auto name = good ? ParseName() : std::nullopt;
  if (!name) return SkipToDirective();
  function.name = *name;
  function.builtin = BuiltinOf(*name);
  if (lexer_.Is('(')) good = ParseFunctionParams(&function, &function.params, entry);
  if (!good || !ParseBounds(&function)) return SkipToDirective();
  const uint32_t number = FunctionNumber(*name);
  if (Take(';')) {
    if (!module_->functions[number].defined) module_->functions[number] = std::move(function);
    return;
  }
  if (module_->functions[number].defined) {
    diagnostics_.Error(diag::kRedeclared, function.location, *name);
  }
  function.defined = true;
  module_->functions[number].params = function.params;  // for calls of itself
  module_->functions[number].results = function.results;
  ParseBody(&function);
  module_->functions[number] = std::move(function);
  builder_.reset();
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
  if (!name || !ParseSuffix(&declarator)) return std::nullopt;
  declarator.name = *name;
  if (!std::has_single_bit(declarator.align) || declarator.align > kMaxAlign) {
    diagnostics_.Error(diag::kTooLarge, declarator.location, "the alignment");
    return std::nullopt;
  }
  return declarator;
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
    CallSite& site = module_->functions[call.caller].calls[call.site];
    if (site.function == kIndirect) continue;  // known when it runs
    const auto alias = aliases_.find(site.function);
    if (alias != aliases_.end()) site.function = alias->second;
    const Function& callee = module_->functions[site.function];
    if (!callee.defined && callee.builtin == Builtin::kNone) {
      diagnostics_.Error(diag::kUndefinedFunction, call.location, callee.name);
    } else if (callee.params.size() != site.arguments.size() ||
               callee.results.size() != site.results.size()) {
      diagnostics_.Error(diag::kCallShape, call.location, callee.name, callee.params.size(),
                         callee.results.size());
    }
  }
}

std::shared_ptr<const Module> ParseModule(const SourceFile& source, Diagnostics* diagnostics) {
  return Parser(source, diagnostics).ParseModule();
}

const Inst* Module::FindInst(uint32_t id) const {
  for (const Function& function : functions) {
    if (id < function.code.size()) return &function.code[id];
    id -= static_cast<uint32_t>(function.code.size());
  }
  return nullptr;
}

const Function* Module::FindEntry(std::string_view name) const {
  for (const Function& function : functions) {
    if (function.entry && function.defined && function.name == name) return &function;
  }
  return nullptr;
}

const Variable* Module::FindVariable(std::string_view name) const {
  for (const Variable& variable : variables) {
    if (variable.name == name) return &variable;
  }
  return nullptr;
}

}  // namespace tarsia::ptx
