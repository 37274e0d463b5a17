#include "isa/gradient/reverse.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tarsia::gradient {
namespace {

// Whether a change of the operand, however small, changes the result: not if one of them has an
// integer type, and not through `floor`, whose derivative is 0.
bool Passes(const Draft& draft, const Node& node, size_t operand) {
  const ExprId id = node.operands[operand];
  const auto flows = [&](DType type) { return type.IsFloat() || type.IsComplex(); };
  return id.is_value() && node.op != GraphOp::kFloor && flows(draft.value(id.value()).dtype) &&
         flows(draft.value(node.first_result).dtype);
}

}  // namespace

// Operations that are not here have the derivative 0, or none: see Passes.
const Reverse::RuleRow Reverse::kRules[] = {
    {GraphOp::kAdd, &Reverse::Add},
    {GraphOp::kSub, &Reverse::Subtract},
    {GraphOp::kMul, &Reverse::Multiply},
    {GraphOp::kDiv, &Reverse::Divide},
    {GraphOp::kRem, &Reverse::Remainder},
    {GraphOp::kNeg, &Reverse::Negate},
    {GraphOp::kMin, &Reverse::MinMax},
    {GraphOp::kMax, &Reverse::MinMax},
    {GraphOp::kPow, &Reverse::Power},
    {GraphOp::kSelect, &Reverse::Select},
    {GraphOp::kAbs, &Reverse::Absolute},
    {GraphOp::kExp, &Reverse::Exponential},
    {GraphOp::kLog, &Reverse::Logarithm},
    {GraphOp::kSqrt, &Reverse::SquareRoot},
    {GraphOp::kRsqrt, &Reverse::ReciprocalRoot},
    {GraphOp::kTanh, &Reverse::Tangent},
    {GraphOp::kErf, &Reverse::ErrorFunction},
    {GraphOp::kSin, &Reverse::SineOrCosine},
    {GraphOp::kCos, &Reverse::SineOrCosine},
    {GraphOp::kCast, &Reverse::Pass},
    {GraphOp::kRename, &Reverse::Rename},
    {GraphOp::kBroadcast, &Reverse::Pass},
    {GraphOp::kSlice, &Reverse::Slice},
    {GraphOp::kConcat, &Reverse::Concat},
    {GraphOp::kExpand, &Reverse::Expand},
    {GraphOp::kDot, &Reverse::Multiply},
    {GraphOp::kSqDist, &Reverse::SquaredDistance},
    {GraphOp::kL1Dist, &Reverse::L1Distance},
    {GraphOp::kCosine, &Reverse::CosineOfAngle},
    {GraphOp::kGather, &Reverse::Gather},
    {GraphOp::kSegmentSum, &Reverse::SegmentSum},
    {GraphOp::kReduceSum, &Reverse::Pass},
    {GraphOp::kMean, &Reverse::Mean},
    {GraphOp::kReduceProd, &Reverse::Prod},
    {GraphOp::kReduceMax, &Reverse::Extreme},
    {GraphOp::kReduceMin, &Reverse::Extreme},
    {GraphOp::kArgMax, &Reverse::Extreme},
    {GraphOp::kArgMin, &Reverse::Extreme},
    {GraphOp::kLogSumExp, &Reverse::LogSumExp},
    {GraphOp::kSoftmax, &Reverse::Softmax},
    {GraphOp::kTopK, &Reverse::TopK},
    {GraphOp::kVar, &Reverse::Variance},
    {GraphOp::kCholesky, &Reverse::Cholesky},
    {GraphOp::kTriangularSolve, &Reverse::TriangularSolve},
};

// ---- the way through the graph ---------------------------------------------------------------

void Reverse::FindDependents(ValueId x, ValueId y) {
  depends_.assign(draft_.values().size(), false);
  depends_[x] = true;
  for (const Node& node : draft_.nodes()) {
    if (node.first_result <= x || node.first_result > y) continue;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (Passes(draft_, node, i) && depends_[node.operands[i].value()])
        depends_[node.first_result] = true;
    }
  }
}

