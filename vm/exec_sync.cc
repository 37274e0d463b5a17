// The sync family.
#include "vm/exec.h"

namespace tarsia::vm {

// One agent runs all threads of the block in order, so their writes are visible. `--check` counts.
EXEC(Sync) {
  ++agent.block().epoch;
  return ExecState::kNext;
}

}  // namespace tarsia::vm
