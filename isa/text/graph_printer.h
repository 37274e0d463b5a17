// Graph to text: canonical. Internal to isa/.
#ifndef TARSIA_ISA_TEXT_GRAPH_PRINTER_H_
#define TARSIA_ISA_TEXT_GRAPH_PRINTER_H_

#include <set>
#include <string>

#include "isa/module.h"
#include "isa/text/trivia.h"

namespace tarsia {

// Appends the graph. `trivia` is null if there are no comments to keep.
void PrintGraph(const Module& module, const Graph& graph, Trivia* trivia, std::string& out);

// Adds the lines on which the printer starts an item.
void AddItemLines(const Graph& graph, std::set<uint32_t>& lines);

}  // namespace tarsia

#endif  // TARSIA_ISA_TEXT_GRAPH_PRINTER_H_
