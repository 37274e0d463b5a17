// Which LLVM makes the code: with the shared library it may be newer than the headers.
#include <fmt/format.h>
#include <llvm-c/Core.h>

#include "compiler/compile.h"

namespace tarsia::compiler {

std::string LlvmVersion() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

}  // namespace tarsia::compiler
