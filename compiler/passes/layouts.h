// The pass `layouts`.
#ifndef TARSIA_COMPILER_PASSES_LAYOUTS_H_
#define TARSIA_COMPILER_PASSES_LAYOUTS_H_

#include <string>

#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// Gives every register tile a layout over the threads of a block. Written layouts stay; for the
// others it takes the cheapest of those that instructions of the target ask for
// (layout_candidates.h). Where an instruction needs a tile in another layout it inserts
// `convert_layout`. Deterministic.
void AssignLayouts(tile::Form& form, Target target);

// What the pass promises: every register tile has a layout, and each instruction meets its tiles
// where its rule needs them. The first exception; empty if there is none.
std::string FindLayoutFault(const tile::Form& form);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_LAYOUTS_H_
