// NVIDIA's PTX compiler as a library in this process: the code of ptxas without its process. It is
// available if the build includes it (the CMake option TARSIA_NVPTXCOMPILER).
#ifndef TARSIA_COMPILER_ASSEMBLE_LIBRARY_H_
#define TARSIA_COMPILER_ASSEMBLE_LIBRARY_H_

#include <string>
#include <string_view>

#include "compiler/target.h"
#include "support/result.h"

namespace tarsia::compiler {

// "nvptxcompiler 13.5"; "" if the build does not include it.
std::string PtxLibraryVersion();

struct PtxLibraryOutput {
  std::string cubin;
  std::string log;  // as `ptxas -v` prints it
};

// Errors: PTX that it refuses (its messages), no library. Thread-safe.
Result<PtxLibraryOutput> AssembleInProcess(std::string_view ptx, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_ASSEMBLE_LIBRARY_H_
