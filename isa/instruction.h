// The instruction table of isa.def as data: opcodes, signatures, traits, and their look-up.
#ifndef TARSIA_ISA_INSTRUCTION_H_
#define TARSIA_ISA_INSTRUCTION_H_

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "dtypes/dtype.h"

namespace tarsia {

enum class Family : uint8_t {
  kControl,
  kMemory,
  kShape,
  kElementwise,
  kConvert,
  kMma,
  kReduce,
  kSync
};
inline constexpr int kFamilies = 8;

// A dense number for each row, in table order; bytecode uses Row(op).code instead.
enum class Opcode : uint8_t {
#define INST(name, ...) k##name,
#include "isa/isa.def"
#undef INST
};
inline constexpr size_t kOpcodes = 0
#define INST(name, ...) +1
#include "isa/isa.def"
#undef INST
    ;

enum class Attr : uint8_t {
#define ATTR(name, code, text, kind, doc) name = code,
#include "isa/attributes.def"
#undef ATTR
};
enum class AttrKind : uint8_t { kFlag, kInt, kIntList, kRounding, kCache, kVia };
struct AttrRow {
  Attr attr;
  std::string_view text;
  AttrKind kind;
  std::string_view doc;
};
inline constexpr AttrRow kAttrRows[] = {
#define ATTR(name, code, text, kind, doc) {Attr::name, text, AttrKind::kind, doc},
#include "isa/attributes.def"
#undef ATTR
};
inline const AttrRow& Row(Attr attr) { return kAttrRows[static_cast<size_t>(attr)]; }
std::optional<Attr> FindAttr(std::string_view text);
// The words for an attribute of kind kRounding, kCache or kVia; their index is the value.
inline constexpr std::string_view kRoundingWords[] = {"nearest", "toward_zero", "stochastic"};
inline constexpr std::string_view kCacheWords[] = {"default", "evict_first", "no_allocate"};
inline constexpr std::string_view kViaWords[] = {"registers", "async", "shared"};
// How a load arrives, by the places in kViaWords.
enum class Via : uint8_t { kRegisters, kAsync, kShared };
// The words of a kind; empty for kinds without words.
std::span<const std::string_view> AttrWords(AttrKind kind);

enum class Space : uint8_t { kNone, kGlobal, kShared, kRegister };
std::string_view SpaceName(Space space);  // "global"; "" for kNone

// The kinds of operands. The Role is how an instruction uses an operand.
enum class OperandKind : uint8_t {
  kTile,          // a register tile
  kOptionalTile,  // a register tile, may be left out (only the last operand)
  kTileOrExpr,    // a register tile or a scalar expression of constants and scalars
  kExpr,          // a scalar expression of constants and scalars
  kIndex,         // an integer expression of constants and integer scalars, exact in 64 bits
  kCondition,     // a boolean expression of constants and scalars
  kConstant,      // an integer expression of constants
  kMemoryTile,    // a global or shared tile
  kElement,       // tile[index, ..]: two argument slots, the tile and the list of indices
  kSource,        // a pointer or a tile of any space
  kText,          // a string
};

// The element types that an operand may have.
enum class TypeClass : uint8_t {
  kAnyType,
  kArithmeticType,      // i/u 8, 16, 32, 64, f16, bf16, f32, f64
  kArithmeticIntType,   // i/u 8, 16, 32, 64
  kIntegerType,         // the same; for indices
  kFloatType,           // f16, bf16, f32, f64
  kFloatOrComplexType,  // and c32, c64
  kBitsType,            // arithmetic integers and bool
  kBoolOnlyType,
  kComparableType,    // arithmetic types and bool
  kScalarType,        // the types of scalars: arithmetic types and bool
  kAtomicAddType,     // i/u 32, 64, f16, bf16, f32, f64
  kAtomicIntType,     // i/u 32, 64
  kRandomType,        // u32
  kLowPrecisionType,  // integers and floats of at most 8 bits
  kCodeType,          // integers of at most 8 bits
  kDotType,           // f16, bf16, tf32, f32, f64, 8-bit floats of dot, i8, u8, c32, c64
  kAccumulatorType,   // f32, f64, i32, c64
  kComplexType,       // c32, c64
  kPartType,          // of complex numbers: f16, f32
};
bool Contains(TypeClass types, DType type);
// "a floating-point type (f16, bf16, f32, f64)", for messages and the reference.
std::string_view Describe(TypeClass types);

enum class ResultKind : uint8_t {
  kTile,       // a register tile
  kScalar,     // a scalar
  kSame,       // a tile if an operand is one, else a scalar
  kMemory,     // a global or shared tile: a view of operand 0
  kAllocated,  // a tile in new memory of the row's space
  kAny,        // as the annotation says
};

// How an instruction uses an operand.
enum class Role : uint8_t {
  kRead,       // uses its elements, or its value
  kWritten,    // memory: writes elements
  kUpdated,    // memory: reads and writes elements, in one step
  kViewed,     // the result is a view of it: of its memory, or of its bits in registers
  kIndex,      // uses it as indices, bounds or a count
  kTable,      // chooses its elements by other operands
  kCondition,  // chooses a block or one of the other operands by it
  kText,       // shows it to people
};

// What the annotation `: type` must say. Anything more must agree with what is inferred; every
// register result may have a register layout after its shape.
enum class Annotation : uint8_t {
  kNoType,          // nothing
  kTypeIfExpr,      // element type, if a scalar expression has none of its own
  kDTypeType,       // element type
  kShapeType,       // shape
  kDTypeShapeType,  // element type and shape
  kLayoutType,      // shape and layout
  kFullType,        // element type and shape, and the space if it does not follow
};

enum Traits : uint32_t {
  kNoTraits = 0,
  kPure = 1u << 0,  // the result depends only on the operands
  kOpensBlock = 1u << 1,
  kEndsBlock = 1u << 2,
  kHasEffect = 1u << 3,
  kCompares = 1u << 4,      // the result is bool
  kAtomic = 1u << 5,        // updates each element of memory in one indivisible step
  kAsynchronous = 1u << 6,  // continues after the instruction, until something waits for it
  kCollective = 1u << 7,    // the threads of a block meet
  kRuntimeShape = 1u << 8,  // the annotated extents may depend on scalars
  kTypeOfResult = 1u << 9,  // computes in the type of its result, not in that of its operands
  kInFull = 1u << 10,       // computes expressions in 64 bits
  kReports = 1u << 11,      // may report something to the host
  kByElement = 1u << 12,    // combines only elements at the same place of register tiles
  kKeepsOrder = 1u << 13,   // the same elements in row-major order under another shape
  kReadsCodes = 1u << 14,   // reads the codes of operand 0 as bits
  kGivesCodes = 1u << 15,   // returns the codes of its result as bits, as they were stored
};

struct OperandRow {
  OperandKind kind = OperandKind::kTile;
  TypeClass types = TypeClass::kAnyType;
  std::string_view name;
  Role role = Role::kRead;
  Space space = Space::kNone;  // of tiles in memory: the required space; kNone: global or shared
  // A tile in memory, or an operand that may be one.
  [[nodiscard]] constexpr bool IsMemory() const {
    return kind == OperandKind::kMemoryTile || kind == OperandKind::kElement ||
           kind == OperandKind::kSource;
  }
};
// "a global or shared tile", "a shared tile": the tile of a kMemoryTile or kElement operand.
std::string_view DescribeMemory(const OperandRow& operand);
struct ResultRow {
  ResultKind kind = ResultKind::kTile;
  std::string_view name;
  Space space = Space::kNone;  // of kAllocated
};

// How far the GPU's own form of an operation, which the attribute `fast` asks for, may lie from the
// true result r: by 2^relative |r|, or by 2^absolute if that is more. Operands and results below
// 2^-126 may count as 0. Results of f16 and bf16 are rounded once more.
struct FastError {
  double relative = -std::numeric_limits<double>::infinity();
  double absolute = -std::numeric_limits<double>::infinity();
  // The largest magnitude of the last operand for which this holds.
  double largest = std::numeric_limits<double>::infinity();
};
// The types that have such forms.
constexpr bool HasFastForms(DType type) { return type == kF16 || type == kBF16 || type == kF32; }

inline constexpr size_t kMaxOperands = 4;
inline constexpr size_t kMaxResults = 2;
inline constexpr size_t kMaxAttrs = 5;

template <typename T, size_t n>
struct FixedList {
  std::array<T, n> items{};
  uint8_t count = 0;
  [[nodiscard]] constexpr const T* begin() const { return items.data(); }
  [[nodiscard]] constexpr const T* end() const { return items.data() + count; }
  [[nodiscard]] constexpr size_t size() const { return count; }
  [[nodiscard]] constexpr const T& operator[](size_t i) const { return items[i]; }
};

struct InstRow {
  Opcode opcode;
  uint8_t code;           // in bytecode
  uint8_t since;          // minor version of the bytecode
  std::string_view name;  // CamelCase, of VALIDATE, EXEC and LOWER
  std::string_view mnemonic;
  Family family;
  FixedList<ResultRow, kMaxResults> results;
  FixedList<OperandRow, kMaxOperands> operands;
  FixedList<Attr, kMaxAttrs> attrs;
  Annotation annotation;
  uint32_t traits;
  double ulp;                     // the largest error; 0: exact or correctly rounded
  std::optional<FastError> fast;  // none: there is no such form
  std::string_view doc;

