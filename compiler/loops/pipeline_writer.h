// A loop as its plan wants it: rings, the first copies, the steady loop, and the last turns.
#ifndef TARSIA_COMPILER_LOOPS_PIPELINE_WRITER_H_
#define TARSIA_COMPILER_LOOPS_PIPELINE_WRITER_H_

#include <cstdint>

#include "compiler/loops/pipeline_plan.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// Adds them to the end of a region, in place of the loop of the plan, with so many stages. False: a
// tile in shared memory has a layout that no ring has; the form is then of no use.
bool WritePipeline(tile::Form& form, const PipelinePlan& plan, int64_t stages, tile::RegionId into);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LOOPS_PIPELINE_WRITER_H_
