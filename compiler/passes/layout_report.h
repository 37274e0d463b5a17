// What the pass `layouts` decides, for people.
#ifndef TARSIA_COMPILER_PASSES_LAYOUT_REPORT_H_
#define TARSIA_COMPILER_PASSES_LAYOUT_REPORT_H_

#include <string>

#include "compiler/cost/cost.h"
#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// For each register tile of a form before the pass: its layout, who asked for it, and what the
// kernel would cost more with the best other one; each conversion; and each tile in shared memory
// whose layout the text leaves open. Costs are in cycles of a warp (compiler/cost/cost.h); `whole`
// is that of the program after all passes (predicted_work.h).
std::string LayoutReport(tile::Form form, Target target, Cost whole);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_LAYOUT_REPORT_H_
