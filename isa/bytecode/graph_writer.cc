#include "isa/bytecode/graph_writer.h"

#include <vector>

#include "isa/bytecode/format.h"

namespace tarsia::bytecode {
namespace {

class GraphWriter {
 public:
  GraphWriter(const Graph& graph, ExprWriter& exprs) : graph_(graph), exprs_(exprs) {
    uint32_t named = 0;
    for (uint32_t value = 0; value < graph.value_names.size(); ++value) {
      numbers_.push_back(named);
      if (graph.HasName(value)) ++named;
    }
  }

  void Write(ByteWriter& out) {
    out.Leb(exprs_.String(graph_.name));
    out.Leb(graph_.inputs.size());
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      exprs_.Expr(graph_.inputs[i].dtype, out);
      Axes(graph_.inputs[i].axes, true, out);
      out.Leb(exprs_.String(graph_.value_name_ids[i]));
    }
    exprs_.Constants(graph_.constants, out);
    exprs_.Requires(graph_.requires_, out);
    out.Leb(graph_.output_types.size());
    for (const GraphOutputType& type : graph_.output_types) {
      exprs_.Expr(type.dtype, out);
      Axes(type.axes, true, out);
      out.Leb(type.in_place == GraphOutputType::kNotInPlace ? 0 : uint64_t{type.in_place} + 1);
    }
    ByteWriter body;
    Body(body);
    out.Leb(body.size());
    out.Bytes(body.bytes());
  }

 private:
  void Axes(IndexRange range, bool count, ByteWriter& out) {
    if (count) out.Leb(range.count);
    for (const AxisExpr& axis : graph_.Axes(range)) {
      out.Leb(exprs_.String(axis.name));
      exprs_.Expr(axis.extent, out);
    }
  }

  void Body(ByteWriter& out) {
    size_t statements = 0;
    for (const GraphNode& node : graph_.nodes) {
      if (graph_.HasName(node.first_result)) ++statements;
    }
    out.Leb(statements);
    for (const GraphNode& node : graph_.nodes) {
      if (!graph_.HasName(node.first_result)) continue;
      Operation(node, out);
      for (size_t i = 0; i < Row(node.op).results(); ++i) {
        out.Leb(exprs_.String(graph_.value_name_ids[node.first_result + i]));
      }
    }
    out.Leb(graph_.outputs.size());
    for (const uint32_t value : graph_.outputs) out.Leb(numbers_[value]);
  }

  void Operation(const GraphNode& node, ByteWriter& out) {
    const GraphRow& row = Row(node.op);
    out.U8(row.code);
    out.U8(static_cast<uint32_t>(node.option));
    if (row.axes == AxesForm::kType) exprs_.Expr(node.dtype, out);
    const auto [least, most] = row.AxisCount();
    Axes(node.axes, least != most, out);
    for (const ExprId operand : graph_.Operands(node)) Operand(operand, out);
  }

  void Operand(ExprId operand, ByteWriter& out) {
    if (!operand.is_value()) {
      out.U8(kConstantOperand);
      exprs_.Expr(operand, out);
    } else if (graph_.HasName(operand.value())) {
      out.Leb(uint64_t{kFirstValue} + numbers_[operand.value()]);
    } else {
      out.U8(kNestedOperation);
      Operation(*graph_.NodeOf(operand.value()), out);
    }
  }

  const Graph& graph_;
  ExprWriter& exprs_;
  std::vector<uint32_t> numbers_;  // by value: its number among those with names
};

}  // namespace

std::string WriteGraphs(const Module& module, ExprWriter& exprs) {
  ByteWriter out;
  out.Leb(module.graphs.size());
  for (const Graph& graph : module.graphs) GraphWriter(graph, exprs).Write(out);
  return out.Take();
}

}  // namespace tarsia::bytecode
