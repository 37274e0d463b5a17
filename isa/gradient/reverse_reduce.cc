// The derivatives of reductions.
#include "isa/gradient/reverse.h"

namespace tarsia::gradient {
namespace {

// The number of elements that a node reduces to one.
double CountOf(const Draft& draft, const Node& node) { return draft.Elements(node.axes); }

}  // namespace

// 2 (a - b). Taken apart, the sums are products of matrices, with the errors that `fast` allows.
void Reverse::SquaredDistance(const Node& node, const Product& d) {
  const Product twice = d.Scaled(2);
  if (options_.fast) {
    for (size_t i = 0; i < 2; ++i) {
      Give(node, i, twice.Times(Operand(node, i)));
      Give(node, i, twice.Scaled(-1).Times(Operand(node, 1 - i)));
    }
    return;
  }
  const ValueId difference = draft_.Elementwise(
      GraphOp::kSub, {ExprId::Value(Operand(node, 0)), ExprId::Value(Operand(node, 1))});
  Give(node, 0, twice.Times(difference));
  Give(node, 1, twice.Scaled(-1).Times(difference));
}

void Reverse::L1Distance(const Node& node, const Product& d) {
  const ValueId difference = draft_.Elementwise(
      GraphOp::kSub, {ExprId::Value(Operand(node, 0)), ExprId::Value(Operand(node, 1))});
  const ValueId sign = SignOf(draft_, difference);
  Give(node, 0, d.Times(sign));
  Give(node, 1, d.Scaled(-1).Times(sign));
}

// By a: b / (|a| |b|) - y a / |a|^2.
void Reverse::CosineOfAngle(const Node& node, const Product& d) {
  ValueId inverse[2];
  for (size_t i = 0; i < 2; ++i) {
    const ExprId x = ExprId::Value(Operand(node, i));
    const ExprId square = ExprId::Value(draft_.Elementwise(GraphOp::kMul, {x, x}));
    const ExprId sum =
        ExprId::Value(draft_.Reduce(GraphOp::kReduceSum, {square}, node.axes, options_.sums));
    inverse[i] = draft_.Elementwise(GraphOp::kRsqrt, {sum});
  }
  for (size_t i = 0; i < 2; ++i) {
    if (!Wants(node, i)) continue;
    Give(node, i, d.Times(Operand(node, 1 - i)).Times(inverse[0]).Times(inverse[1]));
    Give(node, i,
         d.Scaled(-1)
             .Times(Result(node))
             .Times(Operand(node, i))
             .Times(inverse[i])
             .Times(inverse[i]));
  }
}

void Reverse::Mean(const Node& node, const Product& d) {
  if (CountOf(draft_, node) > 0) Give(node, 0, d.Scaled(1 / CountOf(draft_, node)));
}

// The product of the others: y / x; where x is 0, that of all elements but the one that is 0, and 0
// if there are several.
void Reverse::Prod(const Node& node, const Product& d) {
  const ExprId x = ExprId::Value(Operand(node, 0));
  const ExprId zero = draft_.Constant(0);
  const ExprId one = ExprId::Value(draft_.Number(1, TypeOf(node)));
  const auto select = [&](ExprId condition, ExprId a, ExprId b) {
    return ExprId::Value(draft_.Elementwise(GraphOp::kSelect, {condition, a, b}));
  };
  const ExprId is_zero = ExprId::Value(draft_.Elementwise(GraphOp::kEq, {x, zero}));
  const ExprId zeros =
      ExprId::Value(draft_.Reduce(GraphOp::kReduceSum, {select(is_zero, one, zero)}, node.axes));
  const ExprId others = ExprId::Value(
      draft_.Reduce(GraphOp::kReduceProd, {select(is_zero, draft_.Constant(1), x)}, node.axes));
  const ExprId alone = ExprId::Value(draft_.Elementwise(GraphOp::kEq, {zeros, draft_.Constant(1)}));
  const ExprId quotient =
      ExprId::Value(draft_.Elementwise(GraphOp::kDiv, {ExprId::Value(Result(node)), x}));
  const ExprId factor = select(is_zero, select(alone, others, zero), quotient);
  Give(node, 0, d.Times(factor.value()));
}

// To the first of the elements that are equal: one index an axis, of the last axis first.
void Reverse::Extreme(const Node& node, const Product& d) {
  if (CountOf(draft_, node) == 0) return;
  const bool most = node.op == GraphOp::kReduceMax || node.op == GraphOp::kArgMax;
  ValueId best = node.operands[0].value();
  ExprId chosen;
  for (size_t i = node.axes.size(); i-- > 0;) {
    best = draft_.Reduce(most ? GraphOp::kArgMax : GraphOp::kArgMin, {ExprId::Value(best)},
                         {node.axes[i]});
    const ExprId here = ExprId::Value(draft_.Iota(node.axes[i]));
    const ExprId same =
        ExprId::Value(draft_.Elementwise(GraphOp::kEq, {here, ExprId::Value(best + 1)}));
    chosen =
        chosen.none() ? same : ExprId::Value(draft_.Elementwise(GraphOp::kAnd, {same, chosen}));
  }
  Give(node, 0, Where(node, d, chosen, true));
}

// exp(x - y).
void Reverse::LogSumExp(const Node& node, const Product& d) {
  const ExprId x = ExprId::Value(Operand(node, 0));
  const ExprId power =
      ExprId::Value(draft_.Elementwise(GraphOp::kSub, {x, ExprId::Value(Result(node))}));
  Give(node, 0, d.Times(draft_.Elementwise(GraphOp::kExp, {power})));
}

// With the weights p = exp(s - logsumexp(s)), which are made again: p (v - y) by the scores, and p
// by v.
void Reverse::Softmax(const Node& node, const Product& d) {
  const ExprId s = ExprId::Value(Operand(node, 0));
  const ValueId all = draft_.Reduce(GraphOp::kLogSumExp, {s}, node.axes);
  const ExprId power = ExprId::Value(draft_.Elementwise(GraphOp::kSub, {s, ExprId::Value(all)}));
  const Product weighted = d.Times(draft_.Elementwise(GraphOp::kExp, {power}));
  Give(node, 1, weighted);
  if (!Wants(node, 0)) return;
  Give(node, 0, weighted.Times(Operand(node, 1)));
  Give(node, 0, weighted.Scaled(-1).Times(Result(node)));
}

// To the elements that it chose.
void Reverse::TopK(const Node& node, const Product& d) {
  const Axes chosen = {node.axes[1]};
  const Parts parts = Split(node, d, chosen);
  const ValueId v = draft_.Broadcast(parts.inside, chosen);
  const ValueId sums =
      draft_.SegmentSum(v, node.first_result + 1, node.axes[1], node.axes[0], GraphOption::kNone);
  GiveSum(node, 0, parts.outside.Times(sums), {});
}

// 2 (x - mean) / n.
void Reverse::Variance(const Node& node, const Product& d) {
  if (CountOf(draft_, node) == 0) return;
  const ExprId x = ExprId::Value(Operand(node, 0));
  const ExprId mean = ExprId::Value(draft_.Reduce(GraphOp::kMean, {x}, node.axes));
  const ValueId deviation = draft_.Elementwise(GraphOp::kSub, {x, mean});
  Give(node, 0, d.Times(deviation).Scaled(2 / CountOf(draft_, node)));
}

}  // namespace tarsia::gradient
