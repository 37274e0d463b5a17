// The axes of the result of an operation. Internal to isa/graph.
#ifndef TARSIA_ISA_GRAPH_NODE_AXES_H_
#define TARSIA_ISA_GRAPH_NODE_AXES_H_

#include <optional>
#include <span>
#include <string_view>

#include "isa/graph/context.h"

namespace tarsia {

class NodeAxes {
 public:
  explicit NodeAxes(GraphContext& context) : context_(context) {}

  // The axes of the results, in the order of their first appearance among the operands, whose types
  // are known. Nothing after an error.
  std::optional<AxisList> Of(const GraphNode& node);

 private:
  // One function for each form; those of one form have the word of the operation where they differ.
  std::optional<AxisList> New();
  std::optional<AxisList> Reduced(bool new_last);
  std::optional<AxisList> Gathered();
  std::optional<AxisList> Renamed();
  std::optional<AxisList> Mapped();
  std::optional<AxisList> Joined();
  std::optional<AxisList> RowsColumns();

  // The axes of an operand; none for a constant.
  [[nodiscard]] std::span<const uint32_t> AxesOf(size_t operand) const;
  [[nodiscard]] AxisList Union() const;
  // The written axis with this number, which the operand must have.
  std::optional<uint32_t> Needed(size_t written, size_t operand);
  // Replaces one axis in a list; an error if the list has the other one already.
  bool Replace(AxisList& list, uint32_t from, uint32_t to, Location location);
  // Appends an axis; an error if the list has it already.
  bool Append(AxisList& list, uint32_t axis, Location location);
  // `help`: if it is not that of the diagnostic. Returns false.
  bool ReportTwice(uint32_t axis, Location location, std::string_view what,
                   std::string_view help = {});
  bool CheckSlice(uint32_t from, uint32_t to);
  bool CheckExpand(uint32_t from, uint32_t to);
  // Whether two extents are not known to differ; else an error with the message.
  bool CheckEqual(uint32_t a, uint32_t b);
  ExprId SumOfExtents(uint32_t a, uint32_t b);
  [[nodiscard]] const AxisExpr& Written(size_t i) const {
    return context_.graph().Axes(node_->axes)[i];
  }
  [[nodiscard]] std::string_view Word() const { return Row(node_->op).word; }

  GraphContext& context_;
  const GraphNode* node_ = nullptr;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_GRAPH_NODE_AXES_H_
