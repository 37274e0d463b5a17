// The pass `registers`.
#ifndef TARSIA_COMPILER_PASSES_REGISTERS_H_
#define TARSIA_COMPILER_PASSES_REGISTERS_H_

#include <cstdint>
#include <vector>

#include "compiler/facts/program_facts.h"
#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// The most registers that a thread of a block of so many warps can have on a GPU with 65,536
// registers a multiprocessor, a multiple of the 8 by which they are given out; at most 255. Each
// quarter of a multiprocessor has a quarter of them and of the warps, rounded up: 14 warps need as
// many as 16.
int64_t MostRegistersOfThread(int64_t warps);

// Where the tiles that are live at the same time need more registers than a thread can have, writes
// the number that it can have down as the bound of the kernel (its clause `registers`), unless the
// text has one. ptxas without a bound aims at more blocks on a multiprocessor, and for such tiles
// has been seen to take 32 registers and 6 to 10 times as much local memory. Where rings of
// asynchronous copies allow only few blocks on a multiprocessor, the bound is what these leave to a
// thread: ptxas does not know that memory, and spills for blocks that have no room.
void BoundRegisters(tile::Form& form, Target target);

// The line where the tiles need more registers than a thread may have, and what would mend it; or
// nothing. The form is one after the pass `layouts`.
std::vector<LineAdvice> AdviceOnRegisters(const tile::Form& form);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_REGISTERS_H_
