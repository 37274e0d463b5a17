// One function a row of the table: it picks the handler of an instruction.
#ifndef TARSIA_VM_PTX_BIND_H_
#define TARSIA_VM_PTX_BIND_H_

#include "vm/ptx/code.h"

namespace tarsia::ptx {

#define PTX(name, ...) Handler Bind##name(const Inst& inst);
#include "vm/ptx/instructions.def"
#undef PTX

// The handler of instructions that read a clock: it sets the clocks, then runs Inst::behind.
Step RunWithClock(Warp& warp, const Inst& inst);
// The handler of .aligned instructions: lanes wait for the others of their warp, then run
// Inst::behind together.
Step RunTogether(Warp& warp, const Inst& inst);

}  // namespace tarsia::ptx

#endif  // TARSIA_VM_PTX_BIND_H_
