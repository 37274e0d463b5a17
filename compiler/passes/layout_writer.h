// Writes chosen layouts into a program: on the type of every register tile, as `convert_layout`
// where an instruction needs another layout, and in the annotations.
#ifndef TARSIA_COMPILER_PASSES_LAYOUT_WRITER_H_
#define TARSIA_COMPILER_PASSES_LAYOUT_WRITER_H_

#include "compiler/passes/layout_choice.h"
#include "compiler/passes/layout_graph.h"
#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// `graph` and `choice` are of this form.
void WriteLayouts(const LayoutGraph& graph, const LayoutChoice& choice, Target target,
                  tile::Form& form);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_LAYOUT_WRITER_H_
