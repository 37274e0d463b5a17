#include "isa/validate/expressions.h"

#include <fmt/format.h>

#include <algorithm>

#include "layout/diagnostics.h"

namespace tarsia {

std::optional<ExprType> Expressions::NameType(StringId name) const {
  for (const auto& [constant, kind] : constants_) {
    if (constant == name) return ExprTypeOf(kind);
  }
  return std::nullopt;
}

std::optional<ExprType> Expressions::ValueType(uint32_t value) const {
  if (value >= context_.value_count()) return std::nullopt;
  const tarsia::ValueType& type = context_.type(value);
  if (!type.known) return ExprType::kUnknown;
  if (type.kind != ValueKind::kScalar) return std::nullopt;
  const auto dtype = context_.pool().AsDType(type.dtype);
  if (!dtype) return ExprType::kUnknown;
  if (*dtype == kBoolType) return ExprType::kBool;
  return dtype->IsInteger() ? ExprType::kInt : ExprType::kFloat;
}

std::vector<std::string_view> Expressions::Names() const {
  std::vector<std::string_view> names;
  names.reserve(constants_.size());
  for (const auto& [name, kind] : constants_) names.push_back(context_.pool().strings()[name]);
  return names;
}

// ---- kinds -----------------------------------------------------------------------------------

void Expressions::ReportNonScalar(ExprId value, ExprId expression, Location location) {
  const tarsia::ValueType& type = context_.type(value.value());
  Diagnostic& error =
      context_.Error(diag::kNotAScalar, location, context_.kernel().ValueName(value.value()),
                     context_.Describe(type));
  if (type.space == Space::kGlobal || type.space == Space::kShared) {
    error.help = "`load.scalar` reads one element of a tile in memory";
  } else if (type.kind == ValueKind::kTile && expression != value) {
    error.help = "instructions compute with tiles, as in `%sum = add %a, 1.0`; use their results";
  }
}

ExprType Expressions::TypeOf(ExprId id, Location location) {
  if (id.is_small()) return ExprType::kInt;
  if (id.is_value()) {
    if (const auto type = ValueType(id.value())) return *type;
    ReportNonScalar(id, id, location);
    return ExprType::kUnknown;
  }
  if (id.index() < types_.size() && types_[id.index()] != 0) {
    return static_cast<ExprType>(types_[id.index()] - 1);
  }
  const ExprPool& pool = context_.pool();
  ExprId failed;
  Result<ExprType> type = StaticType(pool, id, *this, location, &failed);
  if (!type.ok() && failed.is_value() && failed.value() < context_.value_count()) {
    ReportNonScalar(failed, id, location);
  } else if (!type.ok()) {
    Diagnostic error = type.TakeError();
    if (error.info == &diag::kUnknownFragment && !failed.none() &&
        FindMnemonic(pool.Text(failed))) {
      error.help = fmt::format(
          "an instruction makes a value of its own: write `%x = {}` and use %x", pool.Text(failed));
    }
    context_.Add(std::move(error));
  }
  const ExprType out = type.ok() ? *type : ExprType::kUnknown;
  if (type.ok()) {
    if (types_.size() <= id.index()) types_.resize(pool.size());
    types_[id.index()] = static_cast<uint8_t>(1 + static_cast<int>(out));
  }
  return out;
}

bool Expressions::ExpectKind(ExprId id, ExprType kind, const char* what, Location location,
                             std::string_view name) {
  const size_t before = context_.error_count();
  const ExprType found = TypeOf(id, location);
  if (context_.error_count() != before) return false;
  if (found == ExprType::kUnknown || found == kind) return true;
  context_.Error(diag::kExpressionKind, location, fmt::format(fmt::runtime(what), name),
                 ExprTypeName(kind), ExprTypeName(found));
  return false;
}

bool Expressions::ExpectConstant(ExprId id, std::string_view what, Location location,
                                 std::string_view help) {
  if (!context_.pool().UsesValues(id)) return true;
  context_.Error(diag::kNotConstant, location, what).help = help;
  return false;
}

// ---- values ----------------------------------------------------------------------------------

bool Expressions::IsOpen(ExprId id) const {
  if (id.is_value()) return true;
  const ExprPool& pool = context_.pool();
  if (pool.kind(id) == ExprKind::kName && NameType(static_cast<StringId>(pool.node(id).payload))) {
    return true;
  }
  const auto children = pool.children(id);
  return std::any_of(children.begin(), children.end(),
                     [this](ExprId child) { return IsOpen(child); });
}

const EvalValue* Expressions::TryEvaluate(ExprId id, Location location) {
  id = context_.Fold(id);
  const auto [known, is_new] = evaluated_.try_emplace(id);
  std::optional<EvalValue>& slot = known->second;
  if (!is_new) return slot ? &*slot : nullptr;
  // With open names there is no value yet. If nothing is open, a failed evaluation is an error.
  const ExprPool& pool = context_.pool();
  Result<ExprType> type = StaticType(pool, id, *this, location);
  if (!type.ok() || IsOpen(id)) return nullptr;
  Result<EvalValue> value = Evaluate(pool, id, EmptyEnv(), location);
  if (!value.ok()) {
    context_.Add(value.TakeError());
    return nullptr;
  }
  slot = *std::move(value);
  return &*slot;
}

std::optional<int64_t> Expressions::KnownInt(ExprId id, Location location) {
  const ExprPool& pool = context_.pool();
  const std::optional<int64_t> value = pool.AsInt(context_.Fold(id));
  if (!value && context_.closed() && !pool.UsesValues(id)) TryEvaluate(id, location);
  return value;
}

// Constants that do not fold to numbers cannot be computed: the evaluator reports why.
bool Expressions::ComputeConstant(ExprId id, Location location) {
  const ExprPool& pool = context_.pool();
  const ExprKind kind = pool.kind(id);
  const bool is_computed =
      kind == ExprKind::kUnary || kind == ExprKind::kBinary || kind == ExprKind::kCall;
  if (!context_.closed() || !is_computed || pool.UsesValues(id)) return true;
  return TryEvaluate(id, location) != nullptr;
}

}  // namespace tarsia
