// The standard library: the modules of examples/*.tsa and kernels/*.tsa, embedded at build time
// (runtime/CMakeLists.txt).
#ifndef TARSIA_RUNTIME_LIBRARY_H_
#define TARSIA_RUNTIME_LIBRARY_H_

#include <span>
#include <string_view>

#include "isa/validate.h"

namespace tarsia::runtime {

struct LibraryModule {
  const char* name;       // the file's, without `.tsa`
  std::string_view text;  // of the file
};

// By name. Made by the build.
std::span<const LibraryModule> LibraryModules();
// Null if there is no module of that name.
const LibraryModule* FindLibraryModule(std::string_view name);
// The module, which is there, parsed and validated.
ValidModule ValidLibraryModule(std::string_view name);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_LIBRARY_H_
