// The state of one kernel that all parts of the validator share.
#ifndef TARSIA_ISA_VALIDATE_CONTEXT_H_
#define TARSIA_ISA_VALIDATE_CONTEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "isa/diagnostics.h"
#include "isa/fold.h"
#include "isa/module.h"
#include "isa/specialise.h"
#include "isa/validate.h"

namespace tarsia {

// The kernel under validation, the types of its values so far, and the list of errors.
class KernelContext {
 public:
  // `limits` is null while constants are open.
  KernelContext(Module& module, const Kernel& kernel, const TargetLimits* limits,
                Diagnostics& diagnostics)
      : module_(module),
        kernel_(kernel),
        limits_(limits),
        diagnostics_(diagnostics),
        folder_(module.pool),
        types_(kernel.value_names.size()) {}
  KernelContext(const KernelContext&) = delete;
  KernelContext& operator=(const KernelContext&) = delete;

  [[nodiscard]] const Module& module() const { return module_; }
  [[nodiscard]] const Kernel& kernel() const { return kernel_; }
  ExprPool& pool() { return module_.pool; }
  [[nodiscard]] const TargetLimits* limits() const { return limits_; }
  // Every constant has its value.
  [[nodiscard]] bool closed() const { return limits_ != nullptr; }
  ExprId Fold(ExprId id) { return folder_.Fold(id); }

  // ---- types of values ---------------------------------------------------------------------

  [[nodiscard]] size_t value_count() const { return types_.size(); }
  [[nodiscard]] const ValueType& type(uint32_t value) const { return types_[value]; }
  void SetType(uint32_t value, const ValueType& type) { types_[value] = type; }
  std::vector<ValueType> TakeTypes() { return std::move(types_); }

  // ---- errors ------------------------------------------------------------------------------

  template <typename... Args>
  Diagnostic& Error(const DiagInfo& info, Location location, const Args&... args) {
    return diagnostics_.Error(info, location, args...);
  }
  void Add(Diagnostic diagnostic) { diagnostics_.Add(std::move(diagnostic)); }
  [[nodiscard]] size_t error_count() const { return diagnostics_.count(); }
  [[nodiscard]] std::string Text(ExprId id) const { return ToString(module_.pool, id, &kernel_); }
  [[nodiscard]] std::string Describe(const ValueType& type) const;

 private:
  Module& module_;
  const Kernel& kernel_;
  const TargetLimits* limits_;
  Diagnostics& diagnostics_;
  Folder folder_;
  std::vector<ValueType> types_;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_CONTEXT_H_
