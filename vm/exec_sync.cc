// The sync family.
#include "vm/exec.h"

namespace tarsia::vm {

// One agent runs all threads of the block, in order: what they wrote is there. `--check` counts.
EXEC(Sync) {
  ++agent.block().epoch;
  return ExecState::kNext;
}

}  // namespace tarsia::vm
