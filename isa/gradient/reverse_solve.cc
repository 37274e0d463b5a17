// The derivatives of linear algebra.
#include <string>

#include "isa/gradient/reverse.h"

namespace tarsia::gradient {

// Of A = L L^T, as a function of the elements of A on and below the diagonal: with d, the
// derivative by L, and P, the lower triangle of L^T d with half of its diagonal, S = L^-T P L^-1 is
// the derivative by A where each of its elements counts once; those below the diagonal stand for
// two (Murray, Differentiation of the Cholesky decomposition, arXiv:1602.07527).
void Reverse::Cholesky(const Node& node, const Product& d) {
  const uint32_t row = node.axes[0];
  const uint32_t column = node.axes[1];
  const std::string name(draft_.module().pool.strings()[draft_.axes()[column].name]);
  const uint32_t other = draft_.AddAxis(name, draft_.Extent(column));
  const auto compare = [&](GraphOp op, uint32_t a, uint32_t b) {
    return ExprId::Value(
        draft_.Elementwise(op, {ExprId::Value(draft_.Iota(a)), ExprId::Value(draft_.Iota(b))}));
  };
  const auto select = [&](ExprId condition, ValueId v, ExprId otherwise) {
    return draft_.Elementwise(GraphOp::kSelect, {condition, ExprId::Value(v), otherwise});
  };
  const auto rename = [&](ValueId v, const Axes& from, const Axes& to) {
    return draft_.Rename(v, from, to);
  };
  const Parts parts = Split(node, d, node.axes);
  const ValueId inside = rename(draft_.Broadcast(parts.inside, node.axes), {column}, {other});
  const ValueId l = Result(node);
  Products products = Of(node);
  const Product sum = products.SumAlong(Product{1, {l, inside}, {}}, Axes{row});
  const ValueId p = products.ValueOf(sum);
  const ExprId below =
      ExprId::Value(select(compare(GraphOp::kGt, column, other), p, draft_.Constant(0)));
  const ValueId lower =
      select(compare(GraphOp::kEq, column, other), products.ValueOf(sum.Scaled(0.5)), below);
  const ValueId left = draft_.Solve(l, lower, column, row, true);
  const ValueId turned = rename(l, {row, column}, {column, other});
  const ValueId s = draft_.Solve(turned, left, other, column, true);
  const ValueId both = draft_.Elementwise(
      GraphOp::kAdd, {ExprId::Value(s), ExprId::Value(rename(s, {row, column}, {column, row}))});
  const ExprId diagonal =
      ExprId::Value(select(compare(GraphOp::kEq, row, column), s, draft_.Constant(0)));
  const ValueId out = select(compare(GraphOp::kGt, row, column), both, diagonal);
  GiveSum(node, 0, parts.outside.Times(out), {});
}

// Of a x = b: w with a^T w = d is that by b, and -w x^T that by a, in the triangle that is read.
void Reverse::TriangularSolve(const Node& node, const Product& d) {
  const uint32_t row = node.axes[0];
  const uint32_t column = node.axes[1];
  const bool upper = node.option == GraphOption::kUpper;
  const Parts parts = Split(node, d, {column});
  const ValueId inside = draft_.Broadcast(parts.inside, {column});
  const ValueId w = draft_.Solve(Operand(node, 0), inside, column, row, !upper);
  const auto lacks = [&](size_t operand) {  // of the axes that are not solved
    Axes out = draft_.value(node.first_result).axes;
    std::erase_if(out, [&](uint32_t axis) {
      return axis == column || draft_.Has(node.operands[operand].value(), axis);
    });
    return out;
  };
  GiveSum(node, 1, parts.outside.Times(w), lacks(1));
  if (!Wants(node, 0)) return;
  const Product sum =
      Of(node).SumAlong(parts.outside.Times(w).Times(Result(node)).Scaled(-1), lacks(0));
  const ValueId inside_triangle =
      draft_.Elementwise(upper ? GraphOp::kLe : GraphOp::kGe,
                         {ExprId::Value(draft_.Iota(row)), ExprId::Value(draft_.Iota(column))});
  GiveSum(node, 0, Where(node, sum, ExprId::Value(inside_triangle), true), {});
}

}  // namespace tarsia::gradient
