// Graphs as bytecode. Internal to isa/bytecode.
#ifndef TARSIA_ISA_BYTECODE_GRAPH_WRITER_H_
#define TARSIA_ISA_BYTECODE_GRAPH_WRITER_H_

#include <string>

#include "isa/bytecode/expr_writer.h"
#include "isa/module.h"

namespace tarsia::bytecode {

// The section of the module's graphs.
std::string WriteGraphs(const Module& module, ExprWriter& exprs);

// Calls `visit(location)` for every location of a graph, in the order of the format.
template <typename SomeGraph, typename Visit>
void ForEachLocation(SomeGraph& graph, const Visit& visit) {
  visit(graph.location);
  for (auto& input : graph.inputs) visit(input.location);
  for (auto& constant : graph.constants) visit(constant.location);
  for (auto& require : graph.requires_) visit(require.location);
  for (auto& type : graph.output_types) visit(type.location);
  visit(graph.return_location);
  for (auto& node : graph.nodes) visit(node.location);
}

}  // namespace tarsia::bytecode

#endif  // TARSIA_ISA_BYTECODE_GRAPH_WRITER_H_
