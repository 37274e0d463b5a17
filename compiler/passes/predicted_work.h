// The published formula of whole programs (docs/compiler.md, "The formula of the cost").
#ifndef TARSIA_COMPILER_PASSES_PREDICTED_WORK_H_
#define TARSIA_COMPILER_PASSES_PREDICTED_WORK_H_

#include <cstdint>
#include <vector>

#include "compiler/cost/cost.h"
#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

struct LineWork {
  uint32_t line = 0;  // of the program's text
  Work work;
};

// What one warp does in a launch, by line of the text in rising order. The form is one after the
// pass `layouts`, or after a later one: then conversions and barriers count as the passes wrote
// them. Counted are barriers and instructions with register tiles; of a conditional, both
// branches.
std::vector<LineWork> PredictWorkByLine(const tile::Form& form, Target target);
// Their sum.
Work PredictWork(const tile::Form& form, Target target);
// That of a region, done once.
Work PredictWork(const tile::Form& form, Target target, tile::RegionId region);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_PREDICTED_WORK_H_
