// The element types of the operands and results of an operation. Internal to isa/graph.
#ifndef TARSIA_ISA_GRAPH_NODE_TYPES_H_
#define TARSIA_ISA_GRAPH_NODE_TYPES_H_

#include <cstdint>
#include <optional>

#include "isa/graph/context.h"

namespace tarsia {

class NodeTypes {
 public:
  explicit NodeTypes(GraphContext& context) : context_(context) {}

  // Whether each operand, whose type is known, is a value or a constant as it must be, with or
  // without axes. The first check of a node.
  bool CheckForms(const GraphNode& node);
  // Then checks the types of the operands, and returns the element type of the first result, an
  // expression while constants are open. Nothing after an error.
  std::optional<ExprId> Of(const GraphNode& node);

 private:
  bool CheckForm(size_t operand);
  bool CheckConstant(size_t operand);
  // The type that the operands of OperandUse::kCommon have; none if there are none of them, or if
  // it is open. Nothing after an error.
  std::optional<ExprId> Common();
  bool CheckClass(size_t operand, ExprId dtype);
  bool CheckQuotients(size_t operand, DType dtype);
  bool CheckLiteral(size_t operand, ExprId dtype);
  std::optional<ExprId> ResultOf(ExprId common);
  std::optional<ExprId> Given();
  ExprId Mapped(ExprId dtype, DType (*map)(DType));

  [[nodiscard]] ExprId Operand(size_t i) const { return context_.graph().Operands(*node_)[i]; }
  [[nodiscard]] Location At(size_t i) const { return context_.graph().OperandLocation(*node_, i); }
  [[nodiscard]] ExprId TypeOf(size_t operand) const {
    const ExprId id = Operand(operand);
    return id.is_value() ? context_.type(id.value()).dtype : ExprId();
  }

  GraphContext& context_;
  const GraphNode* node_ = nullptr;
  const GraphRow* row_ = nullptr;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_GRAPH_NODE_TYPES_H_
