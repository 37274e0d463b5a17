#include "planner/meaning.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "planner/diagnostics.h"

namespace tarsia {
namespace {

// The type in which a reducer keeps its numbers.
DType StateType(ReducerKind kind, GraphOption option, DType type) {
  switch (kind) {
    case ReducerKind::kMax:
    case ReducerKind::kMin:
    case ReducerKind::kArgMax:
    case ReducerKind::kArgMin:
    case ReducerKind::kProd:
    case ReducerKind::kTopK:
      return type == kF16 || type == kBF16 ? kF32 : type;
    case ReducerKind::kSum:
      if (!type.IsFloat()) return type;
      break;
    case ReducerKind::kDot:
    case ReducerKind::kSqDist:
    case ReducerKind::kL1Dist:
    case ReducerKind::kCosine:
    case ReducerKind::kLogSumExp:
    case ReducerKind::kSoftmax:
    case ReducerKind::kVar:
      break;
  }
  return type.IsFloat() && option == GraphOption::kDouble ? kF64 : AccumulatorOf(type);
}

Reduction MakeReduction(const ConcreteGraph& graph, const GraphNode& node, ReducerKind kind,
                        uint32_t operand) {
  Reduction out;
  const DType type = graph.value(operand).dtype;
  out.kind = kind;
  out.mean = node.op == GraphOp::kMean;
  out.accumulator = StateType(kind, node.option, type);
  const bool compensated =
      node.option == GraphOption::kKahan || node.option == GraphOption::kPairwise;
  if (compensated && type.IsFloat()) out.form = SumForm::kCompensated;
  std::span<const AxisExpr> axes = graph.graph().Axes(node.axes);
  if (kind == ReducerKind::kTopK) {
    out.chosen = graph.AxisOf(axes.back());
    axes = axes.first(1);
  } else if (node.op == GraphOp::kSegmentSum) {
    out.segments = graph.AxisOf(axes.back());
    axes = axes.first(1);
  }
  for (const AxisExpr& axis : axes) {
    out.axes.push_back(graph.AxisOf(axis));
    out.count *= graph.axes()[out.axes.back()].extent;
  }
  return out;
}

std::optional<Solve> MakeSolve(const ConcreteGraph& graph, const GraphNode& node,
                               const std::vector<uint32_t>& reads) {
  if (Row(node.op).family != GraphFamily::kAlgebra) return std::nullopt;
  const auto axes = graph.graph().Axes(node.axes);
  Solve out;
  out.factors = node.op == GraphOp::kCholesky;
  out.upper = node.option == GraphOption::kUpper;
  out.rows = graph.AxisOf(axes[0]);
  out.columns = graph.AxisOf(axes[1]);
  out.matrix = reads.front();
  out.right = reads.back();
  return out;
}

bool IsPlanned(GraphOp op) {
  switch (Row(op).family) {
    case GraphFamily::kElementwise:
    case GraphFamily::kSource:
    case GraphFamily::kShape:
    case GraphFamily::kIndexed:
    case GraphFamily::kContraction:
    case GraphFamily::kReduction:
    case GraphFamily::kAlgebra:
      return true;
    case GraphFamily::kDerivative:
      return false;
  }
  return false;
}

}  // namespace

std::optional<Meaning> Meaning::Make(const ConcreteGraph& graph, bool fast,
                                     Diagnostics& diagnostics) {
  Meaning out(graph);
  out.node_of_.resize(graph.values().size(), 0);
  out.needs_.resize(graph.values().size(), std::vector<bool>(graph.graph().nodes.size()));
  out.CountUses();
  for (size_t n = 0; n < graph.graph().nodes.size(); ++n) out.Read(n);
  for (auto& reduction : out.reductions_) {
    if (reduction && reduction->kind == ReducerKind::kSqDist) reduction->expanded = fast;
  }
  out.is_read_.resize(graph.values().size());
  for (const std::vector<uint32_t>& reads : out.reads_) {
    for (const uint32_t v : reads) out.is_read_[v] = true;
  }
  if (!out.Check(diagnostics)) return std::nullopt;
  return out;
}

void Meaning::Read(size_t n) {
  const GraphNode& node = graph().nodes[n];
  std::vector<uint32_t>& reads = reads_.emplace_back();
  for (const ExprId operand : graph().Operands(node)) {
    if (operand.is_value()) reads.push_back(operand.value());
  }
  const auto kind = ReducerOf(node.op);
  reductions_.emplace_back();
  if (IsSumOfDots(n)) {
    JoinDots(n);
  } else if (kind && !reads.empty()) {
    reductions_.back() = MakeReduction(*graph_, node, *kind, reads[0]);
  }
  solves_.push_back(MakeSolve(*graph_, node, reads));
  for (size_t i = 0; i < Row(node.op).results(); ++i) {
    const size_t v = node.first_result + i;
    node_of_[v] = n;
    needs_[v][n] = true;
    for (const uint32_t read : reads) {
      for (size_t other = 0; other < n; ++other) {
        if (needs_[read][other]) needs_[v][other] = true;
      }
    }
  }
}

// Whether a node adds or subtracts two `dot` over the same axes, of which nothing else is needed,
// and whose operands have the same axes: then one loop adds both to one sum.
bool Meaning::IsSumOfDots(size_t n) const {
  const std::vector<uint32_t>& reads = reads_[n];
  const GraphOp op = node(n).op;
  if ((op != GraphOp::kAdd && op != GraphOp::kSub) || reads.size() != 2) return false;
  const auto is_dot = [&](uint32_t v) {
    return !IsInput(v) && uses_[v] == 1 && node(node_of_[v]).op == GraphOp::kDot;
  };
  if (!is_dot(reads[0]) || !is_dot(reads[1])) return false;
  const size_t a = node_of_[reads[0]];
  const size_t b = node_of_[reads[1]];
  const auto same_axes = [&](uint32_t v, uint32_t w) {
    const auto& axes = value(w).axes;
    return value(v).axes.size() == axes.size() &&
           std::all_of(axes.begin(), axes.end(), [&](uint32_t axis) { return HasAxis(v, axis); });
  };
  return node(a).option == node(b).option && reductions_[a]->axes == reductions_[b]->axes &&
         reductions_[a]->accumulator == reductions_[b]->accumulator &&
         same_axes(reads_[a][0], reads_[b][0]) && same_axes(reads_[a][1], reads_[b][1]);
}

void Meaning::JoinDots(size_t n) {
  const size_t a = node_of_[reads_[n][0]];
  const size_t b = node_of_[reads_[n][1]];
  reductions_[n] = reductions_[a];
  reductions_[n]->second = node(n).op == GraphOp::kAdd ? Second::kAdded : Second::kSubtracted;
  reads_[n] = reads_[a];
  reads_[n].insert(reads_[n].end(), reads_[b].begin(), reads_[b].end());
}

void Meaning::CountUses() {
  uses_.resize(graph().value_name_ids.size());
  for (const uint32_t output : graph().outputs) ++uses_[output];
  for (const GraphNode& node : graph().nodes) {
    for (const ExprId operand : graph().Operands(node)) {
      if (operand.is_value()) ++uses_[operand.value()];
    }
  }
}

bool Meaning::Check(Diagnostics& diagnostics) const {
  const size_t before = diagnostics.count();
  for (size_t n = 0; n < graph().nodes.size(); ++n) {
    const GraphNode& node = graph().nodes[n];
    const std::string_view word = Row(node.op).word;
    if (!IsPlanned(node.op)) {
      diagnostics.Error(diag::kPlanOperation, node.location, word);
      continue;
    }
    const DType type = value(node.first_result).dtype;
    // Elements of other types can be stored and moved.
    const bool moves = Row(node.op).family == GraphFamily::kShape || node.op == GraphOp::kCast ||
                       node.op == GraphOp::kSelect || node.op == GraphOp::kComplex;
    if (!IsArithmetic(type) && type != kBoolType && !moves) {
      diagnostics.Error(diag::kPlanType, node.location, word, DTypeName(type));
    }
    const Reduction* reduction = ReductionOf(n);
    if (reduction != nullptr && IsArg(reduction->kind) && reduction->count == 0) {
      diagnostics.Error(diag::kPlanEmptyAxis, node.location, word, axis(reduction->axes[0]).name);
    }
    if (reduction != nullptr && reduction->kind == ReducerKind::kTopK) {
      const int64_t count = axis(reduction->chosen).extent;
      if (count < 1 || count > kMostTopK) {
        diagnostics.Error(diag::kPlanTopK, node.location, +kMostTopK, count);
      }
    }
  }
  return diagnostics.count() == before;
}

InlineVector<uint32_t, 4> Meaning::MovedBy(size_t n) const {
  const GraphNode& node = graph().nodes[n];
  const auto axes = graph().Axes(node.axes);
  InlineVector<uint32_t, 4> out;
  const auto move = [&](size_t i) { out.push_back(graph_->AxisOf(axes[i])); };
  if (node.op == GraphOp::kRename) {
    for (size_t i = 0; i < axes.size(); i += 2) move(i);
  } else if (node.op == GraphOp::kSlice || node.op == GraphOp::kConcat ||
             node.op == GraphOp::kExpand || node.op == GraphOp::kGather) {
    move(0);
    if (node.op == GraphOp::kConcat) move(1);
  } else if (node.op == GraphOp::kTriangularSolve) {
    move(0);
    move(1);
  }
  return out;
}

bool Meaning::IsChosen(uint32_t axis) const {
  return std::any_of(reductions_.begin(), reductions_.end(), [&](const auto& reduction) {
    return reduction && reduction->kind == ReducerKind::kTopK && reduction->chosen == axis;
  });
}

std::optional<uint32_t> Meaning::RenamedInput(uint32_t v) const {
  if (IsInput(v) || node(NodeOf(v)).op != GraphOp::kRename) return std::nullopt;
  const uint32_t source = ReadsOf(NodeOf(v))[0];
  return IsInput(source) ? std::optional(source) : std::nullopt;
}

bool Meaning::IsOutput(uint32_t v) const {
  const auto& outputs = graph().outputs;
  return std::find(outputs.begin(), outputs.end(), v) != outputs.end();
}

const std::vector<uint32_t>& Meaning::MemoryAxes(uint32_t v) const {
  if (IsInput(v)) return value(v).axes;
  const auto& outputs = graph().outputs;
  const auto found = std::find(outputs.begin(), outputs.end(), v);
  if (found == outputs.end()) return value(v).axes;
  return graph_->output_axes(static_cast<size_t>(found - outputs.begin()));
}

std::string Meaning::NameOf(uint32_t v) const {
  return graph().HasName(v) ? std::string(graph().ValueName(v)) : fmt::format("t{}", v);
}

}  // namespace tarsia
