#include "isa/rewrite/complex_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "isa/rewrite/rewriting.h"

namespace tarsia {
namespace {

using rewrite::DraftNode;
using rewrite::Rewriting;
using rewrite::ValueId;

// The real and the imaginary part.
using Parts = std::array<ValueId, 2>;

class Splitting : private Rewriting {
 public:
  explicit Splitting(const ConcreteGraph& graph) : Rewriting(graph) {
    for (const StringId name : graph.graph().value_name_ids) {
      if (name != Graph::kNoName) names_.insert(std::string(Strings()[name]));
    }
  }

  std::optional<ConcreteGraph> Run(Diagnostics& diagnostics) {
    const Graph& graph = concrete().graph();
    for (const GraphNode& node : graph.nodes) {
      Begin(node);
      if (IsComplex(node.first_result)) {
        parts_[node.first_result] = Named(node.first_result, PartsOf(node));
      } else if (ReadsComplex(node)) {
        Replace(node.first_result, RealOf(node));
      } else {
        Copy(node);
      }
    }
    std::set<uint32_t> outputs(graph.outputs.begin(), graph.outputs.end());
    for (const uint32_t v : outputs) {
      if (!IsComplex(v) || v < graph.inputs.size()) continue;
      const Parts& parts = parts_.at(v);
      Replace(v, draft().Elementwise(GraphOp::kComplex,
                                     {ExprId::Value(parts[0]), ExprId::Value(parts[1])}));
    }
    return Finish(diagnostics);
  }

 private:
  StringPool& Strings() { return draft().module().pool.strings(); }
  [[nodiscard]] bool IsComplex(uint32_t v) const { return concrete().value(v).dtype.IsComplex(); }
  [[nodiscard]] bool ReadsComplex(const GraphNode& node) const {
    const auto operands = concrete().graph().Operands(node);
    return std::any_of(operands.begin(), operands.end(), [&](ExprId operand) {
      return operand.is_value() && IsComplex(operand.value());
    });
  }

  // Gives the parts of a named value names.
  Parts Named(uint32_t v, const Parts& parts) {
    const Graph& graph = concrete().graph();
    if (!graph.HasName(v)) return parts;
    for (size_t i = 0; i < 2; ++i) {
      if (draft().value(parts[i]).name != Graph::kNoName) continue;
      std::string name = fmt::format("{}_{}", graph.ValueName(v), i == 0 ? "re" : "im");
      while (!names_.insert(name).second) name += "_";
      draft().SetName(parts[i], Strings().Intern(name));
    }
    return parts;
  }

  // ---- operands ------------------------------------------------------------------------------

  // The parts of operand `i`, a constant's as values of type `part`.
  Parts PartsOfOperand(const GraphNode& node, size_t i, DType part) {
    const ExprId operand = concrete().graph().Operands(node)[i];
    if (!operand.is_value()) return {Constant(operand, part), draft().Number(0, part)};
    const uint32_t v = operand.value();
    if (!IsComplex(v)) return {of(v), of(v)};  // a condition, indices
    if (const auto found = parts_.find(v); found != parts_.end()) return found->second;
    const ExprId input = ExprId::Value(of(v));
    return parts_[v] = {draft().Elementwise(GraphOp::kReal, {input}),
                        draft().Elementwise(GraphOp::kImag, {input})};
  }

  ValueId Constant(ExprId constant, DType type) {
    DraftNode node;
    node.op = GraphOp::kCast;
    node.operands = {constant};
    node.dtype = type;
    return draft().Make(std::move(node), {}, type);
  }

  ValueId Do(GraphOp op, const std::vector<ValueId>& operands) {
    std::vector<ExprId> ids;
    for (const ValueId v : operands) ids.push_back(ExprId::Value(v));
    return draft().Elementwise(op, std::move(ids));
  }
  Parts InType(const Parts& x, DType type) {
    return {draft().Cast(x[0], type), draft().Cast(x[1], type)};
  }

  // ---- results -------------------------------------------------------------------------------

  Parts PartsOf(const GraphNode& node) {
    const DType part = ComponentOf(concrete().value(node.first_result).dtype);
    const auto operand = [&](size_t i) { return PartsOfOperand(node, i, part); };
    if (node.op == GraphOp::kComplex) {
      return {RealOperand(node, 0, part), RealOperand(node, 1, part)};
    }
    if (node.op == GraphOp::kConj) return {operand(0)[0], Do(GraphOp::kNeg, {operand(0)[1]})};
    if (node.op == GraphOp::kCast) return InType(operand(0), part);
    if (node.op == GraphOp::kDot) return Dot(node);
    if (Row(node.op).symbol) {
      const auto operands = concrete().graph().Operands(node);
      for (const size_t i : {0, 1}) {
        if (!operands[i].is_value()) return WithConstant(node.op, operand(1 - i), operands[i], i);
      }
    }
    if (node.op == GraphOp::kMul) return Product(operand(0), operand(1), part);
    if (node.op == GraphOp::kDiv) return Quotient(operand(0), operand(1), part);
    return PartByPart(node, part);
  }

