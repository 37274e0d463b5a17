#include "isa/bind_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "isa/diagnostics.h"
#include "layout/text/eval.h"
#include "layout/text/expr_parser.h"

namespace tarsia {

bool ConstantBinder::Bind(const std::vector<Constant>& constants,
                          const std::vector<Binding>& bindings) {
  const size_t before = diagnostics_.count();
  std::vector<std::string_view> names;
  for (const Constant& c : constants) names.push_back(module_.pool.strings()[c.name]);
  std::vector<ExprId> given(constants.size());
  for (const Binding& binding : bindings) {
    const auto found = std::find(names.begin(), names.end(), binding.name);
    if (found == names.end()) {
      RefuseUnknown(binding, names);
      continue;
    }
    const auto i = static_cast<size_t>(found - names.begin());
    if (!given[i].none()) {
      Refuse(binding, MakeDiagnostic(diag::kRepeatedBinding, binding.location, binding.name));
      continue;
    }
    given[i] = ParseBinding(binding, constants[i]);
    if (given[i].none()) failed_.push_back(constants[i].name);
  }
  for (size_t i = 0; i < constants.size(); ++i) {
    if (!Failed(constants[i].name)) BindConstant(constants[i], given[i]);
  }
  return !wrong_binding_ && diagnostics_.count() == before;
}

void ConstantBinder::Refuse(const Binding& binding, Diagnostic error) {
  wrong_binding_ = true;
  if (of_bindings_ != nullptr && binding.location.IsText()) {
    of_bindings_->Add(std::move(error));
  } else {
    error.location = Location();
    diagnostics_.Add(std::move(error));
  }
}

void ConstantBinder::RefuseUnknown(const Binding& binding,
                                   const std::vector<std::string_view>& names) {
  Diagnostic error =
      MakeDiagnostic(diag::kUnknownBinding, binding.location, what_, name_, binding.name);
  error.help = DidYouMean(binding.name, names);
  if (error.help.empty()) {
    error.help =
        names.empty() ? "it has no constants" : fmt::format("it has {}", fmt::join(names, ", "));
  }
  Refuse(binding, std::move(error));
}

// An error in the text of a binding, whose location counts from the beginning of this text.
void ConstantBinder::RefuseText(const Binding& binding, Diagnostic error) {
  error.message = fmt::format("`{}={}`: {}", binding.name, binding.text, error.message);
  if (error.location.line == 1) {
    error.location.line = binding.location.line;
    error.location.column +=
        binding.location.column + static_cast<uint32_t>(binding.name.size() + 1) - 1;
  } else {
    error.location = binding.location;
  }
  Refuse(binding, std::move(error));
}

ExprId ConstantBinder::ParseBinding(const Binding& binding, const Constant& constant) {
  Result<ExprId> value = ParseExpression(binding.text, module_.pool);
  if (!value.ok()) {
    RefuseText(binding, value.TakeError());
    return {};
  }
  class NoNames final : public TypeEnv {
    [[nodiscard]] std::optional<ExprType> NameType(StringId) const override { return std::nullopt; }
    [[nodiscard]] std::optional<ExprType> ValueType(uint32_t) const override {
      return std::nullopt;
    }
  };
  Result<ExprType> type = StaticType(module_.pool, *value, NoNames());
  if (!type.ok()) {
    RefuseText(binding, type.TakeError());
    return {};
  }
  const ExprType wanted = ExprTypeOf(constant.kind);
  if (*type == wanted) return *value;
  Diagnostic error =
      MakeDiagnostic(diag::kConstantKind, binding.location, binding.name, binding.text,
                     kConstKindNames[static_cast<size_t>(constant.kind)], ExprTypeName(*type));
  const auto number = module_.pool.AsFloat(*value);
  constexpr double kMost = 1e15;  // whole numbers below it are exact
  if (wanted == ExprType::kInt && number && *number == std::trunc(*number) &&
      std::abs(*number) <= kMost) {
    error.help = fmt::format("as a whole number: {}={:.0f}", binding.name, *number);
  }
  Refuse(binding, std::move(error));
  return {};
}

bool ConstantBinder::Failed(StringId name) const {
  return std::find(failed_.begin(), failed_.end(), name) != failed_.end();
}

void ConstantBinder::BindConstant(const Constant& constant, ExprId value) {
  const std::string_view name = module_.pool.strings()[constant.name];
  const Location location = value.none() ? constant.DefaultLocation() : constant.location;
  if (value.none()) value = constant.default_value;
  if (value.none()) {
    diagnostics_.Error(diag::kUnboundConstant, constant.location, name, name).help =
        fmt::format("give it a value: {}=...", name);
    failed_.push_back(constant.name);
    return;
  }
  // Errors that follow from a constant without value are not reported.
  for (const StringId name_of_failed : failed_) {
    if (!Mentions(value, module_.pool.strings()[name_of_failed])) continue;
    failed_.push_back(constant.name);
    return;
  }
  value = folder_.Fold(value);
  // Layouts stay expressions, but they must have a value.
  Result<EvalValue> computed = Evaluate(module_.pool, value, EmptyEnv(), location);
  if (!computed.ok()) {
    Diagnostic error = computed.TakeError();
    error.message = fmt::format("constant `{}`: {}", name, error.message);
    diagnostics_.Add(std::move(error));
    failed_.push_back(constant.name);
    return;
  }
  folder_.Bind(constant.name, value);
  constants_.push_back({std::string(name), constant.kind, value});
}

void ConstantBinder::CheckRequirements(const std::vector<Require>& requirements) {
  for (const Require& require : requirements) {
    const ExprId condition = folder_.Fold(require.condition);
    Result<EvalValue> value = Evaluate(module_.pool, condition, EmptyEnv(), require.location);
    if (!value.ok()) {
      diagnostics_.Add(value.TakeError());
      continue;
    }
    const bool* holds = std::get_if<bool>(&*value);
    if (holds != nullptr && *holds) continue;
    const std::string_view message = module_.pool.strings()[require.message];
    Diagnostic& error = diagnostics_.Error(
        diag::kRequirement, require.location,
        message.empty() ? ToString(module_.pool, require.condition) : std::string(message));
    error.help = ConstantsIn(require.condition);
  }
}

// "K = 100, BK = 64", for the constants in an expression.
std::string ConstantBinder::ConstantsIn(ExprId id) const {
  std::string out;
  for (const BoundConstant& constant : constants_) {
    if (!Mentions(id, constant.name)) continue;
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", constant.name,
                       ToString(module_.pool, constant.value));
  }
  return out;
}

bool ConstantBinder::Mentions(ExprId id, std::string_view name) const {
  if (module_.pool.kind(id) == ExprKind::kName && module_.pool.Text(id) == name) return true;
  const auto children = module_.pool.children(id);
  return std::any_of(children.begin(), children.end(),
                     [&](ExprId child) { return Mentions(child, name); });
}

}  // namespace tarsia
