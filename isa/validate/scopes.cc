#include "isa/validate/scopes.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarsia {

void Scopes::Show(uint32_t value, Location location) {
  if (visible_[value] != 0) return;
  const std::string_view name = context_.kernel().ValueName(value);
  visible_[value] = 1;
  scope_.push_back(value);
  if (value != next_value_) context_.Error(diag::kValueOrder, location, name);
  next_value_ = std::max(next_value_, value + 1);
  if (!names_.insert(name).second) {
    context_.Error(diag::kRedefinition, location, "value", fmt::format("%{}", name));
  }
}

void Scopes::ShowResults(const Inst& inst) {
  const Kernel& kernel = context_.kernel();
  const auto results = kernel.Results(inst);
  for (size_t i = 0; i < results.size(); ++i) {
    Show(results[i].value(), kernel.ArgLocation(inst, i));
  }
}

void Scopes::ShrinkTo(size_t size) {
  while (scope_.size() > size) {
    visible_[scope_.back()] = 0;
    names_.erase(context_.kernel().ValueName(scope_.back()));
    scope_.pop_back();
  }
}

bool Scopes::Contains(ExprId id, Location location) {
  if (id.is_value()) {
    if (id.value() < visible_.size() && visible_[id.value()] != 0) return true;
    context_.Error(diag::kUndefinedValue, location, context_.kernel().ValueName(id.value()));
    return false;
  }
  for (const ExprId child : context_.pool().children(id)) {
    if (!Contains(child, location)) return false;
  }
  return true;
}

}  // namespace tarsia
