// Which loads may be `ld.global.nc`.
#ifndef TARSIA_COMPILER_SELECT_READ_ONLY_H_
#define TARSIA_COMPILER_SELECT_READ_ONLY_H_

#include <cstddef>
#include <cstdint>

#include "isa/program.h"

namespace tarsia::compiler {

// Whether instruction `number` may read the memory tile `value` by `ld.global.nc`: it is in global
// memory, and the kernel writes it through no view (a launch's buffers that are written overlap no
// others), nor do earlier kernels until a `griddep.wait` before it. ptxas moves such loads over
// barriers, so those in a loop with barriers are not: their results would take registers across the
// barrier, and spill where tiles nearly fill them.
bool IsReadOnly(const Program& program, size_t number, uint32_t value);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_READ_ONLY_H_
