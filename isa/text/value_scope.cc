#include "isa/text/value_scope.h"

#include <algorithm>
#include <string>

#include "isa/diagnostics.h"
#include "layout/text/diagnostics.h"

namespace tarsia {

std::optional<ExprId> ValueScope::ResolveValue(std::string_view name, Location location) {
  const std::optional<StringId> id = module_.pool.strings().Find(name);
  if (id && *id < bindings_.size() && bindings_[*id] != kUnbound) {
    return ExprId::Value(bindings_[*id]);
  }
  if (kernel_ == nullptr) {
    diagnostics_.Error(diag::kNoValuesHere, location, name);
    return std::nullopt;
  }
  Diagnostic& error = diagnostics_.Error(diag::kUndefinedValue, location, name);
  const std::string_view nearest = Nearest(name, VisibleNames());
  if (!nearest.empty()) error.help = "did you mean `%" + std::string(nearest) + "`?";
  return std::nullopt;
}

std::vector<std::string_view> ValueScope::VisibleNames() const {
  std::vector<std::string_view> names;
  for (const StringId id : scope_) names.push_back(module_.pool.strings()[id]);
  return names;
}

uint32_t ValueScope::NewValue(std::string_view name) {
  const StringId id = module_.pool.strings().Intern(name);
  if (id >= bindings_.size())
    bindings_.resize(std::max<size_t>(id + 1, bindings_.size() * 2), kUnbound);
  const auto value = static_cast<uint32_t>(kernel_->value_names.size());
  kernel_->value_names.push_back(module_.pool.strings()[id]);
  kernel_->value_name_ids.push_back(id);
  bindings_[id] = value;
  scope_.push_back(id);
  return value;
}

uint32_t ValueScope::Bound(std::string_view name) const {
  const std::optional<StringId> id = module_.pool.strings().Find(name);
  return id && *id < bindings_.size() ? bindings_[*id] : kUnbound;
}

void ValueScope::LeaveScope(size_t size) {
  while (scope_.size() > size) {
    bindings_[scope_.back()] = kUnbound;
    scope_.pop_back();
  }
}

}  // namespace tarsia
