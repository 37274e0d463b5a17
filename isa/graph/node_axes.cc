#include "isa/graph/node_axes.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarsia {
namespace {

bool Has(std::span<const uint32_t> axes, uint32_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

void Remove(AxisList& axes, uint32_t axis) { std::erase(axes, axis); }

// Appends those that the list lacks.
void Merge(AxisList& list, std::span<const uint32_t> more) {
  for (const uint32_t axis : more) {
    if (!Has(list, axis)) list.push_back(axis);
  }
}

bool SameSet(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  return a.size() == b.size() &&
         std::all_of(a.begin(), a.end(), [&](uint32_t axis) { return Has(b, axis); });
}

}  // namespace

std::optional<AxisList> NodeAxes::Of(const GraphNode& node) {
  node_ = &node;
  switch (Row(node.op).axes) {
    case AxesForm::kNoAxes:
      if (IsDerivative(node.op)) return AxisList(AxesOf(1).begin(), AxesOf(1).end());
      return Union();
    case AxesForm::kType:
      return Union();
    case AxesForm::kNewAxis:
    case AxesForm::kNewAxes:
      return New();
    case AxesForm::kAxes:
      return Reduced(false);
    case AxesForm::kOneAxis:
      return node.op == GraphOp::kGather ? Gathered() : Reduced(false);
    case AxesForm::kOneAxisAndLast:
      return Reduced(true);
    case AxesForm::kRenames:
      return Renamed();
    case AxesForm::kMap:
      return Mapped();
    case AxesForm::kJoin:
      return Joined();
    case AxesForm::kRowsColumns:
      return RowsColumns();
  }
  return std::nullopt;
}

// ---- forms -----------------------------------------------------------------------------------

std::optional<AxisList> NodeAxes::New() {
  AxisList out = Union();
  bool ok = true;
  for (size_t i = 0; i < node_->axes.count; ++i) {
    const auto axis = context_.Resolve(Written(i));
    ok = axis && Append(out, *axis, Written(i).location) && ok;
  }
  return ok ? std::optional(out) : std::nullopt;
}

// Every operand that is a value has the axes; `new_last`: all but the last one, which is new.
std::optional<AxisList> NodeAxes::Reduced(bool new_last) {
  const size_t reduced = node_->axes.count - (new_last ? 1 : 0);
  AxisList out = Union();
  AxisList gone;
  bool ok = true;
  for (size_t i = 0; i < reduced; ++i) {
    std::optional<uint32_t> axis;
    for (size_t operand = 0; operand < node_->operands.count; ++operand) {
      axis = Needed(i, operand);
      if (!axis) break;
    }
    if (axis && Has(gone, *axis)) {
      ReportTwice(*axis, Written(i).location, fmt::format("the axes of `{}`", Word()),
                  "name it once");
      axis.reset();
    }
    ok = axis && ok;
    if (axis) gone.push_back(*axis);
  }
  if (!ok) return std::nullopt;
  for (const uint32_t axis : gone) Remove(out, axis);
  if (!new_last) return out;
  const AxisExpr& last = Written(reduced);
  const auto axis = context_.Resolve(last);
  if (!axis || !Append(out, *axis, last.location)) return std::nullopt;
  const auto most = context_.Extent(gone[0]);
  const auto count = context_.Extent(*axis);
  if (!most || !count || *count <= *most) return out;
  context_.Error(diag::kGraphExtent, last.location,
                 fmt::format("`topk` takes the {} largest of axis `{}`, which has {} elements",
                             *count, context_.AxisName(gone[0]), *most));
  return std::nullopt;
}

// The axes of the indices that the source lacks replace the axis.
std::optional<AxisList> NodeAxes::Gathered() {
  const auto axis = Needed(0, 0);
  if (!axis) return std::nullopt;
  const auto indices = AxesOf(1);
  if (Has(indices, *axis)) {
    ReportTwice(*axis, Written(0).location, "the source and the indices, which replace it");
    return std::nullopt;
  }
  AxisList out;
  for (const uint32_t source : AxesOf(0)) {
    if (source != *axis) {
      out.push_back(source);
      continue;
    }
    for (const uint32_t index : indices) {
      if (!Has(AxesOf(0), index)) out.push_back(index);
    }
  }
  return out;
}

std::optional<AxisList> NodeAxes::Renamed() {
  const AxisList before = Union();
  AxisList out = before;
  AxisList from;
  bool ok = true;
  for (size_t i = 0; i < node_->axes.count; i += 2) {
    const auto old_axis = Needed(i, 0);
    if (old_axis && Has(from, *old_axis)) {
      ok = ReportTwice(*old_axis, Written(i).location, "the axes that are renamed");
      continue;
    }
    const auto new_axis =
        old_axis ? context_.Resolve(Written(i + 1), context_.axis(*old_axis).extent) : old_axis;
    ok = new_axis && CheckEqual(*old_axis, *new_axis) && ok;
    if (!ok) continue;
    from.push_back(*old_axis);
    *(out.begin() + (std::find(before.begin(), before.end(), *old_axis) - before.begin())) =
        *new_axis;
  }
  if (!ok) return std::nullopt;
  for (size_t i = 0; i < out.size(); ++i) {
    if (std::find(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(i), out[i]) !=
        out.begin() + static_cast<std::ptrdiff_t>(i)) {
      ReportTwice(out[i], Written(1).location, "the result");
      return std::nullopt;
    }
  }
  return out;
}

std::optional<AxisList> NodeAxes::Mapped() {
  const auto from = Needed(0, 0);
  if (node_->op == GraphOp::kSegmentSum && from && !Needed(0, 1)) return std::nullopt;
  const auto to = context_.Resolve(Written(1));
  if (!from || !to) return std::nullopt;
  AxisList out(AxesOf(0).begin(), AxesOf(0).end());
  if (!Replace(out, *from, *to, Written(1).location)) return std::nullopt;
  if (node_->op == GraphOp::kSegmentSum) {
    const auto segments = AxesOf(1);
    if (Has(segments, *to)) {
      ReportTwice(*to, Written(1).location, "the segments and the result");
      return std::nullopt;
    }
    for (const uint32_t axis : segments) {
      if (axis != *from && !Has(out, axis)) out.push_back(axis);
    }
  }
  const bool fits = node_->op == GraphOp::kSlice    ? CheckSlice(*from, *to)
                    : node_->op == GraphOp::kExpand ? CheckExpand(*from, *to)
                                                    : true;
  return fits ? std::optional(out) : std::nullopt;
}

std::optional<AxisList> NodeAxes::Joined() {
  const auto a = Needed(0, 0);
  const auto b = Needed(1, 1);
  if (!a || !b) return std::nullopt;
  const auto joined = context_.Resolve(Written(2), SumOfExtents(*a, *b));
  if (!joined) return std::nullopt;
  AxisList out(AxesOf(0).begin(), AxesOf(0).end());
  AxisList other(AxesOf(1).begin(), AxesOf(1).end());
  if (!Replace(out, *a, *joined, Written(2).location) ||
      !Replace(other, *b, *joined, Written(2).location)) {
    return std::nullopt;
  }
  if (SameSet(out, other)) return out;
  context_.Error(diag::kGraphConcatAxes, context_.graph().OperandLocation(*node_, 1),
                 context_.AxisName(*a), context_.AxisName(*b), context_.Text(AxesOf(0)),
                 context_.Text(AxesOf(1)));
  return std::nullopt;
}

std::optional<AxisList> NodeAxes::RowsColumns() {
  const auto rows = Needed(0, 0);
  const auto columns = Needed(1, 0);
  if (!rows || !columns || !CheckEqual(*rows, *columns)) return std::nullopt;
  if (*rows == *columns) {
    ReportTwice(*rows, Written(1).location, fmt::format("the axes of `{}`", Word()),
                "rows and columns are two axes");
    return std::nullopt;
  }
  if (node_->op == GraphOp::kCholesky) return AxisList(AxesOf(0).begin(), AxesOf(0).end());
  if (!Needed(0, 1)) return std::nullopt;
  AxisList out(AxesOf(1).begin(), AxesOf(1).end());
  if (!Replace(out, *rows, *columns, Written(1).location)) return std::nullopt;
  AxisList matrix(AxesOf(0).begin(), AxesOf(0).end());
  Remove(matrix, *rows);
  Merge(out, matrix);
  return out;
}

// ---- parts -----------------------------------------------------------------------------------

std::span<const uint32_t> NodeAxes::AxesOf(size_t operand) const {
  const ExprId id = context_.graph().Operands(*node_)[operand];
  if (!id.is_value()) return {};
  return context_.type(id.value()).axes;
}

AxisList NodeAxes::Union() const {
  AxisList out;
  for (size_t i = 0; i < node_->operands.count; ++i) Merge(out, AxesOf(i));
  return out;
}

std::optional<uint32_t> NodeAxes::Needed(size_t written, size_t operand) {
  const AxisExpr& axis = Written(written);
  const auto found = context_.FindAxis(axis.name);
  if (found && Has(AxesOf(operand), *found)) {
    return axis.extent.none() ? found : context_.Resolve(axis);
  }
  const std::string_view name = context_.pool().strings()[axis.name];
  const GraphRow& row = Row(node_->op);
  const std::string what = row.operands.size() == 1
                               ? "its operand"
                               : fmt::format("operand `{}`", row.operands[operand].name);
  Diagnostic& error = context_.Error(diag::kGraphAxisMissing, axis.location, row.word, name, what,
                                     context_.Text(AxesOf(operand)));
  error.help = DidYouMean(name, context_.NamesOf(AxesOf(operand)));
  return std::nullopt;
}

bool NodeAxes::ReportTwice(uint32_t axis, Location location, std::string_view what,
                           std::string_view help) {
  Diagnostic& error =
      context_.Error(diag::kGraphAxisTwice, location, context_.AxisName(axis), what);
  if (!help.empty()) error.help = help;
  return false;
}

bool NodeAxes::Append(AxisList& list, uint32_t axis, Location location) {
  if (Has(list, axis)) return ReportTwice(axis, location, "the result");
  list.push_back(axis);
  return true;
}

bool NodeAxes::Replace(AxisList& list, uint32_t from, uint32_t to, Location location) {
  if (from != to && Has(list, to)) return ReportTwice(to, location, "the result");
  std::replace(list.begin(), list.end(), from, to);
  return true;
}

bool NodeAxes::CheckSlice(uint32_t from, uint32_t to) {
  const ExprId start = context_.graph().Operands(*node_)[1];
  const Location location = context_.graph().OperandLocation(*node_, 1);
  const auto first = context_.KnownInt(start, location);
  const auto whole = context_.Extent(from);
  const auto count = context_.Extent(to);
  if (!first || !whole || !count) return !context_.closed();
  if (*first >= 0 && *first <= *whole && *count <= *whole - *first) return true;
  context_.Error(diag::kGraphExtent, location,
                 fmt::format("`slice` takes {} elements from {} on, and axis `{}` has {}", *count,
                             *first, context_.AxisName(from), *whole));
  return false;
}

bool NodeAxes::CheckExpand(uint32_t from, uint32_t to) {
  const auto groups = context_.Extent(from);
  const auto whole = context_.Extent(to);
  if (!groups || !whole) return !context_.closed();
  if (*groups == 0 ? *whole == 0 : *whole % *groups == 0) return true;
  context_.Error(diag::kGraphExtent, Written(1).location,
                 fmt::format("the {} elements of axis `{}` are not {} groups of one size", *whole,
                             context_.AxisName(to), *groups));
  return false;
}

bool NodeAxes::CheckEqual(uint32_t a, uint32_t b) {
  const auto first = context_.Extent(a);
  const auto second = context_.Extent(b);
  if (!first || !second || *first == *second) return true;
  context_.Error(diag::kGraphExtent, Written(1).location,
                 fmt::format("`{}` needs axes of one extent, but `{}` has {} and `{}` has {}",
                             Word(), context_.AxisName(a), *first, context_.AxisName(b), *second));
  return false;
}

ExprId NodeAxes::SumOfExtents(uint32_t a, uint32_t b) {
  return context_.Fold(
      context_.pool().Binary(BinaryOp::kAdd, context_.axis(a).extent, context_.axis(b).extent));
}

}  // namespace tarsia
