// How often a region runs, as far as that is known before the launch.
#ifndef TARSIA_COMPILER_PASSES_TURNS_H_
#define TARSIA_COMPILER_PASSES_TURNS_H_

#include "compiler/cost/cost.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// Of the regions of an operation that is done `turns` times. A loop with unknown bounds runs 16
// times; more than 2^20 times count as that.
Cost TurnsIn(const tile::Form& form, const tile::Operation& op, Cost turns);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_TURNS_H_
