#include "ptx/parse/operand_parser.h"

#include <bit>
#include <vector>

#include "ptx/parse/function_address.h"

namespace tarsia::ptx {
namespace {

// Only the low bytes, of 0 bytes a predicate.
uint64_t Truncate(uint64_t bits, int bytes) {
  if (bytes == 0) return bits != 0 ? 1 : 0;
  return bytes >= 8 ? bits : bits & ((uint64_t{1} << (bytes * 8)) - 1);
}

int VectorLength(const Inst& inst) {
  return inst.Has(Mod::kV2) ? 2 : inst.Has(Mod::kV4) ? 4 : inst.Has(Mod::kV8) ? 8 : 1;
}

// Whether the `.param` of an address says its space.
bool IsParamAccess(const Inst& inst) { return inst.space == Space::kParam; }

}  // namespace

bool OperandParser::ParseGuard(Inst* inst) {
  if (!Take('@')) return true;
  const bool negated = Take('!');
  const auto use = ParseSymbol();
  if (!use) return false;
  const Symbol& symbol = use->symbol;
  if (symbol.kind != Symbol::Kind::kRegister || symbol.reg.bytes != 0) {
    diagnostics_.Error(diag::kOperandKind, use->location, "before @", use->name, "a predicate");
    return false;
  }
  inst->guarded = true;
  inst->guard = symbol.reg;
  inst->guard.negated = negated;
  return true;
}

bool OperandParser::ParseOperands(const Row& row, Inst* inst) {
  bool first = true;
  for (const OperandShape& shape : row.shapes) {
    OperandGroup& group = inst->group[inst->groups++];
    group.first = static_cast<uint16_t>(inst->operands.size());
    // An optional operand is there if there are enough operands for it and all after it.
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

int OperandParser::OperandsLeft(bool first) const {
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

bool OperandParser::ParseLabel() {
  const Location location = lexer_.location();
  const auto label = ParseName();
  if (!label) return false;
  const auto here = static_cast<uint32_t>(state_.builder->function().code.size());
  state_.builder->UseLabel(*label, location, here);
  return true;
}

bool OperandParser::ParseBrx(Inst* inst) {
  OperandShape shape;
  shape.type = Type::kU32;
  const auto index = ParseOperand(shape, Type::kU32, 4);
  if (!index || !Expect(',') || !calls_.ParseBranchTable(inst)) return false;
  inst->operands.push_back(*index);
  return true;
}

bool OperandParser::ParseShape(const Row& row, const OperandShape& shape, Inst* inst) {
  switch (shape.role) {
    case OperandRole::kCall:
      return calls_.ParseCall(inst);
    case OperandRole::kBrx:
      return ParseBrx(inst);
    case OperandRole::kLabel:
      return ParseLabel();
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

// What may follow a register of a video instruction: `.h20` of halves, `.b3210` of bytes.
bool OperandParser::ParseParts(const Row& row, Operand* operand) {
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
int OperandParser::ListLength() const {
  Lexer ahead = lexer_;
  int count = 1;
  for (; ahead.token() != Token::kEnd && !ahead.Is(';') && !ahead.Is('}'); ahead.Next()) {
    if (ahead.Is(',')) ++count;
  }
  return count;
}

// One operand, or a list of them in braces.
bool OperandParser::ParseVector(const Row& row, const OperandShape& shape, Type type, int bytes,
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

std::optional<Operand> OperandParser::ParseOperand(const OperandShape& shape, Type type,
                                                   int bytes) {
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

std::optional<Operand> OperandParser::ParseNumber(Type type, int bytes) {
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
    return state_.builder->ConstantOperand(
        {static_cast<uint8_t>(bytes), Truncate(bits, bytes), -1});
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
  return state_.builder->ConstantOperand({static_cast<uint8_t>(bytes), bits, -1});
}

std::optional<std::string> OperandParser::ParseDottedName(const OperandShape& shape) {
  auto name = ParseName();
  if (!name) return std::nullopt;
  if ((*name)[0] == '%' && lexer_.token() == Token::kDot && lexer_.adjacent()) {
    const std::string whole = *name + "." + std::string(lexer_.text());
    if (!shape.parts || FindSpecial(whole)) {
      name = whole;
      lexer_.Next();
    }
  }
  return name;
}

// A register, a special register, `_`, WARP_SZ, or a variable's address.
std::optional<Operand> OperandParser::ParseNamed(const OperandShape& shape, int bytes) {
  const Location location = lexer_.location();
  const auto name = ParseDottedName(shape);
  if (!name) return std::nullopt;
  Operand operand;
  if (*name == "_" && shape.role == OperandRole::kDest) {
    // Nobody reads it: a register without a name.
    operand = state_.builder->NewRegister(static_cast<uint8_t>(bytes));
    operand.sink = true;
    return operand;
  }
  if (*name == "WARP_SZ") {
    return state_.builder->ConstantOperand({static_cast<uint8_t>(bytes), kLanes, -1});
  }
  if (const auto special = FindSpecial(*name); special && !FindSymbol(*name)) {
    operand = state_.builder->SpecialOperand(*special);
  } else {
    const auto symbol = NamedSymbol(*name, location);
    if (!symbol) return std::nullopt;
    if (symbol->kind != Symbol::Kind::kRegister) {
      const auto addend = ParseAddend();
      if (!addend) return std::nullopt;
      return SymbolOperand(*symbol, *name, location, bytes, *addend);
    }
    operand = symbol->reg;
  }
  const bool fits = (shape.or_predicate && operand.bytes == 0) || operand.bytes == bytes ||
                    (shape.relaxed && operand.bytes > bytes);
  if (!fits) {
    diagnostics_.Error(diag::kOperandWidth, location, *name, operand.bytes * 8, "the instruction",
                       bytes * 8);
    return std::nullopt;
  }
  return operand;
}

// The address of a variable, within its own space.
std::optional<Operand> OperandParser::SymbolOperand(const Symbol& symbol, std::string_view name,
                                                    Location location, int bytes, int64_t addend) {
  if (bytes != 4 && bytes != 8) {
    diagnostics_.Error(diag::kOperandWidth, location, name, 64, "the instruction", bytes * 8);
    return std::nullopt;
  }
  const auto width = static_cast<uint8_t>(bytes);
  switch (symbol.kind) {
    case Symbol::Kind::kLocal:
      return state_.builder->LocalAddress(symbol.offset + static_cast<uint64_t>(addend), width);
    case Symbol::Kind::kEntryParam:
      return state_.builder->ConstantOperand(
          {width, symbol.offset + static_cast<uint64_t>(addend), -1});
    case Symbol::Kind::kVariable:
      return state_.builder->ConstantOperand(
          {width, static_cast<uint64_t>(addend), static_cast<int32_t>(symbol.number)});
    case Symbol::Kind::kFunction:
      if (bytes == 8 && addend == 0) {
        return state_.builder->ConstantOperand({width, AddressOfFunction(symbol.number), -1});
      }
      break;
    case Symbol::Kind::kRegister:
    case Symbol::Kind::kBroken:
      break;
  }
  diagnostics_.Error(diag::kOperandKind, location, "", name, "a variable");
  return std::nullopt;
}

std::optional<Operand> OperandParser::ParseAddress(const Inst& inst) {
  if (!Expect('[')) return std::nullopt;
  const auto operand = ParseAddressTerm(inst);
  return operand && Expect(']') ? operand : std::nullopt;
}

// [map, {x, y}]
bool OperandParser::ParseBox(Inst* inst) {
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

std::optional<Operand> OperandParser::ParseAddressTerm(const Inst& inst) {
  const Location location = lexer_.location();
  Operand operand;
  if (lexer_.token() == Token::kInteger) {
    operand = state_.builder->ConstantOperand({8, lexer_.value(), -1});
    lexer_.Next();
  } else {
    const auto name = ParseName();
    if (!name) return std::nullopt;
    const auto symbol = NamedSymbol(*name, location);
    if (!symbol) return std::nullopt;
    if (symbol->kind == Symbol::Kind::kRegister) {
      operand = symbol->reg;
      operand.frame_space = IsParamAccess(inst) && !state_.builder->function().entry;
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

}  // namespace tarsia::ptx
