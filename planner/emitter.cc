#include "planner/emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "planner/emit_functions.h"

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

// `real`, `imag` and `complex`, which say the type of their result.
TileValue OfParts(TileWriter& writer, GraphOp op, const std::vector<TileValue>& operands,
                  DType result) {
  TileShape shape = TileWriter::UnitShape();
  for (const TileValue& operand : operands) {
    for (int i = 0; i < kMaxRank; ++i) shape[i] = std::max(shape[i], operand.shape[i]);
  }
  std::vector<std::string> names;
  for (const TileValue& operand : operands) names.push_back(writer.Broadcast(operand, shape).name);
  return writer.Make(
      fmt::format("{} {} : {}", Row(op).word, fmt::join(names, ", "), DTypeName(result)), result,
      shape);
}

}  // namespace

Emitter::Emitter(const Meaning& meaning, const KernelRequest& request, Machine machine, int rank)
    : TileWriter(rank), meaning_(meaning), request_(request), machine_(machine) {}

TileShape Emitter::ShapeOf(const AxisIndices& indices) const {
  auto shape = UnitShape();
  for (const auto& [axis, index] : indices) {
    if (index.dimension == AxisIndex::kTile) {
      const TileShape& tile = index_tiles_[index.tile].value.shape;
      for (int i = 0; i < kMaxRank; ++i) shape[i] = std::max(shape[i], tile[i]);
    }
    if (!index.HasDimension()) continue;
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
    key.push_back(static_cast<int64_t>(index.tile));
  }
  return key;
}

