#include "isa/fold.h"

#include <algorithm>

namespace tarsia {

ExprId Folder::Fold(ExprId id) {
  if (!id.is_node()) return id;
  if (id.index() < done_.size() && !done_[id.index()].none()) return done_[id.index()];
  const ExprId out = FoldNode(id);
  if (done_.size() <= id.index()) done_.resize(std::max<size_t>(pool_.size(), id.index() + 1));
  done_[id.index()] = out;
  return out;
}

ExprId Folder::FoldNode(ExprId id) {
  const ExprNode node = pool_.node(id);
  if (node.kind == ExprKind::kName) {
    const auto bound = bindings_.find(static_cast<StringId>(node.payload));
    return bound == bindings_.end() ? id : bound->second;
  }
  if (node.children == 0 && node.kind != ExprKind::kCall) return id;
  const auto children = pool_.children(id);
  std::vector<ExprId> folded(children.begin(), children.end());
  for (ExprId& child : folded) child = Fold(child);
  switch (node.kind) {
    case ExprKind::kUnary:
      return FoldUnary(static_cast<UnaryOp>(node.code), folded[0]);
    case ExprKind::kBinary:
      return FoldBinary(static_cast<BinaryOp>(node.code), folded[0], folded[1]);
    case ExprKind::kCall:
      return FoldCall(static_cast<Func>(node.code), folded);
    case ExprKind::kNone:
    case ExprKind::kValue:
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kBool:
    case ExprKind::kDType:
    case ExprKind::kString:
    case ExprKind::kName:
    case ExprKind::kFragment:
    case ExprKind::kKeyword:
    case ExprKind::kReplicate:
    case ExprKind::kList:
      break;
  }
  return pool_.Intern(node.kind, node.code, node.payload, folded);
}

ExprId Folder::FoldUnary(UnaryOp op, ExprId a) {
  if (op == UnaryOp::kNot) {
    if (const auto b = pool_.AsBool(a)) return pool_.Bool(!*b);
  } else if (const auto i = pool_.AsInt(a); i && *i != INT64_MIN) {
    return pool_.Int(-*i);
  } else if (const auto f = pool_.AsFloat(a)) {
    return pool_.Float(-*f);
  }
  return pool_.Unary(op, a);
}

std::optional<ExprId> Folder::FoldInts(BinaryOp op, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (op) {
    case BinaryOp::kEqual:
      return pool_.Bool(a == b);
    case BinaryOp::kNotEqual:
      return pool_.Bool(a != b);
    case BinaryOp::kLess:
      return pool_.Bool(a < b);
    case BinaryOp::kLessEqual:
      return pool_.Bool(a <= b);
    case BinaryOp::kGreater:
      return pool_.Bool(a > b);
    case BinaryOp::kGreaterEqual:
      return pool_.Bool(a >= b);
    case BinaryOp::kAdd:
      if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
      return pool_.Int(out);
    case BinaryOp::kSubtract:
      if (__builtin_sub_overflow(a, b, &out)) return std::nullopt;
      return pool_.Int(out);
    case BinaryOp::kMultiply:
      if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
      return pool_.Int(out);
    case BinaryOp::kDivide:
    case BinaryOp::kModulo:
      if (b == 0 || (a == INT64_MIN && b == -1 && op == BinaryOp::kDivide)) return std::nullopt;
      if (b == -1 && op == BinaryOp::kModulo) return pool_.Int(0);
      return pool_.Int(op == BinaryOp::kDivide ? a / b : a % b);
    case BinaryOp::kOr:
    case BinaryOp::kAnd:
      break;
  }
  return std::nullopt;
}

ExprId Folder::FoldBinary(BinaryOp op, ExprId a, ExprId b) {
  const auto i = pool_.AsInt(a);
  const auto j = pool_.AsInt(b);
  if (i && j) {
    if (const auto out = FoldInts(op, *i, *j)) return *out;
  }
  const auto p = pool_.AsBool(a);
  const auto q = pool_.AsBool(b);
  if (p && q) {
    if (op == BinaryOp::kAnd) return pool_.Bool(*p && *q);
    if (op == BinaryOp::kOr) return pool_.Bool(*p || *q);
    if (op == BinaryOp::kEqual) return pool_.Bool(*p == *q);
    if (op == BinaryOp::kNotEqual) return pool_.Bool(*p != *q);
  }
  const auto s = pool_.AsDType(a);
  const auto t = pool_.AsDType(b);
  if (s && t) {
    if (op == BinaryOp::kEqual) return pool_.Bool(*s == *t);
    if (op == BinaryOp::kNotEqual) return pool_.Bool(*s != *t);
  }
  return pool_.Binary(op, a, b);
}

ExprId Folder::FoldCall(Func func, const std::vector<ExprId>& arguments) {
  if (func == Func::kBits && arguments.size() == 1) {
    if (const auto type = pool_.AsDType(arguments[0])) return pool_.Int(type->bits);
  }
  if (arguments.size() == 2) {
    const auto a = pool_.AsInt(arguments[0]);
    const auto b = pool_.AsInt(arguments[1]);
    if (a && b) {
      if (func == Func::kMin) return pool_.Int(std::min(*a, *b));
      if (func == Func::kMax) return pool_.Int(std::max(*a, *b));
      // What has no value is left to the evaluator, which says so.
      if (func == Func::kCeildiv && *b != 0 && !(*a == INT64_MIN && *b == -1)) {
        const bool up = *a % *b != 0 && (*a < 0) == (*b < 0);
        return pool_.Int(*a / *b + (up ? 1 : 0));
      }
    }
  }
  return pool_.Call(func, arguments);
}

}  // namespace tarsia
