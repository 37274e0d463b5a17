#include "runtime/library.h"

#include <string>

#include "isa/text/parser.h"

namespace tarsia::runtime {

const LibraryModule* FindLibraryModule(std::string_view name) {
  for (const LibraryModule& module : LibraryModules()) {
    if (module.name == name) return &module;
  }
  return nullptr;
}

ValidModule ValidLibraryModule(std::string_view name) {
  const SourceFile source(std::string(name) + ".tsa", std::string(FindLibraryModule(name)->text));
  Diagnostics diagnostics;
  return *Validate(*Parse(source, diagnostics), diagnostics);
}

}  // namespace tarsia::runtime
