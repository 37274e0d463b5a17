#include "isa/instruction.h"

#include <algorithm>

#include "isa/version.h"
#include "layout/text/expr.h"

namespace tarsia {
namespace {

template <typename T, size_t n, typename... Items>
constexpr FixedList<T, n> List(Items... items) {
  static_assert(sizeof...(items) <= n, "raise the limit in isa/instruction.h");
  return {{items...}, sizeof...(items)};
}

// The vocabulary of isa.def.
struct ResultWords {
  using Name = std::string_view;
  static constexpr ResultRow Tile(Name name) { return {ResultKind::kTile, name}; }
  static constexpr ResultRow Scalar(Name name) { return {ResultKind::kScalar, name}; }
  static constexpr ResultRow Same(Name name) { return {ResultKind::kSame, name}; }
  static constexpr ResultRow Memory(Name name) { return {ResultKind::kMemory, name}; }
  static constexpr ResultRow Allocated(Space space, Name name) {
    return {ResultKind::kAllocated, name, space};
  }
  static constexpr ResultRow Any(Name name) { return {ResultKind::kAny, name}; }
};

struct OperandWords {
  using enum TypeClass;
  using enum Role;
  using Name = std::string_view;
  static constexpr OperandRow Tile(TypeClass types, Name name) {
    return {OperandKind::kTile, types, name};
  }
  static constexpr OperandRow IndexTile(Name name) {
    return {OperandKind::kTile, kIntegerType, name, kIndex};
  }
  static constexpr OperandRow TableTile(TypeClass types, Name name) {
    return {OperandKind::kTile, types, name, kTable};
  }
  static constexpr OperandRow OptionalTile(TypeClass types, Name name) {
    return {OperandKind::kOptionalTile, types, name};
  }
  static constexpr OperandRow TileOrExpr(TypeClass types, Name name) {
    return {OperandKind::kTileOrExpr, types, name};
  }
  static constexpr OperandRow TileOrCondition(Name name) {
    return {OperandKind::kTileOrExpr, kBoolOnlyType, name, kCondition};
  }
  static constexpr OperandRow Expr(TypeClass types, Name name) {
    return {OperandKind::kExpr, types, name};
  }
  static constexpr OperandRow MemoryTile(Role role, TypeClass types, Name name) {
    return {OperandKind::kMemoryTile, types, name, role};
  }
  static constexpr OperandRow Element(Role role, TypeClass types, Name name,
                                      Space space = Space::kNone) {
    return {OperandKind::kElement, types, name, role, space};
  }
  static constexpr OperandRow Source(Role role, Name name) {
    return {OperandKind::kSource, kAnyType, name, role};
  }
  static constexpr OperandRow Index(Name name) {
    return {OperandKind::kIndex, kIntegerType, name, kIndex};
  }
  static constexpr OperandRow Condition(Name name) {
    return {OperandKind::kCondition, kBoolOnlyType, name, kCondition};
  }
  static constexpr OperandRow Constant(Name name) {
    return {OperandKind::kConstant, kIntegerType, name, kIndex};
  }
  static constexpr OperandRow Text(Name name) {
    return {OperandKind::kText, kAnyType, name, kText};
  }
};

struct TraitList {
  uint32_t traits;
};
struct Error {
  double ulp;
};

#define RESULTS(...)                                                                    \
  [] {                                                                                  \
    struct Scope : ResultWords {                                                        \
      static constexpr auto Get() { return List<ResultRow, kMaxResults>(__VA_ARGS__); } \
    };                                                                                  \
    return Scope::Get();                                                                \
  }()
#define OPERANDS(...)                                                                     \
  [] {                                                                                    \
    struct Scope : OperandWords {                                                         \
      static constexpr auto Get() { return List<OperandRow, kMaxOperands>(__VA_ARGS__); } \
    };                                                                                    \
    return Scope::Get();                                                                  \
  }()
#define ATTRS(...)                             \
  [] {                                         \
    using enum Attr;                           \
    return List<Attr, kMaxAttrs>(__VA_ARGS__); \
  }()
#define ANNOTATION(annotation) Annotation::annotation
#define TRAITS(...) \
  TraitList { __VA_ARGS__ }
#define ULP(error) \
  Error { error }
#define FAST(...) \
  FastError { __VA_ARGS__ }
#define DOC(text) std::string_view(text)

// Adds a part of a row; each kind of part has its own type.
constexpr void Add(InstRow& row, const FixedList<ResultRow, kMaxResults>& results) {
  row.results = results;
}
constexpr void Add(InstRow& row, const FixedList<OperandRow, kMaxOperands>& operands) {
  row.operands = operands;
}
constexpr void Add(InstRow& row, const FixedList<Attr, kMaxAttrs>& attrs) { row.attrs = attrs; }
constexpr void Add(InstRow& row, Annotation annotation) { row.annotation = annotation; }
constexpr void Add(InstRow& row, TraitList list) { row.traits = list.traits; }
constexpr void Add(InstRow& row, Error error) { row.ulp = error.ulp; }
constexpr void Add(InstRow& row, const FastError& error) {
  row.fast = error;
  row.attrs.items[row.attrs.count++] = Attr::kFast;
}
constexpr void Add(InstRow& row, std::string_view doc) { row.doc = doc; }

struct Head {
  Opcode opcode;
  uint8_t code;
  uint8_t since;
  std::string_view name;
  std::string_view mnemonic;
  Family family;
};
template <typename... Parts>
constexpr InstRow MakeRow(const Head& head, const Parts&... parts) {
  InstRow row{head.opcode, head.code, head.since, head.name, head.mnemonic,
              head.family, {},        {},         {},        {},
              kNoTraits,   0,         {},         {}};
  (Add(row, parts), ...);
  return row;
}

constexpr InstRow kRows[] = {
#define INST(name, code, since, mnemonic, family, ...) \
  MakeRow({Opcode::k##name, code, since, #name, mnemonic, Family::k##family}, __VA_ARGS__),
#include "isa/isa.def"
#undef INST
};
#undef RESULTS
#undef OPERANDS
#undef ATTRS
#undef ANNOTATION
#undef TRAITS
#undef ULP
#undef FAST
#undef DOC
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

template <typename Holds>
constexpr bool AllRows(const Holds& holds) {
  return std::all_of(std::begin(kRows), std::end(kRows), holds);
}
constexpr size_t Count(const InstRow& row, Role role) {
  return static_cast<size_t>(
      std::count_if(row.operands.begin(), row.operands.end(),
                    [role](const OperandRow& operand) { return operand.role == role; }));
}
constexpr bool OnlyOfMemory(Role role) {
  return role == Role::kWritten || role == Role::kUpdated || role == Role::kViewed;
}

static_assert(AllRows([](const InstRow& row) {
                return row.since >= 1 && row.since <= kBytecodeVersion.minor;
              }),
              "a row of isa.def names no version of the bytecode; the newest is in isa/bytecode/");
static_assert(AllRows([](const InstRow& row) {
                return std::find(row.attrs.begin(), row.attrs.end(), Attr::kFast) ==
                       (row.fast ? row.attrs.end() - 1 : row.attrs.end());
              }),
              "`fast` is the attribute of rows with FAST, after ATTRS");
static_assert(AllRows([](const InstRow& row) { return !row.doc.empty(); }),
              "a row of isa.def lacks what it does");
static_assert(AllRows([](const InstRow& row) {
                return std::all_of(row.operands.begin(), row.operands.end(), [](const auto& o) {
                  return o.IsMemory() ? OnlyOfMemory(o.role) || o.role == Role::kRead
                                      : !OnlyOfMemory(o.role);
                });
              }),
              "the role of an operand does not go with its kind");
static_assert(AllRows([](const InstRow& row) {
                return Count(row, Role::kUpdated) == (row.Has(kAtomic) ? 1u : 0u);
              }),
              "atomic instructions, and they alone, update one operand");
static_assert(AllRows([](const InstRow& row) {
                return Count(row, Role::kViewed) == (row.MakesView() ? 1u : 0u) &&
                       (!row.MakesView() || row.results.size() == 1);
              }),
              "what is viewed is operand 0, and the one result is the view");
static_assert(AllRows([](const InstRow& row) {
                return Count(row, Role::kWritten) + Count(row, Role::kUpdated) ==
                       (row.WritesMemory() ? 1u : 0u);
              }),
              "what is written is operand 0");
static_assert(AllRows([](const InstRow& row) {
                return !row.Has(kPure) || !(row.Has(kHasEffect) || row.Has(kCollective) ||
                                            row.Has(kReports) || row.Has(kAtomic));
              }),
              "what is pure has no effect");
static_assert(AllRows([](const InstRow& row) {
                return !(row.Has(kCollective) || row.Has(kReports)) || row.Has(kHasEffect);
              }),
              "a meeting of threads and a report are effects");
static_assert(
    [] {
      for (size_t i = 0; i < std::size(kAttrRows); ++i) {
        if (static_cast<size_t>(kAttrRows[i].attr) != i) return false;
      }
      return true;
    }(),
    "attributes.def is out of order");

static_assert(kOpcodes < 0xFF);

// The mnemonics in an open-addressed hash table of fixed size.
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
    case AttrKind::kVia:
      return kViaWords;
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
    case TypeClass::kCodeType:
      return t.bits <= 8 && t.IsInteger();
    case TypeClass::kDotType:
      return IsWideFloat(t) || t == kTF32 || t.IsComplex() || t == kI8 || t == kU8 ||
             (t.IsFloat() && t.bits == 8 && (t.exponent == 4 || t.exponent == 5));
    case TypeClass::kAccumulatorType:
      return t == kF32 || t == kF64 || t == kI32 || t == kC64;
    case TypeClass::kComplexType:
      return t.IsComplex();
    case TypeClass::kPartType:
      return t == kF16 || t == kF32;
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
    case TypeClass::kCodeType:
      return "an integer type of at most 8 bits";
    case TypeClass::kDotType:
      return "a type of dot (f16, bf16, tf32, f32, f64, f8e4m3*, f8e5m2*, i8, u8, c32, c64)";
    case TypeClass::kAccumulatorType:
      return "an accumulator type (f32, f64, i32, c64)";
    case TypeClass::kComplexType:
      return "a complex type (c32, c64)";
    case TypeClass::kPartType:
      return "f16 or f32";
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
