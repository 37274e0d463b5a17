#include "isa/validate.h"

#include "isa/diagnostics.h"
#include "isa/validate/check_kernel.h"

namespace tarsia {

std::optional<ValidModule> Validate(Module module, Diagnostics& diagnostics) {
  const size_t before = diagnostics.count();
  ValidModule out;
  for (size_t k = 0; k < module.kernels.size(); ++k) {
    const Kernel& kernel = module.kernels[k];
    if (!out.kernel_of_name_.try_emplace(kernel.name, k).second) {
      diagnostics.Error(diag::kRedefinition, kernel.location, "kernel", module.Name(kernel));
    }
    out.types_.push_back(CheckKernel(module, kernel, nullptr, diagnostics).types);
  }
  if (diagnostics.count() != before) {
    diagnostics.Sort();
    return std::nullopt;
  }
  out.module_ = std::make_shared<const Module>(std::move(module));
  return out;
}

std::optional<size_t> ValidModule::FindKernel(std::string_view name) const {
  const std::optional<StringId> id = module_->pool.strings().Find(name);
  const auto found = id ? kernel_of_name_.find(*id) : kernel_of_name_.end();
  if (found == kernel_of_name_.end()) return std::nullopt;
  return found->second;
}

}  // namespace tarsia
