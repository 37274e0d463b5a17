// A graph: mathematics on whole tensors with named axes (docs/graphs.md). It is a part of a module,
// as kernels are, and is made by the same parser and the same reader of bytecode.
//
// Everything is flat. Values are numbered: the inputs first, then the results of the nodes, in
// order. An operand is a value, or an expression of constants. A value without a name is an inner
// part of the statement that ends with the next named one; it is used once.
#ifndef TARSIA_ISA_GRAPH_GRAPH_H_
#define TARSIA_ISA_GRAPH_GRAPH_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "isa/constant.h"
#include "isa/graph/op.h"
#include "layout/text/expr.h"
#include "support/diagnostic.h"

namespace tarsia {

// An axis where it is written: `i:n`, or `i` alone (without extent).
struct AxisExpr {
  StringId name = 0;
  ExprId extent;
  Location location;
};

// A part of an array of the graph.
struct IndexRange {
  uint32_t first = 0;
  uint32_t count = 0;
};

struct GraphInput {
  ExprId dtype;
  IndexRange axes;  // in Graph::axes
  Location location;
};

// What stands after `->`.
struct GraphOutputType {
  static constexpr uint32_t kNotInPlace = UINT32_MAX;
  ExprId dtype;
  IndexRange axes;                  // in the order in memory
  uint32_t in_place = kNotInPlace;  // the input whose memory it takes
  Location location;
};

struct GraphNode {
  GraphOp op{};
  GraphOption option = GraphOption::kNone;
  uint32_t first_result = 0;  // value; as many as the row has
  IndexRange operands;        // in Graph::operands
  IndexRange axes;            // in Graph::axes: those between `<` and `>` in the order of the form
  ExprId dtype;               // of AxesForm::kType
  Location location;
};

struct Graph final : ValueNames {
  static constexpr StringId kNoName = UINT32_MAX;

  StringId name = 0;
  Location location;
  std::vector<GraphInput> inputs;  // input i is value i
  std::vector<Constant> constants;
  std::vector<Require> requires_;
  std::vector<GraphNode> nodes;
  std::vector<ExprId> operands;
  std::vector<AxisExpr> axes;
  std::vector<GraphOutputType> output_types;  // none if the text does not say
  std::vector<uint32_t> outputs;              // the values of `return`; they have names

  std::vector<std::string_view> value_names;  // by value; views into the module's strings
  std::vector<StringId> value_name_ids;       // kNoName: an inner part of a statement

  // From text; else empty or none. Parallel to `operands` and `outputs`.
  std::vector<Location> operand_locations;
  std::vector<Location> output_locations;
  Location return_location;
  uint32_t close_line = 0;

  [[nodiscard]] std::string_view ValueName(uint32_t value) const override {
    return value < value_names.size() ? value_names[value] : std::string_view("?");
  }
  [[nodiscard]] bool HasName(uint32_t value) const { return value_name_ids[value] != kNoName; }
  [[nodiscard]] std::span<const ExprId> Operands(const GraphNode& node) const {
    return {operands.data() + node.operands.first, node.operands.count};
  }
  [[nodiscard]] std::span<const AxisExpr> Axes(IndexRange range) const {
    return {axes.data() + range.first, range.count};
  }
  // The location of an operand, or else of the node.
  [[nodiscard]] Location OperandLocation(const GraphNode& node, size_t i) const {
    const size_t at = node.operands.first + i;
    return at < operand_locations.size() ? operand_locations[at] : node.location;
  }
  [[nodiscard]] Location OutputLocation(size_t i) const {
    return i < output_locations.size() ? output_locations[i] : return_location;
  }
  // The node whose result the value is; null for an input.
  [[nodiscard]] const GraphNode* NodeOf(uint32_t value) const;
  // Adds a value; its name is a string of the module, or kNoName.
  uint32_t AddValue(StringId id, std::string_view text) {
    value_name_ids.push_back(id);
    value_names.push_back(text);
    return static_cast<uint32_t>(value_names.size() - 1);
  }
};

// Whether text can express the constant expression as an operand: no values, and no `~k` or keyword
// that only a list or a call of layouts can hold.
bool IsGraphConstant(const ExprPool& pool, ExprId id);
// Why no constant and no input's axis can have the name: isa/names.h, and the words of graphs.
std::string_view ReservedInGraphs(std::string_view name);

}  // namespace tarsia

#endif  // TARSIA_ISA_GRAPH_GRAPH_H_
