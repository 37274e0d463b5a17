#include "isa/fold.h"

#include <algorithm>

#include "layout/text/arguments.h"
#include "layout/text/arithmetic.h"
#include "layout/text/eval.h"

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
  if (node.kind == ExprKind::kUnary) return FoldUnary(static_cast<UnaryOp>(node.code), folded[0]);
  if (node.kind == ExprKind::kBinary) {
    return FoldBinary(static_cast<BinaryOp>(node.code), folded[0], folded[1]);
  }
  if (node.kind == ExprKind::kCall) return FoldCall(static_cast<Func>(node.code), folded);
  // Every other kind stays what it is, with folded children.
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

std::optional<ExprId> Folder::FoldNumbers(BinaryOp op, ExprId a, ExprId b) {
  const auto i = pool_.AsInt(a);
  const auto j = pool_.AsInt(b);
  if (i && j) {
    if (IsComparison(op)) return pool_.Bool(Compare(op, *i, *j));
    // An expression without a value is left to the evaluator, which reports it.
    if (const auto out = CheckedArithmetic(op, *i, *j)) return pool_.Int(*out);
    return std::nullopt;
  }
  const auto x = i ? static_cast<double>(*i) : pool_.AsFloat(a);
  const auto y = j ? static_cast<double>(*j) : pool_.AsFloat(b);
  if (!x || !y) return std::nullopt;
  if (IsComparison(op)) return pool_.Bool(Compare(op, *x, *y));
  return pool_.Float(FloatArithmetic(op, *x, *y));
}

std::optional<ExprId> Folder::FoldLogic(BinaryOp op, ExprId a, ExprId b) {
  const auto left = pool_.AsBool(a);
  if (!left) return std::nullopt;
  // The right side is not needed if the left one decides.
  if (*left == (op == BinaryOp::kOr) && !pool_.UsesValues(b)) return a;
  if (pool_.AsBool(b)) return *left == (op == BinaryOp::kOr) ? a : b;
  return std::nullopt;
}

// Folds the equality of types, layouts and other values.
std::optional<ExprId> Folder::FoldEquality(BinaryOp op, ExprId a, ExprId b) {
  if (op != BinaryOp::kEqual && op != BinaryOp::kNotEqual) return std::nullopt;
  if (IsNumber(a) || IsNumber(b) || pool_.UsesValues(a) || pool_.UsesValues(b)) {
    return std::nullopt;
  }
  const Result<EvalValue> left = Evaluate(pool_, a, EmptyEnv());
  const Result<EvalValue> right = left.ok() ? Evaluate(pool_, b, EmptyEnv()) : left.error();
  if (!right.ok() || left->index() != right->index()) return std::nullopt;
  return pool_.Bool((*left == *right) == (op == BinaryOp::kEqual));
}

bool Folder::IsNumber(ExprId id) const {
  return pool_.kind(id) == ExprKind::kInt || pool_.kind(id) == ExprKind::kFloat;
}

ExprId Folder::FoldBinary(BinaryOp op, ExprId a, ExprId b) {
  const bool logic = op == BinaryOp::kAnd || op == BinaryOp::kOr;
  std::optional<ExprId> out = logic ? FoldLogic(op, a, b) : FoldNumbers(op, a, b);
  if (!out) out = FoldEquality(op, a, b);
  return out ? *out : pool_.Binary(op, a, b);
}

// Folds functions of numbers, with the arguments in the order of the parameters.
ExprId Folder::FoldCall(Func func, const std::vector<ExprId>& arguments) {
  const ExprId call = pool_.Call(func, arguments);
  if (func != Func::kCeildiv && func != Func::kMin && func != Func::kMax && func != Func::kBits) {
    return call;
  }
  const Result<BoundArguments> bound = BindArguments(pool_, call);
  if (!bound.ok()) return call;
  std::vector<ExprId> ordered;
  for (const std::vector<ExprId>& given : *bound) {
    ordered.insert(ordered.end(), given.begin(), given.end());
  }
  const auto out = FoldFunction(func, ordered);
  return out ? *out : pool_.Call(func, ordered);
}

std::optional<ExprId> Folder::FoldFunction(Func func, const std::vector<ExprId>& arguments) {
  if (func == Func::kBits) {
    const auto type = pool_.AsDType(arguments[0]);
    return type ? std::optional(pool_.Int(type->bits)) : std::nullopt;
  }
  const auto a = pool_.AsInt(arguments[0]);
  const auto b = pool_.AsInt(arguments[1]);
  if (!a || !b) return std::nullopt;
  if (func == Func::kMin) return pool_.Int(std::min(*a, *b));
  if (func == Func::kMax) return pool_.Int(std::max(*a, *b));
  const auto quotient = CheckedCeilDivide(*a, *b);
  return quotient ? std::optional(pool_.Int(*quotient)) : std::nullopt;
}

}  // namespace tarsia
