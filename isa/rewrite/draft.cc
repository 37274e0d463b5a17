#include "isa/rewrite/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "dtypes/dtype.h"

namespace tarsia::rewrite {

Draft::Draft(const ConcreteGraph& graph) : module_(graph.module().Clone()) {
  for (const ConcreteAxis& axis : graph.axes()) {
    axes_.push_back({module_.pool.strings().Intern(axis.name), axis.extent});
  }
  for (ValueId v = 0; v < graph.graph().inputs.size(); ++v) {
    DraftValue& input = values_.emplace_back();
    input.dtype = graph.value(v).dtype;
    input.axes = graph.value(v).axes;
    input.name = graph.graph().value_name_ids[v];
  }
}

// ---- what there is ---------------------------------------------------------------------------

const DraftNode* Draft::NodeOf(ValueId v) const {
  const size_t node = values_[v].node;
  return node == DraftValue::kInput ? nullptr : &nodes_[node];
}

bool Draft::Has(ValueId v, uint32_t axis) const {
  const Axes& axes = values_[v].axes;
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

double Draft::Elements(std::span<const uint32_t> axes) const {
  double out = 1;
  for (const uint32_t axis : axes) out *= static_cast<double>(axes_[axis].extent);
  return out;
}

std::optional<double> Draft::NumberOf(ExprId constant) const {
  if (const auto number = module_.pool.AsInt(constant)) return static_cast<double>(*number);
  return module_.pool.AsFloat(constant);
}

Axes Draft::Union(const std::vector<ExprId>& operands) const {
  Axes out;
  for (const ExprId operand : operands) {
    if (!operand.is_value()) continue;
    for (const uint32_t axis : values_[operand.value()].axes) {
      if (std::find(out.begin(), out.end(), axis) == out.end()) out.push_back(axis);
    }
  }
  return out;
}

Axes Draft::AxesOfOperands(const DraftNode& node) const { return Union(node.operands); }

// ---- nodes -----------------------------------------------------------------------------------

Draft::Key Draft::KeyOf(const DraftNode& node) {
  const bool typed = Row(node.op).axes == AxesForm::kType;
  return {node.op, node.option, node.operands, node.axes, typed ? DTypeCode(node.dtype) + 1U : 0U};
}

ValueId Draft::AddWritten(DraftNode node, std::span<const DraftValue> results) {
  node.written = true;
  const Key key = KeyOf(node);
  const ValueId first = Append(std::move(node), results);
  made_.try_emplace(key, first);
  return first;
}

ValueId Draft::Append(DraftNode node, std::span<const DraftValue> results) {
  node.first_result = static_cast<ValueId>(values_.size());
  for (const DraftValue& result : results) {
    values_.push_back(result);
    values_.back().node = nodes_.size();
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().first_result;
}

ValueId Draft::Make(DraftNode node, const Axes& axes, DType dtype) {
  Key key = KeyOf(node);
  if (const auto found = made_.find(key); found != made_.end()) return found->second;
  node.location = location_;
  std::vector<DraftValue> results(Row(node.op).results());
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].dtype = i == 0 ? dtype : kI64;
    results[i].axes = axes;
  }
  const ValueId first = Append(std::move(node), results);
  made_.emplace(std::move(key), first);
  return first;
}

uint32_t Draft::AddAxis(std::string_view like, int64_t extent) {
  StringPool& names = module_.pool.strings();
  std::string name(like);
  const auto taken = [&] {
    const auto id = names.Find(name);
    return id && std::any_of(axes_.begin(), axes_.end(),
                             [&](const DraftAxis& axis) { return axis.name == *id; });
  };
  for (int number = 2; taken(); ++number) name = fmt::format("{}_{}", like, number);
  axes_.push_back({names.Intern(name), extent});
  return static_cast<uint32_t>(axes_.size() - 1);
}

// ---- elementwise -----------------------------------------------------------------------------

ExprId Draft::Constant(double number) {
  constexpr double kMostWhole = 1 << 24;
  const bool whole = std::abs(number) < kMostWhole && std::floor(number) == number;
  return whole ? module_.pool.Int(static_cast<int64_t>(number)) : module_.pool.Float(number);
}

ValueId Draft::Number(double number, DType dtype) {
  DraftNode node;
  node.op = GraphOp::kCast;
  node.operands = {Constant(number)};
  node.dtype = dtype;
  return Make(std::move(node), {}, dtype);
}

ValueId Draft::Elementwise(GraphOp op, std::vector<ExprId> operands) {
  DraftNode node;
  node.op = op;
  DType dtype;
  for (size_t i = op == GraphOp::kSelect ? 1 : 0; i < operands.size(); ++i) {
    if (operands[i].is_value()) dtype = values_[operands[i].value()].dtype;
  }
  const GraphResult result = Row(op).result;
  if (result == GraphResult::kBoolResult) dtype = kBoolType;
  if (result == GraphResult::kRealResult && dtype.IsComplex()) dtype = ComponentOf(dtype);
  if (result == GraphResult::kComplexResult) dtype = ComplexOf(dtype);
  const Axes axes = Union(operands);
  node.operands = std::move(operands);
  return Make(std::move(node), axes, dtype);
}

ValueId Draft::Cast(ValueId v, DType dtype) {
  if (values_[v].dtype == dtype) return v;
  DraftNode node;
  node.op = GraphOp::kCast;
  node.operands = {ExprId::Value(v)};
  node.dtype = dtype;
  return Make(std::move(node), values_[v].axes, dtype);
}

ValueId Draft::Copy(ValueId v) {
  DraftNode node;
  node.op = GraphOp::kCast;
  node.operands = {ExprId::Value(v)};
  node.dtype = values_[v].dtype;
  node.location = location_;
  DraftValue result = values_[v];
  result.name = Graph::kNoName;
  return Append(std::move(node), {&result, 1});
}

// ---- axes ------------------------------------------------------------------------------------

ValueId Draft::Broadcast(ValueId v, Axes axes) {
  std::erase_if(axes, [&](uint32_t axis) { return Has(v, axis); });
  if (axes.empty()) return v;
  Axes all = values_[v].axes;
  all.insert(all.end(), axes.begin(), axes.end());
  DraftNode node;
  node.op = GraphOp::kBroadcast;
  node.operands = {ExprId::Value(v)};
  node.axes = std::move(axes);
  return Make(std::move(node), all, values_[v].dtype);
}

// Of a renamed value, it renames the value behind it.
ValueId Draft::Rename(ValueId v, std::span<const uint32_t> from, std::span<const uint32_t> to) {
  const DraftNode* const before = NodeOf(v);
  const bool again = before != nullptr && before->op == GraphOp::kRename;
  const ValueId source = again ? before->operands[0].value() : v;
  DraftNode node;
  node.op = GraphOp::kRename;
  Axes all = values_[source].axes;
  for (uint32_t& axis : all) {
    uint32_t now = axis;
    for (size_t i = 0; again && i < before->axes.size(); i += 2) {
      if (before->axes[i] == axis) now = before->axes[i + 1];
    }
    const auto at = std::find(from.begin(), from.end(), now);
    if (at != from.end()) now = to[static_cast<size_t>(at - from.begin())];
    if (now != axis) node.axes.insert(node.axes.end(), {axis, now});
    axis = now;
  }
  if (node.axes.empty()) return source;
  node.operands = {ExprId::Value(source)};
  return Make(std::move(node), all, values_[source].dtype);
}

ValueId Draft::Slice(ValueId v, uint32_t from, uint32_t to, int64_t start) {
  if (const DraftNode* const joined = NodeOf(v);
      joined != nullptr && joined->op == GraphOp::kConcat && joined->axes[2] == from) {
    const size_t part = start == 0 ? 0 : 1;
    const bool whole = start == (part == 0 ? 0 : Extent(joined->axes[0])) &&
                       Extent(to) == Extent(joined->axes[part]);
    if (whole) {
      const uint32_t was = joined->axes[part];
      return Rename(joined->operands[part].value(), {&was, 1}, {&to, 1});
    }
  }
  DraftNode node;
  node.op = GraphOp::kSlice;
  node.operands = {ExprId::Value(v), module_.pool.Int(start)};
  node.axes = {from, to};
  Axes all = values_[v].axes;
  std::replace(all.begin(), all.end(), from, to);
  return Make(std::move(node), all, values_[v].dtype);
}

ValueId Draft::Concat(ValueId a, ValueId b, uint32_t from_a, uint32_t from_b, uint32_t to) {
  DraftNode node;
  node.op = GraphOp::kConcat;
  node.operands = {ExprId::Value(a), ExprId::Value(b)};
  node.axes = {from_a, from_b, to};
  Axes all = values_[a].axes;
  std::replace(all.begin(), all.end(), from_a, to);
  return Make(std::move(node), all, values_[a].dtype);
}

ValueId Draft::Iota(uint32_t axis) {
  DraftNode node;
  node.op = GraphOp::kIota;
  node.axes = {axis};
  return Make(std::move(node), {axis}, kI64);
}

// ---- by an index, and reductions -------------------------------------------------------------

ValueId Draft::Gather(ValueId source, ValueId indices, uint32_t axis) {
  DraftNode node;
  node.op = GraphOp::kGather;
  node.operands = {ExprId::Value(source), ExprId::Value(indices)};
  node.axes = {axis};
  Axes all = Union(node.operands);
  std::erase(all, axis);
  return Make(std::move(node), all, values_[source].dtype);
}

ValueId Draft::SegmentSum(ValueId v, ValueId segments, uint32_t from, uint32_t to,
                          GraphOption option) {
  DraftNode node;
  node.op = GraphOp::kSegmentSum;
  node.option = option;
  node.operands = {ExprId::Value(v), ExprId::Value(segments)};
  node.axes = {from, to};
  Axes all = Union(node.operands);
  std::replace(all.begin(), all.end(), from, to);
  return Make(std::move(node), all, values_[v].dtype);
}

ValueId Draft::Solve(ValueId a, ValueId b, uint32_t rows, uint32_t columns, bool upper) {
  DraftNode node;
  node.op = GraphOp::kTriangularSolve;
  node.option = upper ? GraphOption::kUpper : GraphOption::kNone;
  node.operands = {ExprId::Value(a), ExprId::Value(b)};
  node.axes = {rows, columns};
  Axes all = AxesOfOperands(node);
  std::erase(all, rows);
  return Make(std::move(node), all, values_[b].dtype);
}

ValueId Draft::Reduce(GraphOp op, std::vector<ExprId> operands, Axes axes, GraphOption option) {
  DraftNode node;
  node.op = op;
  node.option = option;
  const DType type = values_[operands[0].value()].dtype;
  Axes all = Union(operands);
  std::erase_if(
      all, [&](uint32_t axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); });
  node.operands = std::move(operands);
  node.axes = std::move(axes);
  const bool product = Row(op).result == GraphResult::kAccumulatorResult;
  return Make(std::move(node), all, product ? AccumulatorOf(type) : type);
}

}  // namespace tarsia::rewrite