std::optional<Product> Reverse::Run(ValueId y, ValueId x, std::optional<ValueId> dy) {
  FindDependents(x, y);
  if (!depends_[y]) {
    error_ = {ReverseError::Kind::kFlat, {}, {}};
    return std::nullopt;
  }
  given_.assign(draft_.values().size(), {});
  Product begin;
  if (dy) begin = begin.Times(draft_.Cast(*dy, DerivativeType(draft_.value(y).dtype)));
  given_[y].push_back(begin);
  const Node* const last = draft_.NodeOf(y);
  const size_t nodes = last == nullptr ? 0 : draft_.value(y).node + 1;
  for (size_t n = nodes; n-- > 0;) {
    // A copy, because rules add nodes.
    const Node node = draft_.nodes()[n];
    if (node.first_result <= x) break;
    if (!given_[node.first_result].empty() && !Visit(node)) return std::nullopt;
  }
  return Products(draft_, DerivativeType(draft_.value(x).dtype), options_.sums)
      .SumOf(std::move(given_[x]));
}

bool Reverse::Visit(const Node& node) {
  const auto* const row =
      std::ranges::find(std::begin(kRules), std::end(kRules), node.op, &RuleRow::op);
  const auto is_complex = [&](ExprId id) {
    return id.is_value() && draft_.value(id.value()).dtype.IsComplex();
  };
  if (row == std::end(kRules) || draft_.value(node.first_result).dtype.IsComplex() ||
      std::any_of(node.operands.begin(), node.operands.end(), is_complex)) {
    error_ = {ReverseError::Kind::kNoDerivative, node.op, node.location};
    return false;
  }
  const Product d = Of(node).SumOf(std::move(given_[node.first_result]));
  if (d.scale != 0) (this->*row->rule)(node, d);
  return true;
}

// ---- what rules use --------------------------------------------------------------------------

bool Reverse::Wants(const Node& node, size_t operand) const {
  return Passes(draft_, node, operand) && depends_[node.operands[operand].value()];
}

void Reverse::Give(const Node& node, size_t operand, const Product& d) {
  if (!Wants(node, operand)) return;
  Axes gone = draft_.AxesOfOperands(node);
  for (const uint32_t axis : draft_.value(node.first_result).axes) {
    if (std::find(gone.begin(), gone.end(), axis) == gone.end()) gone.push_back(axis);
  }
  const ValueId v = node.operands[operand].value();
  std::erase_if(gone, [&](uint32_t axis) { return draft_.Has(v, axis); });
  GiveSum(node, operand, d, gone);
}

void Reverse::GiveSum(const Node& node, size_t operand, const Product& d, const Axes& gone) {
  if (!Wants(node, operand) || d.scale == 0) return;
  const ValueId v = node.operands[operand].value();
  Products products = Of(node);
  Product sum = products.SumAlong(d, gone);
  const DType type = DerivativeType(draft_.value(v).dtype);
  if (type != TypeOf(node) && !sum.IsNumber()) {
    const double scale = std::exchange(sum.scale, 1);
    sum = Product{scale, {draft_.Cast(products.ValueOf(sum), type)}, {}};
  }
  given_[v].push_back(std::move(sum));
}

ValueId Reverse::Result(const Node& node) { return draft_.Cast(node.first_result, TypeOf(node)); }

ValueId Reverse::Operand(const Node& node, size_t i) {
  const ExprId operand = node.operands[i];
  if (operand.is_value()) return draft_.Cast(operand.value(), TypeOf(node));
  return draft_.Number(draft_.NumberOf(operand).value_or(0), TypeOf(node));
}

Product Reverse::TimesOperand(const Node& node, const Product& d, size_t i) {
  if (node.operands[i].is_value()) return d.Times(Operand(node, i));
  return d.Scaled(draft_.NumberOf(node.operands[i]).value_or(0));
}

Product Reverse::Where(const Node& node, const Product& d, ExprId condition, bool holds) {
  Product rest = d;
  rest.scale = 1;
  const ExprId value = ExprId::Value(Of(node).ValueOf(rest));
  const ExprId zero = draft_.Constant(0);
  const ValueId chosen =
      draft_.Elementwise(GraphOp::kSelect, {condition, holds ? value : zero, holds ? zero : value});
  return Product{d.scale, {chosen}, {}};
}

Reverse::Parts Reverse::Split(const Node& node, const Product& d, const Axes& axes) {
  Product inside;
  Parts out{0, {d.scale, {}, {}}};
  const auto has = [&](ValueId v) {
    return std::any_of(axes.begin(), axes.end(),
                       [&](uint32_t axis) { return draft_.Has(v, axis); });
  };
  for (const ValueId v : d.over) (has(v) ? inside : out.outside).over.push_back(v);
  for (const ValueId v : d.under) (has(v) ? inside : out.outside).under.push_back(v);
  out.inside = Of(node).ValueOf(inside);
  return out;
}

}  // namespace tarsia::gradient
