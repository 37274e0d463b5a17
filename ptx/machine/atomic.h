// The update of memory by atom and red, for other instructions that do the same (exec/atomic.cc).
#ifndef TARSIA_PTX_MACHINE_ATOMIC_H_
#define TARSIA_PTX_MACHINE_ATOMIC_H_

#include <cstdint>

#include "ptx/table/code.h"

namespace tarsia::ptx {

// Updates an element of 2, 4 or 8 bytes as the instruction's operation (.add, .min..) says. What
// memory held.
uint64_t UpdateMemory(const Inst& inst, Type type, uint8_t* at, uint64_t operand);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_ATOMIC_H_
