// A walk over an expression that computes a value of one type for every node; evaluation and static
// kinds share it. Internal to layout/text.
#ifndef TARSIA_LAYOUT_TEXT_EXPR_VISITOR_H_
#define TARSIA_LAYOUT_TEXT_EXPR_VISITOR_H_

#include "layout/diagnostics.h"
#include "layout/text/diagnostics.h"
#include "layout/text/expr.h"
#include "support/result.h"

namespace tarsia::internal {

// `Self` derives from this and has a function from ExprId to Result<T> for each kind of node that
// has a value of its own: Value, Int, Float, Bool, Type, String, Name, Fragment, Unary, Binary,
// Call, List. They call Visit for the nodes below. Walks of too many steps fail.
template <typename Self, typename T>
class ExprVisitor {
 public:
  Result<T> Visit(ExprId id) {
    if (++depth_ > kMaxDepth) return Fail(id, MakeDiagnostic(diag::kTooDeep, {}, kMaxDepth));
    if (++steps_ > kMaxSteps) {
      return Fail(id, MakeDiagnostic(diag::kTooMany, {}, kMaxSteps, "steps"));
    }
    Result<T> out = Dispatch(id);
    --depth_;
    if (!out.ok()) return Fail(id, out.TakeError());
    return out;
  }

  // As Visit; sets the location of an error, and `failed` (if not null) to the innermost expression
  // that failed.
  Result<T> Run(ExprId id, Location location, ExprId* failed) {
    Result<T> out = Visit(id);
    if (out.ok()) return out;
    if (failed != nullptr) *failed = failed_;
    Diagnostic error = out.TakeError();
    error.location = location;
    return error;
  }

 protected:
  explicit ExprVisitor(const ExprPool& pool) : pool_(pool) {}

  const ExprPool& pool_;

 private:
  static constexpr int kMaxSteps = 1 << 16;
  static constexpr int kMaxDepth = 2 * ExprPool::kMaxDepth;

  Diagnostic Fail(ExprId id, Diagnostic error) {
    if (failed_.none()) failed_ = id;
    return error;
  }

  Result<T> Dispatch(ExprId id) {
    Self& self = static_cast<Self&>(*this);
    switch (pool_.kind(id)) {
      case ExprKind::kNone:
        return MakeDiagnostic(diag::kMisplaced, {}, "an empty expression");
      case ExprKind::kValue:
        return self.Value(id);
      case ExprKind::kInt:
        return self.Int(id);
      case ExprKind::kFloat:
        return self.Float(id);
      case ExprKind::kBool:
        return self.Bool(id);
      case ExprKind::kDType:
        return self.Type(id);
      case ExprKind::kString:
        return self.String(id);
      case ExprKind::kName:
        return self.Name(id);
      case ExprKind::kFragment:
        return self.Fragment(id);
      case ExprKind::kUnary:
        return self.Unary(id);
      case ExprKind::kBinary:
        return self.Binary(id);
      case ExprKind::kCall:
        return self.Call(id);
      case ExprKind::kKeyword:
        return MakeDiagnostic(diag::kMisplaced, {}, "a keyword argument");
      case ExprKind::kReplicate:
        return MakeDiagnostic(diag::kMisplaced, {}, "a replication");
      case ExprKind::kList:
        return self.List(id);
    }
    return MakeDiagnostic(diag::kMisplaced, {}, "this");
  }

  ExprId failed_;
  int depth_ = 0;
  int steps_ = 0;
};

}  // namespace tarsia::internal

#endif  // TARSIA_LAYOUT_TEXT_EXPR_VISITOR_H_
