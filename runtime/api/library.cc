#include "runtime/api/library.h"

#include <vector>

#include "runtime/api/api.h"
#include "runtime/api/handles.h"

using namespace tarsia;
using namespace tarsia::api;

namespace tarsia::api {

tarsia_status UnknownLibraryModule(std::string_view name) {
  std::vector<std::string_view> names;
  for (const LibraryModule& module : LibraryModules()) names.emplace_back(module.name);
  Diagnostic error = MakeDiagnostic(diag::kApiUnknownLibraryModule, Location(), name);
  error.help = DidYouMean(name, names);
  return Fail(TARSIA_STATUS_NOT_FOUND, error);
}

}  // namespace tarsia::api

size_t tarsia_library_count(void) { return LibraryModules().size(); }

const char* tarsia_library_name(size_t index) {
  return index < LibraryModules().size() ? LibraryModules()[index].name : nullptr;
}

tarsia_status tarsia_library_text(const char* name, tarsia_blob** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (name == nullptr) return NullArgument("name");
    const LibraryModule* const found = FindLibraryModule(name);
    if (found == nullptr) return UnknownLibraryModule(name);
    return GiveBlob(std::string(found->text), out);
  });
}
