#include "isa/validate.h"

#include <unordered_set>

#include "isa/checker.h"

namespace tarsia {

std::optional<ValidModule> Validate(Module module, Diagnostics& diagnostics) {
  const size_t before = diagnostics.count();
  ValidModule out;
  std::unordered_set<StringId> names;
  for (size_t k = 0; k < module.kernels.size(); ++k) {
    Kernel& kernel = module.kernels[k];
    if (!names.insert(kernel.name).second) {
      diagnostics.Error(diag::kRedefinition, kernel.location, "kernel", module.Name(kernel));
    }
    Checker checker(module, kernel, nullptr, diagnostics);
    checker.Run();
    out.types_.push_back(checker.TakeTypes());
  }
  if (diagnostics.count() != before) {
    diagnostics.Sort();
    return std::nullopt;
  }
  out.module_ = std::make_shared<const Module>(std::move(module));
  return out;
}

}  // namespace tarsia
