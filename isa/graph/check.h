// Checks a graph: names, axes and their extents, element types, outputs.
#ifndef TARSIA_ISA_GRAPH_CHECK_H_
#define TARSIA_ISA_GRAPH_CHECK_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "isa/graph/graph.h"
#include "isa/module.h"

namespace tarsia {

// An axis has one extent in the whole graph.
struct GraphAxis {
  StringId name = 0;
  ExprId extent;  // folded; a number once every constant has its value
  Location location;
};

// The type of a value while constants may be open.
struct GraphType {
  bool known = false;          // false after an error: its uses report nothing
  ExprId dtype;                // folded
  std::vector<uint32_t> axes;  // indices of GraphFacts::axes, in order
};

struct GraphFacts {
  std::vector<GraphAxis> axes;   // in the order of their first appearance
  std::vector<GraphType> types;  // by value
};

// A constant and its value, an expression without names.
struct ConstantValue {
  StringId name = 0;
  ExprId value;
};

// Reports every independent error. Without `values`, what depends on constants is left open; with
// the values of all constants everything is decided. Adds expressions to the pool of the module.
GraphFacts CheckGraph(Module& module, const Graph& graph, const std::vector<ConstantValue>* values,
                      Diagnostics& diagnostics);

// The most elements that a value may have, and the most bytes: its bits are a number of 64 bits,
// whether it is ever in memory or not.
inline constexpr int64_t kMaxGraphElements = int64_t{1} << 62;
inline constexpr uint64_t kMaxGraphBytes = uint64_t{1} << 60;
// The product of extents from 0 to 2^40; nothing if it is more than kMaxGraphElements.
std::optional<int64_t> CountElements(std::span<const int64_t> extents);

}  // namespace tarsia

#endif  // TARSIA_ISA_GRAPH_CHECK_H_
