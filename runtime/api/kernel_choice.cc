#include "runtime/api/kernel_choice.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "compiler/pass.h"
#include "runtime/api/api.h"

namespace tarsia::api {

tarsia_status ReadBindings(const tarsia_binding* bindings, size_t count,
                           std::vector<Binding>* out) {
  if (count != 0 && bindings == nullptr) return NullArgument("options.bindings");
  for (size_t i = 0; i < count; ++i) {
    tarsia_binding binding = {};
    const auto status = ReadElement(bindings, i, "options.bindings", &binding);
    if (status != TARSIA_STATUS_OK) return status;
    if (binding.name == nullptr) return NullArgument("options.bindings[].name");
    if (binding.text == nullptr) return NullArgument("options.bindings[].text");
    out->push_back({binding.name, binding.text});
  }
  return TARSIA_STATUS_OK;
}

tarsia_status ReadPasses(const char* const* names, size_t count, std::vector<std::string>* out) {
  if (count != 0 && names == nullptr) return NullArgument("options.without");
  for (size_t i = 0; i < count; ++i) {
    if (names[i] == nullptr) return NullArgument("options.without[]");
    out->emplace_back(names[i]);
  }
  const Status status = compiler::CheckOptional(*out);
  return status.ok() ? TARSIA_STATUS_OK : FailWith(status.error(), TARSIA_STATUS_INVALID_ARGUMENT);
}

tarsia_status FindKernelName(const tarsia_module& module, const char* wanted, std::string* out) {
  if (wanted != nullptr) {
    size_t index = 0;
    *out = wanted;
    return tarsia_module_find_kernel(&module, wanted, &index);
  }
  const size_t count = module.kernels.size();
  const std::string& name = module.source->name();
  if (count == 0) {
    Diagnostic error = MakeDiagnostic(diag::kApiNoKernel, Location(), name);
    if (!module.valid.module().graphs.empty()) {
      error.help = "it has graphs, which `tarsia reduce` computes";
    }
    return Fail(TARSIA_STATUS_INVALID_ARGUMENT, error);
  }
  if (count > 1) {
    Diagnostic error = MakeDiagnostic(diag::kApiKernelNotNamed, Location(), name, count);
    std::vector<std::string_view> names;
    for (const KernelDescription& kernel : module.kernels) names.push_back(kernel.name);
    error.help = fmt::format("the kernels are {}", fmt::join(names, ", "));
    return Fail(TARSIA_STATUS_INVALID_ARGUMENT, error);
  }
  *out = module.kernels[0].name;
  return TARSIA_STATUS_OK;
}

tarsia_status RejectOne(const tarsia_module& module, Diagnostic error,
                        tarsia_diagnostics** errors) {
  const tarsia_status status = StatusOf(error, TARSIA_STATUS_REJECTED);
  Diagnostics list;
  list.Add(std::move(error));
  return Reject(status, module.source, std::move(list),
                status == TARSIA_STATUS_REJECTED ? errors : nullptr);
}

}  // namespace tarsia::api
