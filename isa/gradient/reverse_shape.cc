// The derivatives of operations that move elements.
#include <algorithm>

#include "isa/gradient/reverse.h"

namespace tarsia::gradient {
namespace {

// Of the axes of v, but for one in whose place another one is.
ValueId ZerosLike(Draft& draft, ValueId v, uint32_t without, uint32_t axis) {
  Axes axes = draft.value(v).axes;
  std::replace(axes.begin(), axes.end(), without, axis);
  return draft.Broadcast(draft.Number(0, draft.value(v).dtype), axes);
}

// The elements of `v` along `axis`, from `start` on along `whole`, and 0 beside them.
ValueId PadAlong(Draft& draft, ValueId v, uint32_t axis, uint32_t whole, int64_t start) {
  const std::string name(draft.module().pool.strings()[draft.axes()[whole].name]);
  const int64_t behind = draft.Extent(whole) - start - draft.Extent(axis);
  if (start > 0) {
    const uint32_t before = draft.AddAxis(name + "_before", start);
    const uint32_t joined =
        behind == 0 ? whole : draft.AddAxis(name + "_part", start + draft.Extent(axis));
    v = draft.Concat(ZerosLike(draft, v, axis, before), v, before, axis, joined);
    axis = joined;
  }
  if (behind > 0) {
    const uint32_t after = draft.AddAxis(name + "_behind", behind);
    v = draft.Concat(v, ZerosLike(draft, v, axis, after), axis, after, whole);
    axis = whole;
  }
  return draft.Rename(v, {&axis, 1}, {&whole, 1});
}

}  // namespace

void Reverse::Rename(const Node& node, const Product& d) {
  Axes from;
  Axes to;
  for (size_t i = 0; i < node.axes.size(); i += 2) {
    from.push_back(node.axes[i + 1]);
    to.push_back(node.axes[i]);
  }
  Product out{d.scale, {}, {}};
  for (const ValueId v : d.over) out.over.push_back(draft_.Rename(v, from, to));
  for (const ValueId v : d.under) out.under.push_back(draft_.Rename(v, from, to));
  GiveSum(node, 0, out, {});
}

void Reverse::Slice(const Node& node, const Product& d) {
  const Axes part = {node.axes[1]};
  const Parts parts = Split(node, d, part);
  const ValueId v = draft_.Broadcast(parts.inside, part);
  const auto start = draft_.NumberOf(node.operands[1]).value_or(0);
  const ValueId whole =
      PadAlong(draft_, v, node.axes[1], node.axes[0], static_cast<int64_t>(start));
  GiveSum(node, 0, parts.outside.Times(whole), {});
}

void Reverse::Concat(const Node& node, const Product& d) {
  int64_t start = 0;
  for (size_t i = 0; i < 2; ++i) {
    Product out{d.scale, {}, {}};
    const auto part = [&](ValueId v) {
      return draft_.Has(v, node.axes[2]) ? draft_.Slice(v, node.axes[2], node.axes[i], start) : v;
    };
    if (Wants(node, i)) {
      for (const ValueId v : d.over) out.over.push_back(part(v));
      for (const ValueId v : d.under) out.under.push_back(part(v));
      GiveSum(node, i, out, {});
    }
    start += draft_.Extent(node.axes[i]);
  }
}

// The sum of each group.
void Reverse::Expand(const Node& node, const Product& d) {
  const uint32_t groups = node.axes[0];
  const uint32_t all = node.axes[1];
  if (draft_.Extent(groups) == 0) return;
  const int64_t each = draft_.Extent(all) / draft_.Extent(groups);
  const Parts parts = Split(node, d, {all});
  if (!draft_.Has(parts.inside, all)) {
    return GiveSum(node, 0, d.Scaled(static_cast<double>(each)), {});
  }
  const std::string name(draft_.module().pool.strings()[draft_.axes()[all].name]);
  const uint32_t member = draft_.AddAxis(name + "_member", each);
  const ValueId first = draft_.Elementwise(
      GraphOp::kMul, {ExprId::Value(draft_.Iota(groups)), draft_.module().pool.Int(each)});
  const ValueId at =
      draft_.Elementwise(GraphOp::kAdd, {ExprId::Value(first), ExprId::Value(draft_.Iota(member))});
  const ValueId elements = draft_.Gather(parts.inside, at, all);
  GiveSum(node, 0, parts.outside.Times(elements), {member});
}

// Each element is added where it was taken from.
void Reverse::Gather(const Node& node, const Product& d) {
  const ValueId source = node.operands[0].value();
  const ValueId indices = node.operands[1].value();
  Axes taken;  // axes of the indices alone
  for (const uint32_t axis : draft_.value(indices).axes) {
    if (!draft_.Has(source, axis)) taken.push_back(axis);
  }
  const Parts parts = Split(node, d, draft_.value(indices).axes);
  if (taken.empty()) {
    const ExprId here = ExprId::Value(draft_.Iota(node.axes[0]));
    const ExprId at = ExprId::Value(draft_.Cast(indices, kI64));
    const ExprId same = ExprId::Value(draft_.Elementwise(GraphOp::kEq, {here, at}));
    const ValueId chosen = draft_.Elementwise(
        GraphOp::kSelect, {same, ExprId::Value(parts.inside), draft_.Constant(0)});
    return GiveSum(node, 0, parts.outside.Times(chosen), {});
  }
  const ValueId v = draft_.Broadcast(parts.inside, {taken[0]});
  const ValueId sums = draft_.SegmentSum(v, indices, taken[0], node.axes[0], options_.sums);
  taken.erase(taken.begin());
  GiveSum(node, 0, parts.outside.Times(sums), taken);
}

// Each element has the derivative of its segment.
void Reverse::SegmentSum(const Node& node, const Product& d) {
  const uint32_t to = node.axes[1];
  const ValueId segments = node.operands[1].value();
  const Parts parts = Split(node, d, {to});
  const ValueId v = draft_.Broadcast(parts.inside, {to});
  Axes gone = draft_.value(segments).axes;
  std::erase_if(gone, [&](uint32_t axis) { return draft_.Has(node.operands[0].value(), axis); });
  GiveSum(node, 0, parts.outside.Times(draft_.Gather(v, segments, to)), gone);
}

}  // namespace tarsia::gradient
