#include "runtime/library.h"

namespace tarsia::runtime {

const LibraryModule* FindLibraryModule(std::string_view name) {
  for (const LibraryModule& module : LibraryModules()) {
    if (module.name == name) return &module;
  }
  return nullptr;
}

}  // namespace tarsia::runtime
