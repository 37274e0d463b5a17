#include "tools/code_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tools/handles.h"

namespace tarsia::tools {
namespace {

constexpr CodeForm kForms[] = {
    {"ptx", TARSIA_CODE_PTX, ".ptx"},
    {"llvm", TARSIA_CODE_LLVM, ".ll"},
    {"cubin", TARSIA_CODE_CUBIN, ".cubin"},
    {"sass", TARSIA_CODE_SASS, ".sass"},
    {"layouts", TARSIA_CODE_LAYOUTS, ".layouts.txt"},
    {"mix", TARSIA_CODE_MIX, ".mix.txt"},
    {"facts", TARSIA_CODE_FACTS, ".facts.txt"},
};

}  // namespace

const CodeForm* FindCodeForm(std::string_view name) {
  const auto* found = std::ranges::find(kForms, name, &CodeForm::name);
  return found == std::end(kForms) ? nullptr : found;
}

tarsia_status ResourcesText(const tarsia_code* code, std::string* out) {
  auto resources = Sized<tarsia_code_resources>();
  const auto status = tarsia_code_assemble(code, &resources);
  if (status != TARSIA_STATUS_OK) return status;
  auto info = Sized<tarsia_code_info>();
  tarsia_code_get(code, &info);
  *out = fmt::format(
      "{} for {}: {} registers, {} bytes spilled ({} stored, {} loaded), stack {}, shared {}, {} "
      "threads per block, PTX {} bytes, cubin {} bytes\n",
      info.entry, info.target, resources.registers,
      resources.spill_store_bytes + resources.spill_load_bytes, resources.spill_store_bytes,
      resources.spill_load_bytes, resources.stack_bytes, info.shared_bytes, info.threads,
      info.ptx_bytes, resources.cubin_bytes);
  return TARSIA_STATUS_OK;
}

}  // namespace tarsia::tools
