// The sync family.
#include "compiler/llvm/lower.h"

namespace tarsia::compiler {

// A barrier of the block: what was written before to shared and global memory is seen after.
LOWER(Sync) {
  e.Barrier();
  return OkStatus();
}

}  // namespace tarsia::compiler
