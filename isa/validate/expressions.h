// Expressions of a kernel under validation: their kinds, and their values if known.
#ifndef TARSIA_ISA_VALIDATE_EXPRESSIONS_H_
#define TARSIA_ISA_VALIDATE_EXPRESSIONS_H_

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/validate/context.h"
#include "layout/text/eval.h"

namespace tarsia {

// Each error in an expression is reported at the given location.
class Expressions final : public TypeEnv {
 public:
  explicit Expressions(KernelContext& context) : context_(context) {}

  // From now on expressions may use the constant.
  void AddConstant(StringId name, ConstKind kind) { constants_.emplace_back(name, kind); }

  // ---- kinds -------------------------------------------------------------------------------

  // The static kind; kUnknown after an error, and while constants leave it open.
  ExprType TypeOf(ExprId id, Location location);
  // False after an error: the expression is certainly of another kind. `what` names it in the
  // message: a text with a place for `name`.
  bool ExpectKind(ExprId id, ExprType kind, const char* what, Location location,
                  std::string_view name = {});
  // False after an error: the expression depends on values.
  bool ExpectConstant(ExprId id, std::string_view what, Location location, std::string_view help);
  // Reports that `value`, a part of the expression, is not a scalar.
  void ReportNonScalar(ExprId value, ExprId expression, Location location);

  // ---- values ------------------------------------------------------------------------------

  // The value if it can be computed; errors are reported once.
  const EvalValue* TryEvaluate(ExprId id, Location location);
  // The number it folds to; an expression without a value is an error if nothing is open.
  std::optional<int64_t> KnownInt(ExprId id, Location location);
  // False after an error: the expression has only constants, but no value.
  bool ComputeConstant(ExprId id, Location location);

  // TypeEnv
  [[nodiscard]] std::optional<ExprType> NameType(StringId name) const override;
  [[nodiscard]] std::optional<ExprType> ValueType(uint32_t value) const override;
  [[nodiscard]] std::vector<std::string_view> Names() const override;

 private:
  // Whether it depends on a constant that has no value yet, or on a value.
  [[nodiscard]] bool IsOpen(ExprId id) const;

  KernelContext& context_;
  std::vector<std::pair<StringId, ConstKind>> constants_;
  std::map<ExprId, std::optional<EvalValue>> evaluated_;
  std::vector<uint8_t> types_;  // by node: 1 + ExprType; 0: not computed yet
};

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_EXPRESSIONS_H_
