// What the special registers hold.
#ifndef TARSIA_PTX_MACHINE_SPECIAL_VALUES_H_
#define TARSIA_PTX_MACHINE_SPECIAL_VALUES_H_

#include <cstdint>

#include "ptx/table/types.h"

namespace tarsia::ptx {

class Warp;

// The value of a special register for a lane, as of now.
uint64_t SpecialValue(Warp& warp, Special special, int lane);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_SPECIAL_VALUES_H_
