#include "isa/instruction.h"

#include <algorithm>

#include "layout/text/expr.h"

namespace tarsia {
namespace {

template <typename T, size_t n, typename... Items>
constexpr FixedList<T, n> List(Items... items) {
  static_assert(sizeof...(items) <= n, "raise the limit in isa/instruction.h");
  return {{items...}, sizeof...(items)};
}

// The vocabulary of isa.def.
struct Results {
  static constexpr ResultRow Tile(std::string_view name) { return {ResultKind::kTile, name}; }
  static constexpr ResultRow Scalar(std::string_view name) { return {ResultKind::kScalar, name}; }
  static constexpr ResultRow Same(std::string_view name) { return {ResultKind::kSame, name}; }
  static constexpr ResultRow Memory(std::string_view name) { return {ResultKind::kMemory, name}; }
  static constexpr ResultRow Any(std::string_view name) { return {ResultKind::kAny, name}; }
  template <typename... Items>
  static constexpr FixedList<ResultRow, kMaxResults> Of(Items... items) {
    return List<ResultRow, kMaxResults>(items...);
  }
};

struct Operands {
  using enum TypeClass;
  using Name = std::string_view;
  static constexpr OperandRow Tile(TypeClass types, Name name) {
    return {OperandKind::kTile, types, name};
  }
  static constexpr OperandRow OptionalTile(TypeClass types, Name name) {
    return {OperandKind::kOptionalTile, types, name};
  }
  static constexpr OperandRow TileOrExpr(TypeClass types, Name name) {
    return {OperandKind::kTileOrExpr, types, name};
  }
  static constexpr OperandRow Expr(TypeClass types, Name name) {
    return {OperandKind::kExpr, types, name};
  }
  static constexpr OperandRow MemoryTile(TypeClass types, Name name) {
    return {OperandKind::kMemoryTile, types, name};
  }
  static constexpr OperandRow Element(TypeClass types, Name name, Space space = Space::kNone) {
    return {OperandKind::kElement, types, name, space};
  }
  static constexpr OperandRow Index(Name name) { return {OperandKind::kIndex, kIntegerType, name}; }
  static constexpr OperandRow Condition(Name name) {
    return {OperandKind::kCondition, kBoolOnlyType, name};
  }
  static constexpr OperandRow Constant(Name name) {
    return {OperandKind::kConstant, kIntegerType, name};
  }
  static constexpr OperandRow Source(Name name) { return {OperandKind::kSource, kAnyType, name}; }
  static constexpr OperandRow Text(Name name) { return {OperandKind::kText, kAnyType, name}; }
};

#define RESULTS(...)                                          \
  [] {                                                        \
    struct Scope : Results {                                  \
      static constexpr auto Get() { return Of(__VA_ARGS__); } \
    };                                                        \
    return Scope::Get();                                      \
  }()
#define OPERANDS(...)                                                                     \
  [] {                                                                                    \
    struct Scope : Operands {                                                             \
      static constexpr auto Get() { return List<OperandRow, kMaxOperands>(__VA_ARGS__); } \
    };                                                                                    \
    return Scope::Get();                                                                  \
  }()
#define ATTRS(...)                             \
  [] {                                         \
    using enum Attr;                           \
    return List<Attr, kMaxAttrs>(__VA_ARGS__); \
  }()

constexpr InstRow kRows[] = {
#define INST(name, code, since, mnemonic, family, results, operands, attrs, annotation, traits, \
             ulp, doc)                                                                          \
  {Opcode::k##name,                                                                             \
   code,                                                                                        \
   since,                                                                                       \
   #name,                                                                                       \
   mnemonic,                                                                                    \
   Family::k##family,                                                                           \
   results,                                                                                     \
   operands,                                                                                    \
   attrs,                                                                                       \
   Annotation::annotation,                                                                      \
   traits,                                                                                      \
   ulp,                                                                                         \
   doc},
#include "isa/isa.def"
#undef INST
};
static_assert(std::size(kRows) == kOpcodes);
static_assert(
    [] {
      for (size_t i = 0; i < kOpcodes; ++i) {
        for (size_t j = 0; j < i; ++j) {
          if (kRows[i].code == kRows[j].code || kRows[i].mnemonic == kRows[j].mnemonic)
            return false;
        }
      }
      return true;
    }(),
    "two rows of isa.def share a code or a mnemonic");
static_assert(
    [] {
      for (size_t i = 0; i < std::size(kAttrRows); ++i) {
        if (static_cast<size_t>(kAttrRows[i].attr) != i) return false;
      }
      return true;
    }(),
    "attributes.def is out of order");

constexpr std::array<uint8_t, 256> kByCode = [] {
  std::array<uint8_t, 256> table{};
  table.fill(0xFF);
  for (size_t i = 0; i < kOpcodes; ++i) table[kRows[i].code] = static_cast<uint8_t>(i);
  return table;
}();
static_assert(kOpcodes < 0xFF);

// Perfect enough: the mnemonics in an open-addressed table of a fixed size.
struct MnemonicTable {
  static constexpr size_t kSize = 512;
  std::array<uint8_t, kSize> slots;
  MnemonicTable() {
    slots.fill(0xFF);
    for (size_t i = 0; i < kOpcodes; ++i) {
      size_t at = Hash(kRows[i].mnemonic);
      while (slots[at] != 0xFF) at = (at + 1) % kSize;
      slots[at] = static_cast<uint8_t>(i);
    }
  }
  static size_t Hash(std::string_view text) { return HashBytes(text.data(), text.size()) % kSize; }
};

}  // namespace

