#include "planner/emitter.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarsia {
namespace {

// The instruction of an operation that has one of its own.
std::string_view MnemonicOf(GraphOp op) { return Row(op).word; }

// How much longer an operation takes than an addition.
double PriceOf(GraphOp op) {
  switch (Row(op).family) {
    case GraphFamily::kElementwise:
      break;
    case GraphFamily::kSource:
    case GraphFamily::kShape:
    case GraphFamily::kContraction:
    case GraphFamily::kIndexed:
    case GraphFamily::kReduction:
    case GraphFamily::kAlgebra:
    case GraphFamily::kDerivative:
      return 1;
  }
  constexpr double kFunction = 8;
  constexpr double kQuotient = 4;
  const std::string_view word = Row(op).word;
  for (const std::string_view function : {"exp", "log", "tanh", "erf", "sin", "cos"}) {
    if (word == function) return kFunction;
  }
  for (const std::string_view quotient : {"div", "rem", "sqrt", "rsqrt"}) {
    if (word == quotient) return kQuotient;
  }
  return 1;
}

}  // namespace

Emitter::Emitter(const Meaning& meaning, const KernelRequest& request, int rank)
    : TileWriter(rank), meaning_(meaning), request_(request) {}

TileShape Emitter::ShapeOf(const AxisIndices& indices) const {
  auto shape = UnitShape();
  for (const auto& [axis, index] : indices) {
    if (index.dimension == AxisIndex::kNumber) continue;
    const Dimension& dimension = dimensions_[index.dimension];
    if (dimension.position < kMaxRank) shape[dimension.position] = dimension.tile;
  }
  return shape;
}

// ---- values -----------------------------------------------------------------------------------

AxisIndices Emitter::Restrict(uint32_t v, const AxisIndices& indices) const {
  AxisIndices out;
  for (const uint32_t axis : meaning_.value(v).axes) out[axis] = indices.at(axis);
  return out;
}

std::vector<int64_t> Emitter::KeyOf(uint32_t v, const AxisIndices& indices) const {
  std::vector<int64_t> key = {v};
  for (const auto& [axis, index] : indices) {
    key.push_back(axis);
    key.push_back(index.dimension);
    key.push_back(index.shift);
  }
  return key;
}

size_t Emitter::DepthOf(const AxisIndices& indices) const {
  size_t depth = 0;
  for (const auto& [axis, index] : indices) {
    if (index.dimension != AxisIndex::kNumber) {
      depth = std::max(depth, dimensions_[index.dimension].depth);
    }
  }
  return depth;
}

TileValue Emitter::Value(uint32_t v, const AxisIndices& indices) {
  const AxisIndices own = Restrict(v, indices);
  const std::vector<int64_t> key = KeyOf(v, own);
  const size_t depth = DepthOf(own);
  const auto found = scopes()[depth].known.find(key);
  if (found != scopes()[depth].known.end()) return found->second;
  // The loops within that one wait: what is written now comes before them.
  std::vector<Scope> waiting;
  while (scopes().size() > depth + 1) {
    waiting.push_back(std::move(scopes().back()));
    scopes().pop_back();
  }
  const TileValue out = Compute(v, own);
  scopes().back().known[key] = out;
  for (; !waiting.empty(); waiting.pop_back()) scopes().push_back(std::move(waiting.back()));
  return out;
}

TileValue Emitter::Compute(uint32_t v, const AxisIndices& indices) {
  if (const auto known = request_.known.find(v); known != request_.known.end()) {
    return Load(known->second, indices);
  }
  const size_t n = meaning_.NodeOf(v);
  if (meaning_.ReductionOf(n) != nullptr) {
    Reduce(n, indices);
    return scope().known.at(KeyOf(v, indices));
  }
  switch (Row(meaning_.node(n).op).family) {
    case GraphFamily::kSource:
      return Source(n, indices);
    case GraphFamily::kShape:
      return Reshaped(n, indices);
    case GraphFamily::kElementwise:
    case GraphFamily::kContraction:
    case GraphFamily::kIndexed:
    case GraphFamily::kReduction:
    case GraphFamily::kAlgebra:
    case GraphFamily::kDerivative:
      break;
  }
  return Elementwise(n, indices);
}

