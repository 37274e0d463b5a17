// The derivatives of elementwise operations.
#include "isa/gradient/reverse.h"

namespace tarsia::gradient {
namespace {

constexpr double kTwoOverRootPi = 1.1283791670955126;

}  // namespace

void Reverse::Add(const Node& node, const Product& d) {
  Give(node, 0, d);
  Give(node, 1, d);
}

void Reverse::Subtract(const Node& node, const Product& d) {
  Give(node, 0, d);
  Give(node, 1, d.Scaled(-1));
}

void Reverse::Negate(const Node& node, const Product& d) { Give(node, 0, d.Scaled(-1)); }

void Reverse::Pass(const Node& node, const Product& d) { Give(node, 0, d); }

// Also of `dot`, whose sum makes no difference.
void Reverse::Multiply(const Node& node, const Product& d) {
  Give(node, 0, TimesOperand(node, d, 1));
  Give(node, 1, TimesOperand(node, d, 0));
}

// By b: -a / b^2, which is -y / b; and -y^2 / a if a is a number.
void Reverse::Divide(const Node& node, const Product& d) {
  const auto divisor = draft_.NumberOf(node.operands[1]);
  if (Wants(node, 0)) Give(node, 0, divisor ? d.Scaled(1 / *divisor) : d.By(Operand(node, 1)));
  if (!Wants(node, 1)) return;
  const Product by = d.Scaled(-1).Times(Result(node));
  const auto dividend = draft_.NumberOf(node.operands[0]);
  Give(node, 1,
       dividend && *dividend != 0 ? by.Times(Result(node)).Scaled(1 / *dividend)
                                  : by.By(Operand(node, 1)));
}

// a - b * trunc(a / b).
void Reverse::Remainder(const Node& node, const Product& d) {
  Give(node, 0, d);
  if (!Wants(node, 1)) return;
  const ValueId whole = draft_.Elementwise(
      GraphOp::kSub, {ExprId::Value(Result(node)), ExprId::Value(Operand(node, 0))});
  Give(node, 1, d.Times(whole).By(Operand(node, 1)));
}

// To the second one where both are equal; never to a NaN, as the result is the other one.
void Reverse::MinMax(const Node& node, const Product& d) {
  const ValueId second =
      draft_.Elementwise(GraphOp::kEq, {ExprId::Value(node.first_result), node.operands[1]});
  if (Wants(node, 0)) Give(node, 0, Where(node, d, ExprId::Value(second), false));
  if (Wants(node, 1)) Give(node, 1, Where(node, d, ExprId::Value(second), true));
}

void Reverse::Select(const Node& node, const Product& d) {
  if (Wants(node, 1)) Give(node, 1, Where(node, d, node.operands[0], true));
  if (Wants(node, 2)) Give(node, 2, Where(node, d, node.operands[0], false));
}

// b a^(b - 1), which is 0 if b is; and y log(a), which is 0 if a is.
void Reverse::Power(const Node& node, const Product& d) {
  const ExprId zero = draft_.Constant(0);
  const auto power = draft_.NumberOf(node.operands[1]);
  if (Wants(node, 0) && power) {
    if (*power == 1) return Give(node, 0, d);
    const ValueId a = Operand(node, 0);
    const ValueId less =
        *power == 2
            ? a
            : draft_.Elementwise(GraphOp::kPow, {ExprId::Value(a), draft_.Constant(*power - 1)});
    return Give(node, 0, d.Scaled(*power).Times(less));
  }
  const ExprId a = ExprId::Value(Operand(node, 0));
  const ExprId b = ExprId::Value(Operand(node, 1));
  if (Wants(node, 0)) {
    const ValueId less = draft_.Elementwise(GraphOp::kSub, {b, draft_.Constant(1)});
    const ValueId factor = draft_.Elementwise(
        GraphOp::kMul,
        {ExprId::Value(draft_.Elementwise(GraphOp::kPow, {a, ExprId::Value(less)})), b});
    const ValueId none = draft_.Elementwise(GraphOp::kEq, {b, zero});
    Give(node, 0,
         d.Times(draft_.Elementwise(GraphOp::kSelect,
                                    {ExprId::Value(none), zero, ExprId::Value(factor)})));
  }
  if (!Wants(node, 1)) return;
  const ValueId none = draft_.Elementwise(GraphOp::kEq, {a, zero});
  const ValueId base =
      draft_.Elementwise(GraphOp::kSelect, {ExprId::Value(none), draft_.Constant(1), a});
  Give(node, 1,
       d.Times(Result(node)).Times(draft_.Elementwise(GraphOp::kLog, {ExprId::Value(base)})));
}

ValueId SignOf(Draft& draft, ValueId v) {
  const ExprId x = ExprId::Value(v);
  const ExprId zero = draft.Constant(0);
  const ExprId less = ExprId::Value(draft.Elementwise(GraphOp::kLt, {x, zero}));
  const ExprId more = ExprId::Value(draft.Elementwise(GraphOp::kGt, {x, zero}));
  const ExprId one = ExprId::Value(draft.Number(1, draft.value(v).dtype));
  const ValueId above = draft.Elementwise(GraphOp::kSelect, {more, one, zero});
  return draft.Elementwise(GraphOp::kSelect, {less, draft.Constant(-1), ExprId::Value(above)});
}

void Reverse::Absolute(const Node& node, const Product& d) {
  Give(node, 0, d.Times(SignOf(draft_, Operand(node, 0))));
}

void Reverse::Exponential(const Node& node, const Product& d) {
  Give(node, 0, d.Times(Result(node)));
}

void Reverse::Logarithm(const Node& node, const Product& d) {
  Give(node, 0, d.By(Operand(node, 0)));
}

// 1 / (2 y), and 0 where y is: so a point has no effect on its distance to itself.
void Reverse::SquareRoot(const Node& node, const Product& d) {
  const ExprId root = ExprId::Value(Result(node));
  const ExprId zero = draft_.Constant(0);
  const ExprId none = ExprId::Value(draft_.Elementwise(GraphOp::kEq, {root, zero}));
  const ExprId inverse =
      ExprId::Value(draft_.Elementwise(GraphOp::kDiv, {draft_.Constant(0.5), root}));
  Give(node, 0, d.Times(draft_.Elementwise(GraphOp::kSelect, {none, zero, inverse})));
}

// -y^3 / 2.
void Reverse::ReciprocalRoot(const Node& node, const Product& d) {
  const ValueId y = Result(node);
  Give(node, 0, d.Times(y).Times(y).Times(y).Scaled(-0.5));
}

// 1 - y^2.
void Reverse::Tangent(const Node& node, const Product& d) {
  const ExprId y = ExprId::Value(Result(node));
  const ExprId square = ExprId::Value(draft_.Elementwise(GraphOp::kMul, {y, y}));
  Give(node, 0, d.Times(draft_.Elementwise(GraphOp::kSub, {draft_.Constant(1), square})));
}

// 2 / sqrt(pi) exp(-x^2).
void Reverse::ErrorFunction(const Node& node, const Product& d) {
  const ExprId x = ExprId::Value(Operand(node, 0));
  const ExprId square = ExprId::Value(draft_.Elementwise(GraphOp::kMul, {x, x}));
  const ExprId power = ExprId::Value(draft_.Elementwise(GraphOp::kNeg, {square}));
  Give(node, 0, d.Times(draft_.Elementwise(GraphOp::kExp, {power})).Scaled(kTwoOverRootPi));
}

void Reverse::SineOrCosine(const Node& node, const Product& d) {
  const bool sine = node.op == GraphOp::kSin;
  const ValueId slope =
      draft_.Elementwise(sine ? GraphOp::kCos : GraphOp::kSin, {ExprId::Value(Operand(node, 0))});
  Give(node, 0, d.Times(slope).Scaled(sine ? 1 : -1));
}

}  // namespace tarsia::gradient
