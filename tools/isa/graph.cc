// docs/graph-operations.md, from the table of operations of graphs.
#include <fmt/format.h>

#include <iterator>

#include "isa/graph/op.h"
#include "tools/isa/text.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

constexpr std::string_view kGraphHead =
    R"(<!-- Made by `tarsia isa --graphs > docs/graph-operations.md` from isa/graph/ops.def. Do not edit. -->
# Operations of graphs

[graphs.md](graphs.md) describes graphs, and shows each operation in an example. This page lists the
operations with the types that they take. *Codes* are the numbers in bytecode. They are never changed
and never reused.

Operands that this page calls *common* have one element type; one of them may be a constant, which
takes that type, if another one is a value.
)";

struct GraphFamilyText {
  GraphFamily family;
  std::string_view title;
};
constexpr GraphFamilyText kGraphFamilyTexts[] = {
    {GraphFamily::kSource, "Sources"},
    {GraphFamily::kElementwise, "Elementwise"},
    {GraphFamily::kShape, "Axes"},
    {GraphFamily::kContraction, "Products and distances"},
    {GraphFamily::kIndexed, "By an index"},
    {GraphFamily::kReduction, "Reducers"},
    {GraphFamily::kAlgebra, "Linear algebra"},
    {GraphFamily::kDerivative, "Derivatives"},
};
static_assert(std::size(kGraphFamilyTexts) == kGraphFamilies);

std::string_view AxesText(AxesForm form) {
  switch (form) {
    case AxesForm::kNoAxes:
      return "";
    case AxesForm::kType:
      return "<type>";
    case AxesForm::kNewAxis:
      return "<i:n>";
    case AxesForm::kNewAxes:
      return "<i:n, ..>";
    case AxesForm::kAxes:
      return "<i, ..>";
    case AxesForm::kOneAxis:
    case AxesForm::kOneAxisAndLast:
      return "<i>";
    case AxesForm::kRenames:
      return "<i->j, ..>";
    case AxesForm::kMap:
      return "<i->h:n>";
    case AxesForm::kJoin:
      return "<i, j->k>";
    case AxesForm::kRowsColumns:
      return "<i, j>";
  }
  return "";
}

std::string GraphSignature(const GraphRow& row) {
  const auto& operands = row.operands;
  if (row.symbol) {
    return fmt::format("{} {} {}", operands[0].name, Spelling(*row.symbol), operands[1].name);
  }
  if (row.IsOperator()) {
    return fmt::format("{}{}", row.op == GraphOp::kNot ? "not " : "-", operands[0].name);
  }
  std::string out = fmt::format("{}{}", row.word, AxesText(row.axes));
  for (size_t i = 0; i < operands.size(); ++i) {
    out += fmt::format("{}{}", i == 0 ? "(" : ", ", operands[i].name);
  }
  if (row.axes == AxesForm::kOneAxisAndLast) out += ", k:n";
  if (operands.size() != 0) out += ")";
  std::string_view before;
  for (const OptionRow& option : kOptionRows) {
    if (!row.Takes(option.option)) continue;
    out += option.word == before
               ? "|"
               : fmt::format(" [{}{}", option.word, option.value.empty() ? "" : " ");
    out += option.value;
    before = option.word;
  }
  return before.empty() ? out : out + "]";
}

std::string OperandLine(const GraphOperand& operand) {
  std::string what;
  switch (operand.use) {
    case OperandUse::kCommon:
      what = fmt::format("common, {}", Describe(operand.types));
      break;
    case OperandUse::kOwn:
      what = Describe(operand.types);
      break;
    case OperandUse::kIndices:
      what = fmt::format("a value of {}", Describe(operand.types));
      break;
    case OperandUse::kSeed:
      what = fmt::format("a constant, or a value without axes of {}", Describe(operand.types));
      break;
    case OperandUse::kNumber:
      what = "a constant";
      break;
  }
  return fmt::format("- `{}`: {}\n", operand.name, what);
}

std::string_view ResultLine(GraphResult result) {
  switch (result) {
    case GraphResult::kSameResult:
      return "the common type; without one, that of the first operand";
    case GraphResult::kBoolResult:
      return "bool";
    case GraphResult::kInt64Result:
      return "i64";
    case GraphResult::kUInt32Result:
      return "u32";
    case GraphResult::kFloat32Result:
      return "f32";
    case GraphResult::kGivenResult:
      return "the type between `<` and `>`";
    case GraphResult::kRealResult:
      return "the type of the operand; of c32 f16, of c64 f32";
    case GraphResult::kComplexResult:
      return "c32 of f16, c64 of f32";
    case GraphResult::kAccumulatorResult:
      return "f32 of all floats but f64, i32 of i8 and u8, c64 of c32, else the common type";
    case GraphResult::kValueAndIndexResult:
      return "the type of the operand, and i64";
    case GraphResult::kSecondResult:
      return "the type of the second operand";
  }
  return "";
}

std::string GraphEntry(const GraphRow& row) {
  std::string out = fmt::format("\n### `{}`\n\n{}\n\n", GraphSignature(row), Wrap(row.doc, 100));
  for (const GraphOperand& operand : row.operands) out += OperandLine(operand);
  out += fmt::format("- result: {}\n", ResultLine(row.result));
  if (row.state.empty()) return out;
  return out + fmt::format("- state: {}\n- ties: {}\n- NaN: {}\n", row.state, row.ties, row.nans);
}

std::string OptionTable() {
  std::string out = "\n## Options\n\n| code | option | meaning |\n|---|---|---|\n";
  for (const OptionRow& row : kOptionRows) {
    out += fmt::format("| {} | `{}{}{}` | {} |\n", static_cast<int>(row.option), row.word,
                       row.value.empty() ? "" : " ", row.value, row.doc);
  }
  return out;
}

std::string GraphCodeTable() {
  std::string out = "\n## By code\n\n| code | operation | since |\n|---|---|---|\n";
  for (const GraphRow& row : AllGraphOps()) {
    out += fmt::format("| 0x{:02X} | `{}{}` | 0.{} |\n", row.code, row.word, AxesText(row.axes),
                       row.since);
  }
  return out;
}

}  // namespace

std::string GraphMarkdown() {
  std::string out(kGraphHead);
  for (const GraphFamilyText& family : kGraphFamilyTexts) {
    out += fmt::format("\n## {}\n", family.title);
    for (const GraphRow& row : AllGraphOps()) {
      if (row.family == family.family) out += GraphEntry(row);
    }
  }
  return out + OptionTable() + GraphCodeTable();
}

}  // namespace tarsia::tools
