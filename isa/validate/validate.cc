#include "isa/validate.h"

#include "isa/diagnostics.h"
#include "isa/graph/check.h"
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
  for (size_t g = 0; g < module.graphs.size(); ++g) {
    const Graph& graph = module.graphs[g];
    const bool is_kernel = out.kernel_of_name_.contains(graph.name);
    if (!out.graph_of_name_.try_emplace(graph.name, g).second || is_kernel) {
      diagnostics.Error(diag::kRedefinition, graph.location, "graph", module.Name(graph));
    }
    CheckGraph(module, graph, nullptr, diagnostics);
  }
  if (diagnostics.count() != before) {
    diagnostics.Sort();
    return std::nullopt;
  }
  out.module_ = std::make_shared<const Module>(std::move(module));
  return out;
}

namespace {

std::optional<size_t> FindIn(const std::unordered_map<StringId, size_t>& names,
                             std::optional<StringId> id) {
  const auto found = id ? names.find(*id) : names.end();
  if (found == names.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::optional<size_t> ValidModule::FindKernel(std::string_view name) const {
  return FindIn(kernel_of_name_, module_->pool.strings().Find(name));
}

std::optional<size_t> ValidModule::FindGraph(std::string_view name) const {
  return FindIn(graph_of_name_, module_->pool.strings().Find(name));
}

}  // namespace tarsia