  [[nodiscard]] constexpr bool Has(Traits trait) const { return (traits & trait) != 0; }
  // The first operand with the role.
  [[nodiscard]] constexpr std::optional<size_t> OperandWith(Role role) const {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].role == role) return i;
    }
    return std::nullopt;
  }
  // It writes elements of a tile in memory, which is operand 0.
  [[nodiscard]] constexpr bool WritesMemory() const {
    return operands.size() != 0 &&
           (operands[0].role == Role::kWritten || operands[0].role == Role::kUpdated);
  }
  // The result is a view of operand 0.
  [[nodiscard]] constexpr bool MakesView() const {
    return operands.size() != 0 && operands[0].role == Role::kViewed;
  }
  // The space in which it allocates memory; kNone: it does not.
  [[nodiscard]] constexpr Space Allocates() const {
    return results.size() != 0 ? results[0].space : Space::kNone;
  }
  // Argument slots of all operands: kElement takes two.
  [[nodiscard]] size_t MaxSlots() const;
  // The first argument slot of operand `i`.
  [[nodiscard]] size_t Slot(size_t i) const;
  [[nodiscard]] std::optional<size_t> AttrIndex(Attr attr) const;
};

// scan.sum to scan.max.
constexpr bool IsScan(Opcode opcode) {
  return opcode >= Opcode::kScanSum && opcode <= Opcode::kScanMax;
}

// The most elements that `topk` finds.
inline constexpr int64_t kMostTopK = 128;

std::span<const InstRow> AllInstructions();
const InstRow& Row(Opcode opcode);
std::optional<Opcode> FindMnemonic(std::string_view mnemonic);
std::span<const std::string_view> Mnemonics();
std::string_view FamilyName(Family family);  // "control"

}  // namespace tarsia

#endif  // TARSIA_ISA_INSTRUCTION_H_
