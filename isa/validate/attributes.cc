#include "isa/validate/attributes.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarsia {
namespace {

constexpr const char* kWhat = "attribute `{}`";

}  // namespace

bool Attributes::Check(const Inst& inst, const InstRow& row) {
  bool ok = true;
  for (const Attr attr : row.attrs) {
    const ExprId value = context_.kernel().AttrOf(inst, attr);
    if (!value.none()) ok &= CheckOne(inst, Row(attr), value);
  }
  return ok;
}

bool Attributes::CheckOne(const Inst& inst, const AttrRow& row, ExprId value) {
  const ExprPool& pool = context_.pool();
  const Location location = context_.kernel().AttrLocation(inst, row.attr);
  switch (row.kind) {
    case AttrKind::kFlag:
      if (pool.AsBool(value) == true) return true;
      context_.Error(diag::kExpressionKind, location, fmt::format(kWhat, row.text), "a flag",
                     context_.Text(value));
      return false;
    case AttrKind::kRounding:
    case AttrKind::kCache:
    case AttrKind::kVia: {
      const auto word = pool.AsInt(value);
      if (word && *word >= 0 && static_cast<size_t>(*word) < AttrWords(row.kind).size()) {
        return true;
      }
      context_.Error(diag::kUnknownWord, location, row.text, context_.Text(value));
      return false;
    }
    case AttrKind::kInt:
    case AttrKind::kIntList:
      return CheckNumbers(row, value, location);
  }
  return false;
}

bool Attributes::CheckNumbers(const AttrRow& row, ExprId value, Location location) {
  const ExprPool& pool = context_.pool();
  if (pool.UsesValues(value)) {
    context_.Error(diag::kNotConstant, location, fmt::format(kWhat, row.text));
    return false;
  }
  const ExprType kind = row.kind == AttrKind::kInt ? ExprType::kInt : ExprType::kList;
  bool ok = expressions_.ExpectKind(value, kind, kWhat, location, row.text);
  if (pool.kind(value) != ExprKind::kList) return ok;
  for (const ExprId item : pool.children(value)) {
    ok &= expressions_.ExpectKind(item, ExprType::kInt, "an item of attribute `{}`", location,
                                  row.text);
  }
  return ok;
}

std::optional<int64_t> Attributes::KnownInt(const Inst& inst, Attr attr, int64_t fallback) {
  const Kernel& kernel = context_.kernel();
  const ExprId id = kernel.AttrOf(inst, attr);
  return id.none() ? fallback : expressions_.KnownInt(id, kernel.AttrLocation(inst, attr));
}

std::string_view Attributes::Word(const Inst& inst, Attr attr) const {
  const auto words = AttrWords(Row(attr).kind);
  const int64_t i = IntAttr(context_.pool(), context_.kernel(), inst, attr);
  return words[std::min(static_cast<size_t>(i), words.size() - 1)];
}

bool Attributes::InRange(int64_t axis, size_t rank, Location location) {
  if (axis >= 0 && static_cast<size_t>(axis) < rank) return true;
  context_.Error(diag::kAxisOutOfRange, location, axis, rank);
  return false;
}

std::optional<size_t> Attributes::Axis(const Inst& inst, size_t rank) {
  const auto axis = KnownInt(inst, Attr::kAxis, 0);
  if (!axis || !InRange(*axis, rank, context_.kernel().AttrLocation(inst, Attr::kAxis))) {
    return std::nullopt;
  }
  return static_cast<size_t>(*axis);
}

std::optional<std::vector<size_t>> Attributes::Axes(const Inst& inst, Attr attr, size_t rank) {
  const Kernel& kernel = context_.kernel();
  const ExprId list = context_.Fold(kernel.AttrOf(inst, attr));
  if (list.none()) {
    context_.Error(diag::kAxesNeeded, kernel.LocationOf(inst), Row(inst.opcode).mnemonic,
                   Row(attr).text);
    return std::nullopt;
  }
  const Location location = kernel.AttrLocation(inst, attr);
  std::vector<size_t> axes;
  for (const ExprId item : context_.pool().children(list)) {
    const auto known = expressions_.KnownInt(item, location);
    if (!known || !InRange(*known, rank, location)) return std::nullopt;
    const auto axis = static_cast<size_t>(*known);
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) {
      context_.Error(diag::kAxesRepeated, location, axis);
      return std::nullopt;
    }
    axes.push_back(axis);
  }
  return axes;
}

}  // namespace tarsia