std::span<const InstRow> AllInstructions() { return kRows; }

const InstRow& Row(Opcode opcode) { return kRows[static_cast<size_t>(opcode)]; }

std::optional<Opcode> FindMnemonic(std::string_view mnemonic) {
  static const MnemonicTable table;
  for (size_t at = MnemonicTable::Hash(mnemonic); table.slots[at] != 0xFF;
       at = (at + 1) % MnemonicTable::kSize) {
    const InstRow& row = kRows[table.slots[at]];
    if (row.mnemonic == mnemonic) return row.opcode;
  }
  return std::nullopt;
}

std::optional<Opcode> OpcodeFromCode(uint8_t code) {
  if (kByCode[code] == 0xFF) return std::nullopt;
  return static_cast<Opcode>(kByCode[code]);
}

std::span<const std::string_view> Mnemonics() {
  static constexpr std::array<std::string_view, kOpcodes> kAll = [] {
    std::array<std::string_view, kOpcodes> all;
    for (size_t i = 0; i < kOpcodes; ++i) all[i] = kRows[i].mnemonic;
    return all;
  }();
  return kAll;
}

std::string_view FamilyName(Family family) {
  constexpr std::array<std::string_view, kFamilies> kNames = {
      "control", "memory", "shape", "elementwise", "convert", "mma", "reduce", "sync"};
  return kNames[static_cast<size_t>(family)];
}

std::optional<Attr> FindAttr(std::string_view text) {
  for (const AttrRow& row : kAttrRows) {
    if (row.text == text) return row.attr;
  }
  return std::nullopt;
}

std::span<const std::string_view> AttrWords(AttrKind kind) {
  switch (kind) {
    case AttrKind::kRounding:
      return kRoundingWords;
    case AttrKind::kCache:
      return kCacheWords;
    case AttrKind::kFlag:
    case AttrKind::kInt:
    case AttrKind::kIntList:
      return {};
  }
  return {};
}

size_t InstRow::Slot(size_t i) const {
  size_t slot = 0;
  for (size_t j = 0; j < i; ++j) slot += operands[j].kind == OperandKind::kElement ? 2 : 1;
  return slot;
}

size_t InstRow::MaxSlots() const { return Slot(operands.size()); }

