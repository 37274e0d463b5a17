#include "ptx/parse/declaration_parser.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ptx/parse/function_address.h"

namespace tarsia::ptx {
namespace {

constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxAlign = 4096;
constexpr uint64_t kMaxInitialBytes = uint64_t{1} << 26;

}  // namespace

std::optional<Space> SpaceOf(std::string_view word) {
  if (word == "global") return Space::kGlobal;
  if (word == "const") return Space::kConst;
  if (word == "shared") return Space::kShared;
  if (word == "local") return Space::kLocal;
  if (word == "param") return Space::kParam;
  return std::nullopt;
}

// The words before the name.
bool DeclarationParser::ParseTypeWords(bool param, Declarator* declarator) {
  bool aligned = false;
  while (lexer_.token() == Token::kDot) {
    const std::string_view word = lexer_.text();
    if (word == "align") {
      lexer_.Next();
      const auto align = ParseCount();
      if (!align) return false;
      // After a type it is the alignment of what a pointer points to.
      if (declarator->type == Type::kNone) {
        declarator->align = *align;
        aligned = true;
      }
      continue;
    }
    if (word == "v2" || word == "v4") {
      declarator->vector = word == "v2" ? 2 : 4;
    } else if (const auto type = FindType(word)) {
      declarator->type = *type;
    } else if (!(param && (word == "ptr" || SpaceOf(word)))) {
      break;
    }
    lexer_.Next();
  }
  if (declarator->type == Type::kNone || declarator->type == Type::kPred) return Expected("a type");
  if (!aligned) {
    declarator->align = static_cast<uint64_t>(BytesOf(declarator->type) * declarator->vector);
  }
  return true;
}

// `.align 8 .b8 name[16]`, `.u64 .ptr .global .align 16 name`, `.v4 .f32 name`
std::optional<Declarator> DeclarationParser::ParseDeclarator(bool param) {
  Declarator declarator;
  if (!ParseTypeWords(param, &declarator)) return std::nullopt;
  declarator.location = lexer_.location();
  const auto name = ParseName();
  if (!name) return std::nullopt;
  declarator.name = *name;
  const bool sized = ParseSuffix(&declarator);
  const bool aligns = std::has_single_bit(declarator.align) && declarator.align <= kMaxAlign;
  if (sized && !aligns) diagnostics_.Error(diag::kTooLarge, declarator.location, "the alignment");
  if (sized && aligns) return declarator;
  if (state_.builder != nullptr) state_.builder->DeclareBroken(*name);
  return std::nullopt;
}

// `[4][8]`
bool DeclarationParser::ParseSuffix(Declarator* declarator) {
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

bool DeclarationParser::ParseInitialiser(const Declarator& declarator, Variable* variable) {
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
bool DeclarationParser::ParseInitialValues(const Declarator& declarator, Variable* variable,
                                           uint64_t* at) {
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

// The address of a variable or a function.
bool DeclarationParser::ParseInitialAddress(size_t size, Variable* variable, uint64_t at) {
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
  const auto found = state_.names.find(name);
  const bool known = found != state_.names.end();
  if (known && found->second.kind == Symbol::Kind::kFunction && size == 8) {
    const uint64_t address = AddressOfFunction(found->second.number);
    std::memcpy(variable->initial.data() + at, &address, size);
    return true;
  }
  if (!known || found->second.kind != Symbol::Kind::kVariable || size < 4 || size > 8) {
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

bool DeclarationParser::ParseInitialValue(const Declarator& declarator, Variable* variable,
                                          uint64_t at) {
  const auto size = static_cast<size_t>(BytesOf(declarator.type));
  const bool negative = Take('-');
  if (lexer_.token() == Token::kName) return ParseInitialAddress(size, variable, at);
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

}  // namespace tarsia::ptx