  // x and a constant, which is operand `at`: a real number.
  Parts WithConstant(GraphOp op, const Parts& x, ExprId constant, size_t at) {
    const auto with = [&](ValueId part) {
      const ExprId v = ExprId::Value(part);
      const std::vector<ExprId> operands =
          at == 0 ? std::vector{constant, v} : std::vector{v, constant};
      return draft().Elementwise(op, operands);
    };
    if (op == GraphOp::kMul || (op == GraphOp::kDiv && at == 1)) return {with(x[0]), with(x[1])};
    if (op == GraphOp::kDiv) {
      const DType part = draft().value(x[0]).dtype;
      return Quotient({Constant(constant, part), draft().Number(0, part)}, x, part);
    }
    const bool turned = op == GraphOp::kSub && at == 0;
    return {with(x[0]), turned ? Do(GraphOp::kNeg, {x[1]}) : x[1]};
  }

  ValueId RealOperand(const GraphNode& node, size_t i, DType part) {
    const ExprId operand = concrete().graph().Operands(node)[i];
    return operand.is_value() ? of(operand.value()) : Constant(operand, part);
  }

  Parts Product(const Parts& x, const Parts& y, DType part) {
    const Parts a = InType(x, kF32);
    const Parts b = InType(y, kF32);
    const auto mul = [&](ValueId u, ValueId v) { return Do(GraphOp::kMul, {u, v}); };
    return InType({Do(GraphOp::kSub, {mul(a[0], b[0]), mul(a[1], b[1])}),
                   Do(GraphOp::kAdd, {mul(a[0], b[1]), mul(a[1], b[0])})},
                  part);
  }

  // The type in which squares of parts have neither overflow nor underflow.
  static DType Wider(DType part) { return part == kF16 ? kF32 : kF64; }

  ValueId SquaredSize(const Parts& x) {
    return Do(GraphOp::kAdd, {Do(GraphOp::kMul, {x[0], x[0]}), Do(GraphOp::kMul, {x[1], x[1]})});
  }

  Parts Quotient(const Parts& x, const Parts& y, DType part) {
    const Parts a = InType(x, Wider(part));
    const Parts b = InType(y, Wider(part));
    const ValueId size = SquaredSize(b);
    const auto mul = [&](ValueId u, ValueId v) { return Do(GraphOp::kMul, {u, v}); };
    const ValueId re = Do(GraphOp::kAdd, {mul(a[0], b[0]), mul(a[1], b[1])});
    const ValueId im = Do(GraphOp::kSub, {mul(a[1], b[0]), mul(a[0], b[1])});
    return InType({Do(GraphOp::kDiv, {re, size}), Do(GraphOp::kDiv, {im, size})}, part);
  }

  // Each part is a sum of two products, which the planner takes as one.
  Parts Dot(const GraphNode& node) {
    const Parts a = PartsOfOperand(node, 0, {});
    const Parts b = PartsOfOperand(node, 1, {});
    rewrite::Axes axes;
    for (const AxisExpr& axis : concrete().graph().Axes(node.axes)) {
      axes.push_back(concrete().AxisOf(axis));
    }
    const auto dot = [&](ValueId u, ValueId v) {
      return draft().Reduce(GraphOp::kDot, {ExprId::Value(u), ExprId::Value(v)}, axes, node.option);
    };
    return {Do(GraphOp::kSub, {dot(a[0], b[0]), dot(a[1], b[1])}),
            Do(GraphOp::kAdd, {dot(a[0], b[1]), dot(a[1], b[0])})};
  }

  // The operation on the real parts, and the same on the imaginary ones.
  Parts PartByPart(const GraphNode& node, DType part) {
    Parts out{};
    for (size_t p = 0; p < 2; ++p) {
      DraftNode copy;
      copy.op = node.op;
      copy.option = node.option;
      const auto operands = concrete().graph().Operands(node);
      for (size_t i = 0; i < operands.size(); ++i) {
        const bool number = Row(node.op).operands[i].use == OperandUse::kNumber;
        copy.operands.push_back(number ? operands[i]
                                       : ExprId::Value(PartsOfOperand(node, i, part)[p]));
      }
      for (const AxisExpr& axis : concrete().graph().Axes(node.axes)) {
        copy.axes.push_back(concrete().AxisOf(axis));
      }
      out[p] = draft().Make(std::move(copy), concrete().value(node.first_result).axes, part);
    }
    return out;
  }

  // The result of an operation that makes real numbers of complex ones.
  ValueId RealOf(const GraphNode& node) {
    const DType part = concrete().value(node.first_result).dtype;
    const Parts x = PartsOfOperand(node, 0, part);
    if (node.op != GraphOp::kAbs) return x[node.op == GraphOp::kReal ? 0 : 1];
    return draft().Cast(Do(GraphOp::kSqrt, {SquaredSize(InType(x, Wider(part)))}), part);
  }

  std::map<uint32_t, Parts> parts_;  // by value of the graph
  std::set<std::string> names_;
};

}  // namespace

std::optional<ConcreteGraph> SplitComplex(const ConcreteGraph& graph, Diagnostics& diagnostics) {
  const auto& values = graph.values();
  const bool any = std::any_of(values.begin(), values.end(),
                               [](const ConcreteValue& value) { return value.dtype.IsComplex(); });
  return any ? Splitting(graph).Run(diagnostics) : graph;
}

}  // namespace tarsia
