// The static kinds of expressions: their kinds for all values of their names.
#include <fmt/format.h>

#include "layout/diagnostics.h"
#include "layout/text/arguments.h"
#include "layout/text/diagnostics.h"
#include "layout/text/eval.h"
#include "layout/text/expr_visitor.h"
#include "layout/text/fragments.h"

namespace tarsia {
namespace {

bool Fits(ExprType type, ExprType wanted) { return type == wanted || type == ExprType::kUnknown; }

bool IsNumber(ExprType type) { return type == ExprType::kInt || type == ExprType::kFloat; }

// The kind of an arithmetic result; empty if the operands cannot be combined.
std::optional<ExprType> ArithmeticType(BinaryOp op, ExprType a, ExprType b) {
  const bool layouts = op == BinaryOp::kMultiply || op == BinaryOp::kDivide;
  if (a == ExprType::kUnknown && b == ExprType::kUnknown) return ExprType::kUnknown;
  if (a == ExprType::kUnknown || b == ExprType::kUnknown) {
    const ExprType known = a == ExprType::kUnknown ? b : a;
    if (known == ExprType::kFloat) return ExprType::kFloat;
    if (known == ExprType::kInt) return ExprType::kUnknown;  // the other may be a float
    if (known == ExprType::kRegLayout && layouts) return ExprType::kRegLayout;
    return std::nullopt;
  }
  if (IsNumber(a) && IsNumber(b)) {
    return a == ExprType::kInt && b == ExprType::kInt ? ExprType::kInt : ExprType::kFloat;
  }
  if (layouts && a == ExprType::kRegLayout && b == ExprType::kRegLayout) {
    return ExprType::kRegLayout;
  }
  return std::nullopt;
}

bool Comparable(BinaryOp op, ExprType a, ExprType b) {
  const auto number = [](ExprType type) { return IsNumber(type) || type == ExprType::kUnknown; };
  if (number(a) && number(b)) return true;
  const bool equality = op == BinaryOp::kEqual || op == BinaryOp::kNotEqual;
  return equality && (a == b || a == ExprType::kUnknown || b == ExprType::kUnknown);
}

class Typer : public internal::ExprVisitor<Typer, ExprType> {
 public:
  Typer(const ExprPool& pool, const TypeEnv& env) : ExprVisitor(pool), env_(env) {}

 private:
  friend ExprVisitor;

  Result<ExprType> Value(ExprId id) {
    const std::optional<ExprType> type = env_.ValueType(id.value());
    if (!type) return MakeDiagnostic(diag::kUnknownValue, {});
    return *type;
  }
  Result<ExprType> Int(ExprId /*id*/) { return ExprType::kInt; }
  Result<ExprType> Float(ExprId /*id*/) { return ExprType::kFloat; }
  Result<ExprType> Bool(ExprId /*id*/) { return ExprType::kBool; }
  Result<ExprType> Type(ExprId /*id*/) { return ExprType::kDType; }
  Result<ExprType> String(ExprId /*id*/) { return ExprType::kUnknown; }
  Result<ExprType> Fragment(ExprId id) { return Name(id); }

  // A name that the environment does not know means what it means to the evaluator.
  Result<ExprType> Name(ExprId id) {
    if (const auto type = env_.NameType(static_cast<StringId>(pool_.node(id).payload))) {
      return *type;
    }
    class OnlyNames : public EvalEnv {
     public:
      explicit OnlyNames(const TypeEnv& types) : types_(types) {}
      [[nodiscard]] const EvalValue* FindName(StringId) const override { return nullptr; }
      [[nodiscard]] const EvalValue* FindValue(uint32_t) const override { return nullptr; }
      [[nodiscard]] std::vector<std::string_view> Names() const override { return types_.Names(); }

     private:
      const TypeEnv& types_;
    };
    const Result<EvalValue> value = Evaluate(pool_, id, OnlyNames(env_));
    if (!value.ok()) return value.error();
    return TypeOf(*value);
  }

  Result<ExprType> Unary(ExprId id) {
    TARSIA_TRY(const ExprType operand, Visit(pool_.children(id)[0]));
    const bool is_not = static_cast<UnaryOp>(pool_.node(id).code) == UnaryOp::kNot;
    const bool fits = is_not ? Fits(operand, ExprType::kBool)
                             : IsNumber(operand) || operand == ExprType::kUnknown;
    if (!fits) {
      return MakeDiagnostic(diag::kUnaryOperand, {}, is_not ? "not" : "-", ExprTypeName(operand));
    }
    return is_not ? ExprType::kBool : operand;
  }

  Result<ExprType> Binary(ExprId id) {
    const auto op = static_cast<BinaryOp>(pool_.node(id).code);
    TARSIA_TRY(const ExprType a, Visit(pool_.children(id)[0]));
    TARSIA_TRY(const ExprType b, Visit(pool_.children(id)[1]));
    std::optional<ExprType> out;
    if (op == BinaryOp::kAnd || op == BinaryOp::kOr) {
      if (Fits(a, ExprType::kBool) && Fits(b, ExprType::kBool)) out = ExprType::kBool;
    } else if (op < BinaryOp::kAdd) {
      if (Comparable(op, a, b)) out = ExprType::kBool;
    } else {
      out = ArithmeticType(op, a, b);
    }
    if (out) return *out;
    return MakeDiagnostic(diag::kOperandKinds, {}, Spelling(op), ExprTypeName(a), ExprTypeName(b));
  }

  Result<ExprType> List(ExprId id) { return ListOf(id, false); }

  Result<ExprType> ListOf(ExprId id, bool replications) {
    for (const ExprId item : pool_.children(id)) {
      const bool replication = replications && pool_.kind(item) == ExprKind::kReplicate;
      const Result<ExprType> type = Visit(replication ? pool_.children(item)[0] : item);
      if (!type.ok()) return type.error();
    }
    return ExprType::kList;
  }

  Result<ExprType> Call(ExprId id) {
    const auto func = static_cast<Func>(pool_.node(id).code);
    TARSIA_TRY(const BoundArguments bound, BindArguments(pool_, id));
    const std::span<const FuncParameter> parameters = ParametersOf(func);
    for (size_t i = 0; i < bound.size(); ++i) {
      for (const ExprId argument : bound[i]) {
        TARSIA_CHECK(Argument(func, parameters[i], argument));
      }
    }
    return InfoOf(func).result;
  }

  Status Argument(Func func, const FuncParameter& parameter, ExprId id) {
    if (parameter.flag && pool_.kind(id) == ExprKind::kName && pool_.Text(id) == parameter.name) {
      return OkStatus();
    }
    const bool list = pool_.kind(id) == ExprKind::kList;
    TARSIA_TRY(const ExprType type, list ? ListOf(id, parameter.name == "spatial") : Visit(id));
    if (Fits(type, parameter.type)) return OkStatus();
    return MakeDiagnostic(
        diag::kArgumentKind, {}, parameter.name, FuncName(func),
        parameter.type == ExprType::kList ? "a list of integers" : ExprTypeName(parameter.type),
        ExprTypeName(type));
  }

  const TypeEnv& env_;
};

}  // namespace

Result<ExprType> StaticType(const ExprPool& pool, ExprId id, const TypeEnv& env, Location location,
                            ExprId* failed) {
  return Typer(pool, env).Run(id, location, failed);
}

}  // namespace tarsia
