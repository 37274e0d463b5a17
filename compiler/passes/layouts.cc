#include "compiler/passes/layouts.h"

#include "compiler/passes/layout_choice.h"
#include "compiler/passes/layout_graph.h"
#include "compiler/passes/layout_writer.h"

namespace tarsia::compiler {

void AssignLayouts(tile::Form& form) {
  const LayoutGraph graph = MakeLayoutGraph(form);
  if (graph.variables.empty()) return;
  const LayoutChoice choice = ChooseLayouts(form, graph);
  WriteLayouts(graph, choice, form);
}

}  // namespace tarsia::compiler