TileValue Emitter::Operand(size_t n, size_t i, const AxisIndices& indices) {
  const Graph& graph = meaning_.graph();
  const ExprId operand = graph.Operands(meaning_.node(n))[i];
  if (operand.is_value()) return Value(operand.value(), indices);
  return Literal(ToString(meaning_.concrete().pool(), operand), DType{});
}

TileValue Emitter::Elementwise(size_t n, const AxisIndices& indices) {
  const GraphNode& node = meaning_.node(n);
  const DType result = meaning_.value(node.first_result).dtype;
  std::vector<TileValue> operands;
  for (size_t i = 0; i < node.operands.count; ++i) operands.push_back(Operand(n, i, indices));
  if (node.op == GraphOp::kCast) {
    return operands[0].IsLiteral() ? Fill(operands[0].name, result, UnitShape())
                                   : Cast(operands[0], result);
  }
  if (node.op == GraphOp::kSelect) {
    if (operands[0].IsLiteral()) operands[0] = Fill(operands[0].name, kBoolType, UnitShape());
    if (operands[1].IsLiteral()) operands[1] = Fill(operands[1].name, result, UnitShape());
  }
  return Op(MnemonicOf(node.op), operands, result, PriceOf(node.op));
}

TileValue Emitter::IndexOf(const AxisIndex& index) {
  if (index.dimension == AxisIndex::kNumber) {
    return Fill(fmt::format("{}", index.shift), kI64, UnitShape());
  }
  const Dimension& dimension = dimensions_[index.dimension];
  const TileValue out = Iota(dimension.position, dimension.tile, kI64);
  return Op("add", {out, Literal(fmt::format("{} + {}", dimension.base, index.shift), kI64)}, kI64);
}

TileValue Emitter::Source(size_t n, const AxisIndices& indices) {
  return IndexOf(indices.at(meaning_.value(meaning_.node(n).first_result).axes[0]));
}

TileValue Emitter::Reshaped(size_t n, const AxisIndices& indices) {
  const GraphNode& node = meaning_.node(n);
  const auto axes = meaning_.graph().Axes(node.axes);
  const auto axis = [&](size_t i) { return meaning_.concrete().AxisOf(axes[i]); };
  if (node.op == GraphOp::kConcat) return Concatenated(n, indices);
  AxisIndices inner = indices;
  if (node.op == GraphOp::kRename) {
    for (size_t i = 0; i + 1 < axes.size(); i += 2) inner[axis(i)] = indices.at(axis(i + 1));
  } else if (node.op == GraphOp::kSlice) {
    const ExprId start = meaning_.graph().Operands(node)[1];
    inner[axis(0)] = indices.at(axis(1));
    inner[axis(0)].shift += meaning_.concrete().pool().AsInt(start).value_or(0);
  }
  return Operand(n, 0, inner);
}

TileValue Emitter::Concatenated(size_t n, const AxisIndices& indices) {
  const auto axes = meaning_.graph().Axes(meaning_.node(n).axes);
  const uint32_t first = meaning_.concrete().AxisOf(axes[0]);
  const uint32_t second = meaning_.concrete().AxisOf(axes[1]);
  const AxisIndex joined = indices.at(meaning_.concrete().AxisOf(axes[2]));
  const int64_t middle = meaning_.axis(first).extent;
  AxisIndices left = indices;
  AxisIndices right = indices;
  left[first] = joined;
  right[second] = joined;
  right[second].shift -= middle;
  if (joined.dimension == AxisIndex::kNumber) {
    return joined.shift < middle ? Operand(n, 0, left) : Operand(n, 1, right);
  }
  const TileValue a = Operand(n, 0, left);
  const TileValue b = Operand(n, 1, right);
  const TileValue at = IndexOf(joined);
  const TileValue before = Op("lt", {at, Literal(fmt::format("{}", middle), kI64)}, kBoolType);
  return Op("select", {before, a, b}, a.dtype);
}

}  // namespace tarsia
