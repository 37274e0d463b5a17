// One function a row of the table: it picks the handler of an instruction.
#ifndef TARSIA_PTX_TABLE_BIND_H_
#define TARSIA_PTX_TABLE_BIND_H_

#include "ptx/table/code.h"

namespace tarsia::ptx {

#define PTX(name, ...) Handler Bind##name(const Inst& inst);
#include "ptx/table/instructions.def"
#undef PTX

// The handler of instructions that read a clock: it sets the clocks, then runs Inst::wrapped.
Step RunWithClock(Warp& warp, const Inst& inst);
// The handler of .aligned instructions: lanes wait for the others of their warp, then run
// Inst::wrapped together.
Step RunTogether(Warp& warp, const Inst& inst);
// The handler of the other instructions of a function that has wgmma: it checks that they leave
// alone the registers that are in flight, then runs Inst::wgmma_checked.
Step RunWgmmaChecked(Warp& warp, const Inst& inst);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_TABLE_BIND_H_
