// One function for each row of isa.def, in exec_<family>.cc; a row without one does not link.
#ifndef TARSIA_VM_EXEC_H_
#define TARSIA_VM_EXEC_H_

#include "vm/agent.h"
#include "vm/plan.h"

namespace tarsia::vm {

#define EXEC(name) \
  ExecState Exec##name([[maybe_unused]] Agent& agent, [[maybe_unused]] const PlannedInst& inst)

#define INST(name, ...) EXEC(name);
#include "isa/isa.def"
#undef INST

// The jumps that close blocks: the next iteration of a `for`, and the jump to `target`.
EXEC(NextTurn);
EXEC(Jump);

}  // namespace tarsia::vm

#endif  // TARSIA_VM_EXEC_H_
