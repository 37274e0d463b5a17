// The values of the names in a kernel's text, by scope. Internal to isa/.
#ifndef TARSIA_ISA_TEXT_VALUE_SCOPE_H_
#define TARSIA_ISA_TEXT_VALUE_SCOPE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "isa/module.h"
#include "layout/text/expr_parser.h"

namespace tarsia {

class ValueScope final : public ValueResolver {
 public:
  static constexpr uint32_t kUnbound = UINT32_MAX;

  ValueScope(Module* module, Diagnostics* diagnostics)
      : module_(*module), diagnostics_(*diagnostics) {}

  // Sets the kernel whose values are used; null: none.
  void Enter(Kernel* kernel) { kernel_ = kernel; }
  std::optional<ExprId> ResolveValue(std::string_view name, Location location) override;
  // Makes a value of the kernel and binds the name to it until the end of the scope.
  uint32_t NewValue(std::string_view name);
  // The value of a name here, or kUnbound.
  [[nodiscard]] uint32_t Bound(std::string_view name) const;
  // The number of bound names; LeaveScope removes those after the given number.
  [[nodiscard]] size_t scope() const { return scope_.size(); }
  void LeaveScope(size_t size);

 private:
  [[nodiscard]] std::vector<std::string_view> VisibleNames() const;

  Module& module_;
  Diagnostics& diagnostics_;
  Kernel* kernel_ = nullptr;
  std::vector<uint32_t> bindings_;  // by StringId: the current value of a name
  std::vector<StringId> scope_;     // names bound, innermost last
};

}  // namespace tarsia

#endif  // TARSIA_ISA_TEXT_VALUE_SCOPE_H_
