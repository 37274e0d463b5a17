// Removes the code of a kernel that never runs with its constants: the arm of an `if` that is not
// taken, loops without an iteration, and code after a block that does not end or ends the kernel.
// The rest of the system sees only what remains: checks, views of pointers, memory, code.
#ifndef TARSIA_ISA_PRUNE_H_
#define TARSIA_ISA_PRUNE_H_

#include "isa/module.h"

namespace tarsia {

// The constants of the kernel must be substituted and its expressions folded. If one arm of an `if`
// remains, it becomes the first one and the condition `true`. Values are renumbered.
void Prune(Module& module, Kernel& kernel);

// Whether the block of an instruction runs exactly once whenever the instruction does.
bool RunsItsBlock(const ExprPool& pool, const Kernel& kernel, const Inst& inst);

}  // namespace tarsia

#endif  // TARSIA_ISA_PRUNE_H_
