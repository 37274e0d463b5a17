#include "isa/graph/op.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "isa/version.h"

namespace tarsia {
namespace {

struct GraphOperandWords {
  using enum ValueTypes;
  using Name = std::string_view;
  static constexpr GraphOperand In(ValueTypes types, Name name) {
    return {OperandUse::kCommon, types, name};
  }
  static constexpr GraphOperand Own(ValueTypes types, Name name) {
    return {OperandUse::kOwn, types, name};
  }
  static constexpr GraphOperand Indices(Name name) {
    return {OperandUse::kIndices, kInteger, name};
  }
  static constexpr GraphOperand Seed(Name name) { return {OperandUse::kSeed, kInteger, name}; }
  static constexpr GraphOperand Number(Name name) { return {OperandUse::kNumber, kInteger, name}; }
};

using GraphOperandList = FixedList<GraphOperand, kMaxGraphOperands>;

template <typename... Operands>
constexpr GraphOperandList MakeGraphOperands(const Operands&... operands) {
  return {{operands...}, static_cast<uint8_t>(sizeof...(operands))};
}

// One bit of a mask of options for each word.
struct OptionMask {
  uint32_t mask;
  friend constexpr OptionMask operator|(OptionMask a, OptionMask b) { return {a.mask | b.mask}; }
};
struct OptionWords {
#define OPTION(name, code, word, value, doc) static constexpr OptionMask name{1u << (code)};
#include "isa/graph/options.def"
#undef OPTION
};

struct TraitMask {
  uint32_t traits;
};
struct RuleText {
  std::string_view GraphRow::* part;
  std::string_view text;
};

#define AXES(form) AxesForm::form
#define OPERANDS(...)                                                                    \
  [] {                                                                                   \
    struct Scope : GraphOperandWords {                                                   \
      static constexpr GraphOperandList Get() { return MakeGraphOperands(__VA_ARGS__); } \
    };                                                                                   \
    return Scope::Get();                                                                 \
  }()
#define SYMBOL(op) BinaryOp::op
#define OPTIONS(...)                                              \
  [] {                                                            \
    struct Scope : OptionWords {                                  \
      static constexpr OptionMask Get() { return (__VA_ARGS__); } \
    };                                                            \
    return Scope::Get();                                          \
  }()
#define TRAITS(...) \
  TraitMask { __VA_ARGS__ }
#define STATE(words) \
  RuleText { &GraphRow::state, words }
#define TIES(words) \
  RuleText { &GraphRow::ties, words }
#define NANS(words) \
  RuleText { &GraphRow::nans, words }
#define DOC(words) \
  RuleText { &GraphRow::doc, words }

// Adds a part of a row; each kind of part has its own type.
constexpr void AddPart(GraphRow& row, AxesForm form) { row.axes = form; }
constexpr void AddPart(GraphRow& row, const GraphOperandList& operands) { row.operands = operands; }
constexpr void AddPart(GraphRow& row, BinaryOp symbol) { row.symbol = symbol; }
constexpr void AddPart(GraphRow& row, OptionMask options) { row.options = options.mask; }
constexpr void AddPart(GraphRow& row, TraitMask traits) { row.traits = traits.traits; }
constexpr void AddPart(GraphRow& row, RuleText text) { row.*text.part = text.text; }

template <typename... Parts>
constexpr GraphRow MakeGraphRow(GraphRow row, const Parts&... parts) {
  (AddPart(row, parts), ...);
  return row;
}

constexpr GraphRow HeadOf(GraphOp op, uint8_t code, uint8_t since, std::string_view name,
                          std::string_view word, GraphFamily family, GraphResult result) {
  GraphRow row{};
  row.op = op;
  row.code = code;
  row.since = since;
  row.name = name;
  row.word = word;
  row.family = family;
  row.result = result;
  return row;
}

constexpr GraphRow kGraphRows[] = {
#define OP(name, code, since, word, family, result, ...)                                  \
  MakeGraphRow(HeadOf(GraphOp::k##name, code, since, #name, word, GraphFamily::k##family, \
                      GraphResult::result),                                               \
               __VA_ARGS__),
#include "isa/graph/ops.def"
#undef OP
};
#undef AXES
#undef OPERANDS
#undef SYMBOL
#undef OPTIONS
#undef TRAITS
#undef STATE
#undef TIES
#undef NANS
#undef DOC
static_assert(std::size(kGraphRows) == kGraphOps);

template <typename Holds>
constexpr bool AllGraphRows(const Holds& holds) {
  return std::all_of(std::begin(kGraphRows), std::end(kGraphRows), holds);
}

static_assert(
    [] {
      for (const GraphRow& a : kGraphRows) {
        for (const GraphRow& b : kGraphRows) {
          if (&a == &b) continue;
          const bool both = (a.axes == AxesForm::kNoAxes) == (b.axes == AxesForm::kNoAxes);
          if (a.code == b.code || (a.word == b.word && both)) return false;
        }
      }
      return true;
    }(),
    "two rows of ops.def share a code, or a word and whether they have axes");
static_assert(AllGraphRows([](const GraphRow& row) {
                return row.code != 0 && row.since >= 4 && row.since <= kBytecodeVersion.minor;
              }),
              "a row of ops.def names no version of the bytecode that has graphs");
static_assert(AllGraphRows([](const GraphRow& row) { return !row.doc.empty(); }),
              "a row of ops.def lacks what it does");
static_assert(AllGraphRows([](const GraphRow& row) {
                return (row.family == GraphFamily::kReduction) ==
                       (!row.state.empty() && !row.ties.empty() && !row.nans.empty());
              }),
              "reducers, and they alone, say their state, their ties and their NaNs");
static_assert(AllGraphRows([](const GraphRow& row) {
                return !row.IsOperator() || (row.operands.size() == (row.symbol ? 2 : 1) &&
                                             row.axes == AxesForm::kNoAxes && row.options == 0);
              }),
              "an operator has operands on its sides and nothing else");

bool IsWideFloatType(DType t) { return t == kF16 || t == kBF16 || t == kF32 || t == kF64; }

}  // namespace

std::span<const GraphRow> AllGraphOps() { return kGraphRows; }

const GraphRow& Row(GraphOp op) { return kGraphRows[static_cast<size_t>(op)]; }

std::optional<GraphOp> FindGraphOp(std::string_view word, bool with_axes) {
  std::optional<GraphOp> found;
  for (const GraphRow& row : kGraphRows) {
    if (row.word != word || row.IsOperator()) continue;
    if ((row.axes != AxesForm::kNoAxes) == with_axes) return row.op;
    found = row.op;
  }
  return found;
}

std::optional<GraphOp> FindGraphOp(BinaryOp symbol) {
  for (const GraphRow& row : kGraphRows) {
    if (row.symbol == symbol) return row.op;
  }
  return std::nullopt;
}

std::optional<GraphOp> FindGraphOpByCode(uint8_t code) {
  for (const GraphRow& row : kGraphRows) {
    if (row.code == code) return row.op;
  }
  return std::nullopt;
}

std::vector<std::string_view> GraphWords() {
  std::vector<std::string_view> words;
  for (const GraphRow& row : kGraphRows) {
    if (!row.IsOperator()) words.push_back(row.word);
  }
  return words;
}

bool IsGraphWord(std::string_view word) {
  return std::any_of(std::begin(kGraphRows), std::end(kGraphRows),
                     [&](const GraphRow& row) { return row.word == word; });
}

std::pair<uint32_t, uint32_t> GraphRow::AxisCount() const {
  switch (axes) {
    case AxesForm::kNoAxes:
    case AxesForm::kType:
      return {0, 0};
    case AxesForm::kNewAxis:
    case AxesForm::kOneAxis:
      return {1, 1};
    case AxesForm::kNewAxes:
    case AxesForm::kAxes:
      return {1, ExprPool::kMaxItems};
    case AxesForm::kRenames:
      return {2, ExprPool::kMaxItems};
    case AxesForm::kOneAxisAndLast:
    case AxesForm::kMap:
    case AxesForm::kRowsColumns:
      return {2, 2};
    case AxesForm::kJoin:
      return {3, 3};
  }
  return {0, 0};
}

std::string_view FamilyName(GraphFamily family) {
  constexpr std::array<std::string_view, kGraphFamilies> kNames = {
      "source",  "elementwise", "shape",          "contraction",
      "indexed", "reduction",   "linear algebra", "derivative"};
  return kNames[static_cast<size_t>(family)];
}

std::string_view Describe(AxesForm form) {
  switch (form) {
    case AxesForm::kNoAxes:
      return "nothing";
    case AxesForm::kType:
      return "a type, as in `<f16>`";
    case AxesForm::kNewAxis:
      return "its axis, as in `<i:n>`";
    case AxesForm::kNewAxes:
      return "its axes, as in `<i:n, j:m>`";
    case AxesForm::kAxes:
      return "the axes that it reduces, as in `<j>`";
    case AxesForm::kOneAxis:
    case AxesForm::kOneAxisAndLast:
      return "one axis, as in `<j>`";
    case AxesForm::kRenames:
      return "the old and the new axis, as in `<i->j>`";
    case AxesForm::kMap:
      return "the old and the new axis, as in `<i->h:n>`";
    case AxesForm::kJoin:
      return "the axes of both operands and the new axis, as in `<i, j->k>`";
    case AxesForm::kRowsColumns:
      return "the axes of the rows and of the columns, as in `<i, j>`";
  }
  return "";
}

bool Contains(ValueTypes types, DType t) {
  switch (types) {
    case ValueTypes::kAnyValue:
      return true;
    case ValueTypes::kNumber:
      return IsArithmetic(t) || t.IsComplex();
    case ValueTypes::kArithmetic:
      return IsArithmetic(t);
    case ValueTypes::kComparable:
      return IsArithmetic(t) || t == kBoolType;
    case ValueTypes::kFloat:
      return IsWideFloatType(t);
    case ValueTypes::kFloatOrComplex:
      return Contains(TypeClass::kFloatOrComplexType, t);
    case ValueTypes::kInteger:
      return t.IsInteger() && t.bits >= 8;
    case ValueTypes::kBoolean:
      return t == kBoolType;
    case ValueTypes::kComplexOnly:
      return Contains(TypeClass::kComplexType, t);
    case ValueTypes::kPartOfComplex:
      return Contains(TypeClass::kPartType, t);
    case ValueTypes::kSolvable:
      return t == kF32 || t == kF64;
    case ValueTypes::kProduct:
      return Contains(TypeClass::kDotType, t);
  }
  return false;
}

std::string_view Describe(ValueTypes types) {
  switch (types) {
    case ValueTypes::kAnyValue:
      return "any type";
    case ValueTypes::kNumber:
      return "an arithmetic or complex type (integers of 8 to 64 bits, f16, bf16, f32, f64, c32, "
             "c64)";
    case ValueTypes::kArithmetic:
      return Describe(TypeClass::kArithmeticType);
    case ValueTypes::kComparable:
      return Describe(TypeClass::kComparableType);
    case ValueTypes::kFloat:
      return Describe(TypeClass::kFloatType);
    case ValueTypes::kFloatOrComplex:
      return Describe(TypeClass::kFloatOrComplexType);
    case ValueTypes::kInteger:
      return Describe(TypeClass::kIntegerType);
    case ValueTypes::kBoolean:
      return "bool";
    case ValueTypes::kComplexOnly:
      return Describe(TypeClass::kComplexType);
    case ValueTypes::kPartOfComplex:
      return Describe(TypeClass::kPartType);
    case ValueTypes::kSolvable:
      return "f32 or f64";
    case ValueTypes::kProduct:
      return Describe(TypeClass::kDotType);
  }
  return "?";
}

DType AccumulatorOf(DType t) {
  if (t == kI8 || t == kU8) return kI32;
  if (t == kC32) return kC64;
  return t.IsFloat() && t != kF64 ? kF32 : t;
}

}  // namespace tarsia
