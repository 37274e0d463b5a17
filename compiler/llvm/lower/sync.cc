// The sync family.
#include "compiler/llvm/lower/lower.h"

namespace tarsia::compiler {

// A barrier of the block: after it, all threads see what was written before it to shared and global
// memory.
LOWER(Sync) {
  e.function().Barrier();
  return OkStatus();
}

}  // namespace tarsia::compiler
