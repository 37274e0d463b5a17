// Substitutes the values of constants in expressions and computes what is then known.
#ifndef TARSIA_ISA_FOLD_H_
#define TARSIA_ISA_FOLD_H_

#include <optional>
#include <unordered_map>
#include <vector>

#include "layout/text/expr.h"

namespace tarsia {

// Folds expressions of one pool, to which it adds nodes. Computes numbers, booleans and
// comparisons; anything else (a name without value, a `%value`, division by zero, overflow) stays
// unchanged, and the evaluator reports it. The arguments of functions of numbers are put in the
// order of the parameters. Not thread-safe.
class Folder {
 public:
  explicit Folder(ExprPool& pool) : pool_(pool) {}
  // From now on the name means the expression. Bind before folding.
  void Bind(StringId name, ExprId value) { bindings_[name] = value; }
  ExprId Fold(ExprId id);

 private:
  ExprId FoldNode(ExprId id);
  ExprId FoldUnary(UnaryOp op, ExprId a);
  ExprId FoldBinary(BinaryOp op, ExprId a, ExprId b);
  ExprId FoldCall(Func func, const std::vector<ExprId>& arguments);
  std::optional<ExprId> FoldNumbers(BinaryOp op, ExprId a, ExprId b);
  std::optional<ExprId> FoldLogic(BinaryOp op, ExprId a, ExprId b);
  std::optional<ExprId> FoldEquality(BinaryOp op, ExprId a, ExprId b);
  std::optional<ExprId> FoldFunction(Func func, const std::vector<ExprId>& arguments);
  [[nodiscard]] bool IsNumber(ExprId id) const;

  ExprPool& pool_;
  std::unordered_map<StringId, ExprId> bindings_;
  std::vector<ExprId> done_;  // by node; none: not folded yet
};

}  // namespace tarsia

#endif  // TARSIA_ISA_FOLD_H_
