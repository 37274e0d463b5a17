// Takes out of a kernel what its constants say never runs: the arm of an `if` that is not taken,
// loops without a turn, and what stands behind a block that does not end or ends the kernel. What
// remains is all that the rest of the system sees: checks, views of pointers, memory, code.
#ifndef TARSIA_ISA_PRUNE_H_
#define TARSIA_ISA_PRUNE_H_

#include "isa/module.h"

namespace tarsia {

// The constants of the kernel have been put in and its expressions folded. Where an arm of an `if`
// remains, it is the first one and the condition is `true`. Values are numbered anew.
void Prune(Module& module, Kernel& kernel);

// Whether the block of an instruction runs exactly once whenever the instruction does.
bool RunsItsBlock(const ExprPool& pool, const Kernel& kernel, const Inst& inst);

}  // namespace tarsia

#endif  // TARSIA_ISA_PRUNE_H_
