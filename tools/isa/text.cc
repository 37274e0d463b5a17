#include "tools/isa/text.h"

#include <fmt/format.h>

#include <cmath>

#include "tools/output.h"

namespace tarsia::tools {
namespace {

// The form of an operand in the text of an instruction.
std::string Placeholder(const OperandRow& operand) {
  switch (operand.kind) {
    case OperandKind::kElement:
      return fmt::format("{}[index, ..]", operand.name);
    case OperandKind::kText:
      return fmt::format("\"{}\"", operand.name);
    case OperandKind::kTile:
    case OperandKind::kOptionalTile:
    case OperandKind::kTileOrExpr:
    case OperandKind::kExpr:
    case OperandKind::kIndex:
    case OperandKind::kCondition:
    case OperandKind::kConstant:
    case OperandKind::kMemoryTile:
    case OperandKind::kSource:
      break;
  }
  return std::string(operand.name);
}

// The instructions that open a block have words of their own between the operands.
std::string BlockSignature(const InstRow& row) {
  if (row.opcode == Opcode::kFor) return "for %index = start to stop [step n]";
  if (row.opcode == Opcode::kWhile) return "while condition";
  return "if condition";
}

std::string_view AnnotationShape(Annotation annotation) {
  switch (annotation) {
    case Annotation::kNoType:
      return "";
    case Annotation::kTypeIfExpr:
      return " [: type]";
    case Annotation::kDTypeType:
      return " : type";
    case Annotation::kShapeType:
      return " : [shape]";
    case Annotation::kDTypeShapeType:
      return " : type[shape]";
    case Annotation::kLayoutType:
      return " : [shape] layout";
    case Annotation::kFullType:
      return " : space<type>[shape]";
  }
  return "";
}

std::string KindText(const OperandRow& operand) {
  switch (operand.kind) {
    case OperandKind::kTile:
      return "a register tile";
    case OperandKind::kOptionalTile:
      return "an optional register tile";
    case OperandKind::kTileOrExpr:
      return "a register tile or a scalar";
    case OperandKind::kExpr:
      return "a scalar";
    case OperandKind::kIndex:
      return "an integer expression of constants and scalars";
    case OperandKind::kCondition:
      return "a boolean expression of constants and scalars";
    case OperandKind::kConstant:
      return "an integer expression of constants";
    case OperandKind::kMemoryTile:
      return std::string(DescribeMemory(operand));
    case OperandKind::kElement:
      return fmt::format("a position in {}", DescribeMemory(operand));
    case OperandKind::kSource:
      return "a pointer or a tile of any space";
    case OperandKind::kText:
      return "a string in quotes";
  }
  return "";
}

bool HasType(OperandKind kind) {
  return kind != OperandKind::kIndex && kind != OperandKind::kCondition &&
         kind != OperandKind::kConstant && kind != OperandKind::kText;
}

}  // namespace

std::string AttributeText(Attr attr) {
  const AttrRow& row = Row(attr);
  switch (row.kind) {
    case AttrKind::kFlag:
      break;
    case AttrKind::kInt:
      return fmt::format("{} n", row.text);
    case AttrKind::kIntList:
      return fmt::format("{} [n, ..]", row.text);
    case AttrKind::kRounding:
    case AttrKind::kCache:
    case AttrKind::kVia:
      return fmt::format("{} {}", row.text, fmt::join(AttrWords(row.kind), "|"));
  }
  return std::string(row.text);
}

std::string AnnotationText(Annotation annotation) {
  switch (annotation) {
    case Annotation::kNoType:
      break;
    case Annotation::kTypeIfExpr:
      return "the element type, if a scalar expression is assigned";
    case Annotation::kDTypeType:
      return "the element type";
    case Annotation::kShapeType:
      return "the shape";
    case Annotation::kDTypeShapeType:
      return "the element type and the shape";
    case Annotation::kLayoutType:
      return "the shape and the layout";
    case Annotation::kFullType:
      return "the element type and the shape, and the space if several are possible";
  }
  return "";
}

std::string OperandText(const OperandRow& operand) {
  std::string out = KindText(operand);
  if (HasType(operand.kind)) {
    out += operand.types == TypeClass::kAnyType ? " of any type"
                                                : fmt::format(" of {}", Describe(operand.types));
  }
  return out;
}

std::string Signature(const InstRow& row) {
  std::string out;
  if (row.Has(kOpensBlock)) {
    out = BlockSignature(row);
  } else {
    const char* before = "";
    for (const ResultRow& result : row.results) {
      out += fmt::format("{}%{}", before, result.name);
      before = ", ";
    }
    if (row.results.size() != 0) out += " = ";
    out += row.mnemonic;
    before = " ";
    for (const OperandRow& operand : row.operands) {
      const bool maybe = operand.kind == OperandKind::kOptionalTile;
      out += fmt::format(fmt::runtime(maybe ? "[{}{}]" : "{}{}"), before, Placeholder(operand));
      before = ", ";
    }
  }
  for (const Attr attr : row.attrs) {
    // Lists have no default.
    const bool needed = Row(attr).kind == AttrKind::kIntList;
    out += fmt::format(fmt::runtime(needed ? " {}" : " [{}]"), AttributeText(attr));
  }
  out += AnnotationShape(row.annotation);
  if (row.opcode == Opcode::kIf) return out + " { .. } [else { .. }]";
  return row.Has(kOpensBlock) ? out + " { .. }" : out;
}

std::string FastErrorText(const InstRow& row) {
  if (!row.fast) return "";
  std::string out;
  if (std::isfinite(row.fast->relative))
    out = fmt::format("2^{} of the result", row.fast->relative);
  if (std::isfinite(row.fast->absolute)) {
    out += fmt::format("{}2^{}", out.empty() ? "" : " or ", row.fast->absolute);
  }
  const double largest = row.fast->largest;
  if (std::isinf(largest)) return out;
  const std::string_view operand = row.operands[row.operands.size() - 1].name;
  return fmt::format(
      "{}, for |{}| up to {}", out, operand,
      largest < 1000 ? fmt::format("{}", largest) : fmt::format("2^{}", std::ilogb(largest)));
}

std::string IsaCard(const InstRow& row) {
  std::string out = fmt::format("{}\n\n  {}\n\n", Signature(row), Wrap(row.doc, 98, 2));
  for (const OperandRow& operand : row.operands) {
    out += fmt::format("  {:<12} {}\n", operand.name, OperandText(operand));
  }
  for (const Attr attr : row.attrs) {
    out += fmt::format("  {:<12} {}\n", Row(attr).text, Row(attr).doc);
  }
  const std::string annotation = AnnotationText(row.annotation);
  if (!annotation.empty()) out += fmt::format("  {:<12} {}\n", ": type", annotation);
  if (row.ulp > 0) out += fmt::format("  {:<12} at most {} ulp\n", "error", row.ulp);
  if (row.fast) out += fmt::format("  {:<12} at most {}\n", "fast error", FastErrorText(row));
  out += fmt::format("  {:<12} {}, code 0x{:02X}, since bytecode 0.{}\n", "family",
                     FamilyName(row.family), row.code, row.since);
  return out;
}

std::string IsaList() {
  std::string out;
  std::string_view family;
  for (const InstRow& row : AllInstructions()) {
    if (FamilyName(row.family) != family) {
      out += fmt::format("{}{}:\n", family.empty() ? "" : "\n", FamilyName(row.family));
      family = FamilyName(row.family);
    }
    out += fmt::format("  {}\n", Signature(row));
  }
  return out + "\n`tarsia isa MNEMONIC` describes one instruction.\n";
}

std::string IsaJson() {
  Json json;
  json.Begin('[');
  for (const InstRow& row : AllInstructions()) {
    json.Begin('{').Key("mnemonic").String(row.mnemonic).Key("code").Number(row.code);
    json.Key("since").String(fmt::format("0.{}", row.since));
    json.Key("family").String(FamilyName(row.family)).Key("signature").String(Signature(row));
    json.Key("operands").Begin('[');
    for (const OperandRow& operand : row.operands) {
      json.Begin('{').Key("name").String(operand.name).Key("what").String(OperandText(operand));
      json.End('}');
    }
    json.End(']').Key("attributes").Begin('[');
    for (const Attr attr : row.attrs) json.String(Row(attr).text);
    json.End(']').Key("ulp").Raw(fmt::format("{}", row.ulp));
    if (row.fast) json.Key("fast_error").String(FastErrorText(row));
    json.Key("doc").String(row.doc).End('}');
  }
  return json.End(']').Take();
}

}  // namespace tarsia::tools
