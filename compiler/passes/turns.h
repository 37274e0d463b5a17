// How often a region runs, as far as that is known before the launch.
#ifndef TARSIA_COMPILER_PASSES_TURNS_H_
#define TARSIA_COMPILER_PASSES_TURNS_H_

#include "compiler/cost/cost.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// Of a region (0 or 1) of an operation that is done `turns` times. A loop with unknown bounds runs
// 16 times, and a branch always, unless its condition depends on the counter of a loop with known
// bounds; more than 2^20 times count as that.
Cost TurnsIn(const tile::Form& form, const tile::Operation& op, int region, Cost turns);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_TURNS_H_
