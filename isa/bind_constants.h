// Gives constants their values: from bindings or their defaults. Internal to isa/.
#ifndef TARSIA_ISA_BIND_CONSTANTS_H_
#define TARSIA_ISA_BIND_CONSTANTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "isa/fold.h"
#include "isa/module.h"
#include "isa/program.h"
#include "isa/specialise.h"
#include "support/diagnostic.h"

namespace tarsia {

// The constants of one kernel or graph.
class ConstantBinder {
 public:
  // `what` is "kernel" or "graph", `name` its name. Errors as in isa/specialise.h.
  ConstantBinder(Module& module, std::string_view what, std::string_view name,
                 Diagnostics& diagnostics, Diagnostics* of_bindings)
      : module_(module),
        what_(what),
        name_(name),
        diagnostics_(diagnostics),
        of_bindings_(of_bindings),
        folder_(module.pool) {}

  // False after an error, be it of a binding.
  bool Bind(const std::vector<Constant>& constants, const std::vector<Binding>& bindings);
  // After Bind.
  void CheckRequirements(const std::vector<Require>& requirements);

  // Replaces the constants by their values.
  [[nodiscard]] Folder& folder() { return folder_; }
  [[nodiscard]] std::vector<BoundConstant> TakeConstants() { return std::move(constants_); }
  [[nodiscard]] const std::vector<BoundConstant>& constants() const { return constants_; }

 private:
  void Refuse(const Binding& binding, Diagnostic error);
  void RefuseUnknown(const Binding& binding, const std::vector<std::string_view>& names);
  void RefuseText(const Binding& binding, Diagnostic error);
  ExprId ParseBinding(const Binding& binding, const Constant& constant);
  void BindConstant(const Constant& constant, ExprId value);
  [[nodiscard]] bool Failed(StringId name) const;
  [[nodiscard]] bool Mentions(ExprId id, std::string_view name) const;
  [[nodiscard]] std::string ConstantsIn(ExprId id) const;

  Module& module_;
  std::string_view what_;
  std::string_view name_;
  Diagnostics& diagnostics_;
  Diagnostics* const of_bindings_;
  Folder folder_;
  std::vector<BoundConstant> constants_;
  std::vector<StringId> failed_;  // constants that have no value
  bool wrong_binding_ = false;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_BIND_CONSTANTS_H_