size_t Emitter::DepthOf(const AxisIndices& indices) const {
  size_t depth = 0;
  for (const auto& [axis, index] : indices) {
    if (index.HasDimension()) {
      depth = std::max(depth, dimensions_[index.dimension].depth);
    } else if (index.dimension == AxisIndex::kTile) {
      depth = std::max(depth, index_tiles_[index.tile].depth);
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
  TileValue out;
  AtDepth(depth, [&] { scope().known[key] = out = Compute(v, own); });
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
    case GraphFamily::kIndexed:
      return Gathered(n, indices);
    case GraphFamily::kElementwise:
    case GraphFamily::kContraction:
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
    if (operands[0].IsLiteral()) return Fill(operands[0].name, result, UnitShape());
    if (!operands[0].dtype.IsFloat() || !result.IsInteger()) return Cast(operands[0], result);
    // The instruction rounds floats toward zero.
    const TileValue from = IsArithmetic(operands[0].dtype) ? operands[0] : Cast(operands[0], kF32);
    return Cast(Op("round", {from}, from.dtype), result);
  }
  if (result.IsComplex() || node.op == GraphOp::kReal || node.op == GraphOp::kImag) {
    return OfParts(writer(), node.op, operands, result);
  }
  if (node.op == GraphOp::kSelect) {
    if (operands[0].IsLiteral()) operands[0] = Fill(operands[0].name, kBoolType, UnitShape());
    if (operands[1].IsLiteral()) operands[1] = Fill(operands[1].name, result, UnitShape());
  }
  if (node.op == GraphOp::kPow) return Power(writer(), operands, result);
  return Op(MnemonicOf(node.op), operands, result, PriceOf(node.op));
}

TileValue Emitter::IndexOf(const AxisIndex& index) {
  if (index.dimension == AxisIndex::kNumber) {
    return Fill(fmt::format("{}", index.shift), kI64, UnitShape());
  }
  if (index.dimension == AxisIndex::kTile) {
    const TileValue& tile = index_tiles_[index.tile].value;
    if (index.shift == 0) return tile;
    return Op("add", {tile, Literal(fmt::format("{}", index.shift), kI64)}, kI64);
  }
  const Dimension& dimension = dimensions_[index.dimension];
  const TileValue out = Iota(dimension.position, dimension.tile, kI64);
  return Op("add", {out, Literal(fmt::format("{} + {}", dimension.base, index.shift), kI64)}, kI64);
}

TileValue Emitter::Source(size_t n, const AxisIndices& indices) {
  if (meaning_.node(n).op != GraphOp::kIota) return Random(n, indices);
  return IndexOf(indices.at(meaning_.value(meaning_.node(n).first_result).axes[0]));
}

TileValue Emitter::Reshaped(size_t n, const AxisIndices& indices) {
  const GraphNode& node = meaning_.node(n);
  const auto axes = meaning_.graph().Axes(node.axes);
  const auto axis = [&](size_t i) { return meaning_.concrete().AxisOf(axes[i]); };
  if (node.op == GraphOp::kConcat) return Concatenated(n, indices);
  if (node.op == GraphOp::kExpand) return Expanded(n, indices);
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

// An index that is made once in the block of lines. `key`: negative first, unlike those of values.
AxisIndex Emitter::AddIndexTile(const std::vector<int64_t>& key,
                                const std::function<TileValue()>& make) {
  const auto [found, added] = scope().known.try_emplace(key);
  if (added) {
    const TileValue tile = make();
    scope().known[key] = {fmt::format("{}", index_tiles_.size()), kI64, {}};
    index_tiles_.push_back({tile, scopes().size() - 1});
  }
  AxisIndex out;
  out.dimension = AxisIndex::kTile;
  out.tile = std::stoul(scope().known.at(key).name);
  return out;
}

TileValue Emitter::Gathered(size_t n, const AxisIndices& indices) {
  const GraphNode& node = meaning_.node(n);
  const uint32_t axis = meaning_.concrete().AxisOf(meaning_.graph().Axes(node.axes)[0]);
  const uint32_t source = meaning_.ReadsOf(n)[0];
  const uint32_t at = meaning_.ReadsOf(n)[1];
  std::vector<int64_t> key = KeyOf(at, Restrict(at, indices));
  key[0] = -1 - key[0];
  AxisIndices inner = indices;
  inner[axis] = AddIndexTile(key, [&] { return Cast(Value(at, indices), kI64); });
  const TileValue out = Value(source, inner);
  if (request_.known.count(source) != 0) return out;  // a load that is zero outside
  const TileValue index = IndexOf(inner.at(axis));
  const std::string end = fmt::format("{}", meaning_.axis(axis).extent);
  const TileValue inside = Op("and",
                              {Op("ge", {index, Literal("0", kI64)}, kBoolType),
                               Op("lt", {index, Literal(end, kI64)}, kBoolType)},
                              kBoolType);
  return Op("select", {inside, out, Literal(out.dtype == kBoolType ? "false" : "0", out.dtype)},
            out.dtype);
}

TileValue Emitter::Expanded(size_t n, const AxisIndices& indices) {
  const auto axes = meaning_.graph().Axes(meaning_.node(n).axes);
  const uint32_t few = meaning_.concrete().AxisOf(axes[0]);
  const uint32_t many = meaning_.concrete().AxisOf(axes[1]);
  const int64_t each = meaning_.axis(many).extent / std::max<int64_t>(meaning_.axis(few).extent, 1);
  const AxisIndex index = indices.at(many);
  AxisIndices inner = indices;
  if (index.dimension == AxisIndex::kNumber) {
    inner[few] = {AxisIndex::kNumber, index.shift / each};
  } else {
    const std::vector<int64_t> key = {INT64_MIN, index.dimension, index.shift,
                                      static_cast<int64_t>(index.tile), each};
    inner[few] = AddIndexTile(key, [&] {
      return Op("div", {IndexOf(index), Literal(fmt::format("{}", each), kI64)}, kI64, 4);
    });
  }
  return Operand(n, 0, inner);
}

// The numbers of the elements, in row-major order of the axes, decide.
TileValue Emitter::Random(size_t n, const AxisIndices& indices) {
  const GraphNode& node = meaning_.node(n);
  TileValue number = Fill("0", kI64, UnitShape());
  for (const AxisExpr& written : meaning_.graph().Axes(node.axes)) {
    const uint32_t axis = meaning_.concrete().AxisOf(written);
    const std::string extent = fmt::format("{}", meaning_.axis(axis).extent);
    number = Op("mul", {number, Literal(extent, kI64)}, kI64);
    number = Op("add", {number, IndexOf(indices.at(axis))}, kI64);
  }
  TileValue seed = Operand(n, 0, indices);
  if (seed.IsLiteral()) seed = Fill(seed.name, kI64, UnitShape());
  return RandomNumbers(writer(), node.op, seed, number);
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