std::optional<size_t> InstRow::AttrIndex(Attr attr) const {
  for (size_t i = 0; i < attrs.size(); ++i) {
    if (attrs[i] == attr) return i;
  }
  return std::nullopt;
}

namespace {

bool IsArithmeticInt(DType t) { return t.IsInteger() && t.bits >= 8; }
bool IsWideFloat(DType t) { return t == kF16 || t == kBF16 || t == kF32 || t == kF64; }

}  // namespace

bool Contains(TypeClass types, DType t) {
  switch (types) {
    case TypeClass::kAnyType:
      return true;
    case TypeClass::kArithmeticType:
      return IsArithmeticInt(t) || IsWideFloat(t);
    case TypeClass::kArithmeticIntType:
    case TypeClass::kIntegerType:
      return IsArithmeticInt(t);
    case TypeClass::kFloatType:
      return IsWideFloat(t);
    case TypeClass::kFloatOrComplexType:
      return IsWideFloat(t) || t.IsComplex();
    case TypeClass::kBitsType:
      return IsArithmeticInt(t) || t == kBoolType;
    case TypeClass::kBoolOnlyType:
      return t == kBoolType;
    case TypeClass::kComparableType:
    case TypeClass::kScalarType:
      return IsArithmeticInt(t) || IsWideFloat(t) || t == kBoolType;
    case TypeClass::kAtomicAddType:
      return (t.IsInteger() && t.bits >= 32) || IsWideFloat(t);
    case TypeClass::kAtomicIntType:
      return t.IsInteger() && t.bits >= 32;
    case TypeClass::kRandomType:
      return t == kU32;
    case TypeClass::kLowPrecisionType:
      return t.bits <= 8 && (t.IsInteger() || t.IsFloat());
    case TypeClass::kDotType:
      return IsWideFloat(t) || t.IsComplex() || t == kI8 || t == kU8 ||
             (t.IsFloat() && t.bits == 8 && (t.exponent == 4 || t.exponent == 5));
    case TypeClass::kAccumulatorType:
      return t == kF32 || t == kF64 || t == kI32 || t == kC64;
  }
  return false;
}

std::string_view Describe(TypeClass types) {
  switch (types) {
    case TypeClass::kAnyType:
      return "any type";
    case TypeClass::kArithmeticType:
      return "an arithmetic type (integers of 8 to 64 bits, f16, bf16, f32, f64)";
    case TypeClass::kArithmeticIntType:
    case TypeClass::kIntegerType:
      return "an integer type of 8 to 64 bits";
    case TypeClass::kFloatType:
      return "a floating-point type (f16, bf16, f32, f64)";
    case TypeClass::kFloatOrComplexType:
      return "a floating-point or complex type (f16, bf16, f32, f64, c32, c64)";
    case TypeClass::kBitsType:
      return "an integer type of 8 to 64 bits, or bool";
    case TypeClass::kBoolOnlyType:
      return "bool";
    case TypeClass::kComparableType:
    case TypeClass::kScalarType:
      return "an arithmetic type or bool";
    case TypeClass::kAtomicAddType:
      return "a type of 32 or 64 bits, f16, or bf16";
    case TypeClass::kAtomicIntType:
      return "an integer type of 32 or 64 bits";
    case TypeClass::kRandomType:
      return "u32";
    case TypeClass::kLowPrecisionType:
      return "an integer or float type of at most 8 bits";
    case TypeClass::kDotType:
      return "a type of dot (f16, bf16, f32, f64, f8e4m3*, f8e5m2*, i8, u8, c32, c64)";
    case TypeClass::kAccumulatorType:
      return "an accumulator type (f32, f64, i32, c64)";
  }
  return "?";
}

std::string_view DescribeMemory(const OperandRow& operand) {
  switch (operand.space) {
    case Space::kGlobal:
      return "a global tile";
    case Space::kShared:
      return "a shared tile";
    case Space::kNone:
    case Space::kRegister:
      break;
  }
  return "a global or shared tile";
}

}  // namespace tarsia
