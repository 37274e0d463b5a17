// The table of operations isa/graph/ops.def as data, and their look-up.
#ifndef TARSIA_ISA_GRAPH_OP_H_
#define TARSIA_ISA_GRAPH_OP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dtypes/dtype.h"
#include "isa/instruction.h"
#include "layout/text/expr.h"

namespace tarsia {

// A dense number for each row, in table order; bytecode uses Row(op).code instead.
enum class GraphOp : uint8_t {
#define OP(name, ...) k##name,
#include "isa/graph/ops.def"
#undef OP
};
inline constexpr size_t kGraphOps = 0
#define OP(name, ...) +1
#include "isa/graph/ops.def"
#undef OP
    ;

enum class GraphFamily : uint8_t {
  kSource,
  kElementwise,
  kShape,
  kContraction,
  kIndexed,
  kReduction,
  kAlgebra,
  kDerivative
};
inline constexpr int kGraphFamilies = 8;
std::string_view FamilyName(GraphFamily family);  // "elementwise"

// What stands between `<` and `>` after the word of an operation. A new axis may say its extent.
enum class AxesForm : uint8_t {
  kNoAxes,
  kType,            // an element type
  kNewAxis,         // i:n
  kNewAxes,         // i:n, j:m
  kAxes,            // i, j: reduced
  kOneAxis,         // i
  kOneAxisAndLast,  // i; the new axis k:n is the last operand
  kRenames,         // i->j, ..
  kMap,             // i->h:n
  kJoin,            // i, j->k:n
  kRowsColumns,     // i, j
};
// "its axes, as in `<i, j>`", for messages and the reference.
std::string_view Describe(AxesForm form);

// The element types that an operand may have.
enum class ValueTypes : uint8_t {
  kAnyValue,
  kNumber,      // arithmetic and complex types
  kArithmetic,  // integers of 8 to 64 bits, f16, bf16, f32, f64
  kComparable,  // and bool
  kFloat,       // f16, bf16, f32, f64
  kFloatOrComplex,
  kInteger,  // of 8 to 64 bits
  kBoolean,
  kComplexOnly,    // c32, c64
  kPartOfComplex,  // f16, f32
  kSolvable,       // f32, f64
  kProduct,        // those of `dot`
};
bool Contains(ValueTypes types, DType type);
// "a floating-point type (f16, bf16, f32, f64)", for messages and the reference.
std::string_view Describe(ValueTypes types);

enum class OperandUse : uint8_t {
  kCommon,   // of the one element type that all operands of this use have; may be a constant
  kOwn,      // of a type of its own; may be a constant in elementwise operations
  kIndices,  // an integer value
  kSeed,     // an integer without axes: a value or a constant
  kNumber,   // an integer constant
};

struct GraphOperand {
  OperandUse use = OperandUse::kCommon;
  ValueTypes types = ValueTypes::kAnyValue;
  std::string_view name;
};

// The element types of the results.
enum class GraphResult : uint8_t {
  kSameResult,  // that of the operands
  kBoolResult,
  kInt64Result,
  kUInt32Result,
  kFloat32Result,
  kGivenResult,          // the one between `<` and `>`
  kRealResult,           // that of the parts of complex operands; else that of the operands
  kComplexResult,        // the complex type of such parts
  kAccumulatorResult,    // that in which products of the operands are summed: AccumulatorOf
  kValueAndIndexResult,  // two results: of the operand's type, and i64
  kSecondResult,         // that of the second operand
};

// f32 for all floats but f64, i32 for i8 and u8, c64 for c32, else the type itself.
DType AccumulatorOf(DType type);

enum GraphTraits : uint32_t {
  kNoGraphTraits = 0,
  kPrefix = 1u << 0,           // written before its operand, as `-x`
  kAlsoOfConstants = 1u << 1,  // of constants it is a constant
  kNamedOperands = 1u << 2,    // operands are named values
};

enum class GraphOption : uint8_t {
  kNone = 0,
#define OPTION(name, code, word, value, doc) name = code,
#include "isa/graph/options.def"
#undef OPTION
};
struct OptionRow {
  GraphOption option;
  std::string_view word;
  std::string_view value;  // "": the word is all
  std::string_view doc;
};
inline constexpr OptionRow kOptionRows[] = {
#define OPTION(name, code, word, value, doc) {GraphOption::name, word, value, doc},
#include "isa/graph/options.def"
#undef OPTION
};
// Of any but kNone.
inline const OptionRow& Row(GraphOption option) {
  return kOptionRows[static_cast<size_t>(option) - 1];
}

inline constexpr size_t kMaxGraphOperands = 3;

struct GraphRow {
  GraphOp op;
  uint8_t code;           // in bytecode
  uint8_t since;          // minor version of the bytecode
  std::string_view name;  // CamelCase
  std::string_view word;
  GraphFamily family;
  GraphResult result;
  AxesForm axes = AxesForm::kNoAxes;
  FixedList<GraphOperand, kMaxGraphOperands> operands;
  std::optional<BinaryOp> symbol;
  uint32_t options = 0;  // bit i: GraphOption i
  uint32_t traits = kNoGraphTraits;
  std::string_view state, ties, nans;  // of reducers
  std::string_view doc;

  [[nodiscard]] constexpr bool Has(GraphTraits trait) const { return (traits & trait) != 0; }
  [[nodiscard]] constexpr size_t results() const {
    return result == GraphResult::kValueAndIndexResult ? 2 : 1;
  }
  [[nodiscard]] constexpr bool Takes(GraphOption option) const {
    return (options >> static_cast<int>(option) & 1) != 0;
  }
  // Written by an operator, never by its word.
  [[nodiscard]] constexpr bool IsOperator() const { return symbol || Has(kPrefix); }
  // The operand with this number may be a constant.
  [[nodiscard]] constexpr bool TakesConstant(size_t operand) const {
    const OperandUse use = operands[operand].use;
    if (use == OperandUse::kSeed || use == OperandUse::kNumber) return true;
    return family == GraphFamily::kElementwise && use != OperandUse::kIndices;
  }
  // Constants between whom it stands are a constant themselves.
  [[nodiscard]] constexpr bool FoldsConstants() const {
    return IsOperator() || Has(kAlsoOfConstants);
  }
  // The fewest and the most axes between `<` and `>`, those of `->` and a last one included.
  [[nodiscard]] std::pair<uint32_t, uint32_t> AxisCount() const;
};

std::span<const GraphRow> AllGraphOps();
const GraphRow& Row(GraphOp op);
// The operation with the word, with or without axes if two rows share it.
std::optional<GraphOp> FindGraphOp(std::string_view word, bool with_axes);
std::optional<GraphOp> FindGraphOp(BinaryOp symbol);
std::optional<GraphOp> FindGraphOpByCode(uint8_t code);
// The words that a text may use: not those of operators.
std::vector<std::string_view> GraphWords();
// Whether its result is a derivative: `grad` or `vjp`.
inline bool IsDerivative(GraphOp op) { return op == GraphOp::kGrad || op == GraphOp::kVjp; }
// Whether a row with this word exists, be it an operator.
bool IsGraphWord(std::string_view word);

}  // namespace tarsia

#endif  // TARSIA_ISA_GRAPH_OP_H_
