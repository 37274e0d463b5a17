// A graph that is being rewritten: its nodes in order, each with the axes and the type of its
// results. Equal nodes that are made here are one node. Internal to isa/.
#ifndef TARSIA_ISA_REWRITE_DRAFT_H_
#define TARSIA_ISA_REWRITE_DRAFT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "isa/graph/specialise.h"

namespace tarsia::rewrite {

using ValueId = uint32_t;            // of the draft
using Axes = std::vector<uint32_t>;  // indices of Draft::axes()

struct DraftAxis {
  StringId name = 0;
  int64_t extent = 0;
};

struct DraftValue {
  static constexpr size_t kInput = SIZE_MAX;
  DType dtype;
  Axes axes;
  size_t node = kInput;
  StringId name = Graph::kNoName;
};

struct DraftNode {
  GraphOp op{};
  GraphOption option = GraphOption::kNone;
  std::vector<ExprId> operands;  // values of the draft, or constants
  Axes axes;                     // between `<` and `>`
  DType dtype;                   // of `cast`
  ValueId first_result = 0;
  Location location;
  bool written = false;  // it stands in the text
};

class Draft {
 public:
  explicit Draft(const ConcreteGraph& graph);

  // ---- what there is
  [[nodiscard]] const std::vector<DraftNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<DraftAxis>& axes() const { return axes_; }
  [[nodiscard]] const std::vector<DraftValue>& values() const { return values_; }
  [[nodiscard]] const DraftValue& value(ValueId v) const { return values_[v]; }
  // The node that makes a value; null for an input.
  [[nodiscard]] const DraftNode* NodeOf(ValueId v) const;
  [[nodiscard]] bool Has(ValueId v, uint32_t axis) const;
  [[nodiscard]] int64_t Extent(uint32_t axis) const { return axes_[axis].extent; }
  // The number of elements of a value with these axes, for comparisons.
  [[nodiscard]] double Elements(std::span<const uint32_t> axes) const;
  [[nodiscard]] std::optional<double> NumberOf(ExprId constant) const;
  // The axes of all operands of a node, in the order of their first appearance.
  [[nodiscard]] Axes AxesOfOperands(const DraftNode& node) const;
  [[nodiscard]] Module& module() { return module_; }

  // ---- what is added
  // A node of the text, with the types and axes of its results.
  ValueId AddWritten(DraftNode node, std::span<const DraftValue> results);
  // From now on nodes are made for the operation at this place.
  void SetLocation(Location location) { location_ = location; }
  uint32_t AddAxis(std::string_view like, int64_t extent);
  // Gives the results of a node names.
  void SetName(ValueId v, StringId name) { values_[v].name = name; }

  ExprId Constant(double number);
  // A value without axes.
  ValueId Number(double number, DType dtype);
  // One function for each kind of result. Operands are values or constants.
  ValueId Elementwise(GraphOp op, std::vector<ExprId> operands);
  ValueId Cast(ValueId v, DType dtype);     // v itself if it has the type
  ValueId Copy(ValueId v);                  // a new node of the same elements
  ValueId Broadcast(ValueId v, Axes axes);  // along those that it lacks
  // `to[i]` in place of `from[i]`, of those that it has.
  ValueId Rename(ValueId v, std::span<const uint32_t> from, std::span<const uint32_t> to);
  ValueId Slice(ValueId v, uint32_t from, uint32_t to, int64_t start);
  ValueId Concat(ValueId a, ValueId b, uint32_t from_a, uint32_t from_b, uint32_t to);
  ValueId Iota(uint32_t axis);
  ValueId Gather(ValueId source, ValueId indices, uint32_t axis);
  ValueId SegmentSum(ValueId v, ValueId segments, uint32_t from, uint32_t to, GraphOption option);
  // The x with sum<columns>(a * x) = b; a is triangular.
  ValueId Solve(ValueId a, ValueId b, uint32_t rows, uint32_t columns, bool upper);
  // A node of one result; the same one again if there is one.
  ValueId Make(DraftNode node, const Axes& axes, DType dtype);
  // A reducer or a product over axes that all operands have. The first result.
  ValueId Reduce(GraphOp op, std::vector<ExprId> operands, Axes axes,
                 GraphOption option = GraphOption::kNone);

 private:
  using Key = std::tuple<GraphOp, GraphOption, std::vector<ExprId>, Axes, uint32_t>;
  static Key KeyOf(const DraftNode& node);
  ValueId Append(DraftNode node, std::span<const DraftValue> results);
  [[nodiscard]] Axes Union(const std::vector<ExprId>& operands) const;

  Module module_;
  std::vector<DraftAxis> axes_;
  std::vector<DraftValue> values_;
  std::vector<DraftNode> nodes_;
  std::map<Key, ValueId> made_;
  Location location_;
};

}  // namespace tarsia::rewrite

#endif  // TARSIA_ISA_REWRITE_DRAFT_H_
