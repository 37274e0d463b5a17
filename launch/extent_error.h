// The error of a tile in global memory whose extent cannot be.
#ifndef TARSIA_LAUNCH_EXTENT_ERROR_H_
#define TARSIA_LAUNCH_EXTENT_ERROR_H_

#include <cstddef>
#include <cstdint>

#include "isa/program.h"

namespace tarsia::launch {

// That an extent of the tile that an instruction makes is outside of 0 to 2^40.
Diagnostic ExtentError(const Program& program, const Inst& inst, size_t dimension, int64_t extent);

}  // namespace tarsia::launch

#endif  // TARSIA_LAUNCH_EXTENT_ERROR_H_
