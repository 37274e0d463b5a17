#include "isa/bytecode/graph_reader.h"

#include <algorithm>

#include "isa/bytecode/format.h"

namespace tarsia::bytecode {

bool GraphReader::Read() {
  constexpr size_t kLeastGraph = 9;  // bytes of the shortest graph
  uint32_t count = 0;
  if (!in_.Count(count, kLeastGraph, "graphs")) return false;
  if (count == 0) return in_.Fail(diag::kBytecodeForm, "a section of graphs has none");
  lowest_ = kSinceGraphs;
  names_of_module_.assign(exprs_.string_count(), 0);
  bound_.assign(exprs_.string_count(), 0);
  for (const Kernel& kernel : module_.kernels) names_of_module_[kernel.name] = 1;
  for (uint32_t i = 0; i < count; ++i) {
    graph_ = &module_.graphs.emplace_back();
    if (!ReadGraph()) return false;
    for (const uint32_t value : named_) bound_[graph_->value_name_ids[value]] = 0;
    named_.clear();
  }
  return true;
}

bool GraphReader::ReadGraph() {
  graph_->location = Here();
  if (!exprs_.Name(graph_->name, kKernelName)) return false;
  if (names_of_module_[graph_->name]++ != 0) return Repeated("graph", graph_->name);
  return ReadInputs() && header_.Constants(graph_->constants, kGraphConstantName) &&
         header_.Requires(graph_->requires_) && ReadOutputTypes() && ReadBody();
}

bool GraphReader::Repeated(std::string_view thing, StringId name) {
  return in_.Fail(diag::kBytecodeRepeated, thing, ExprReader::Shown(exprs_.text(name)));
}

bool GraphReader::ReadInputs() {
  uint32_t count = 0;
  if (!in_.Count(count, 3, "inputs")) return false;
  for (uint32_t i = 0; i < count; ++i) {
    GraphInput& input = graph_->inputs.emplace_back();
    input.location = Here();
    StringId name = 0;
    if (!exprs_.Expr(input.dtype) || !ReadAxesOfType(input.axes) ||
        !exprs_.Name(name, kValueName) || !NewName(graph_->AddValue(name, exprs_.text(name)))) {
      return false;
    }
  }
  return true;
}

bool GraphReader::NewName(uint32_t value) {
  const StringId name = graph_->value_name_ids[value];
  if (bound_[name]++ != 0) return Repeated("value", name);
  named_.push_back(value);
  return true;
}

bool GraphReader::Value(uint32_t number, uint32_t& out) {
  if (number >= named_.size()) return in_.Fail(diag::kBytecodeReference, "value", number);
  out = named_[number];
  return true;
}

bool GraphReader::ReadAxesOfType(IndexRange& out) {
  if (!in_.Count(out.count, 2, "axes")) return false;
  out.first = static_cast<uint32_t>(graph_->axes.size());
  return ReadAxes(out.count, graph_->axes);
}

bool GraphReader::ReadAxes(uint32_t count, std::vector<AxisExpr>& out) {
  for (uint32_t i = 0; i < count; ++i) {
    AxisExpr axis;
    axis.location = Here();
    if (!exprs_.Name(axis.name, kTermName) || !exprs_.Expr(axis.extent, kOptionalExpr)) {
      return false;
    }
    const ExprPool& pool = module_.pool;
    if (pool.kind(axis.extent) == ExprKind::kName &&
        pool.Text(axis.extent) == exprs_.text(axis.name)) {
      return in_.Fail(diag::kBytecodeForm, "an axis writes the extent that it has by its name");
    }
    out.push_back(axis);
  }
  return true;
}

bool GraphReader::ReadOutputTypes() {
  uint32_t count = 0;
  if (!in_.Count(count, 3, "types of outputs")) return false;
  for (uint32_t i = 0; i < count; ++i) {
    GraphOutputType& type = graph_->output_types.emplace_back();
    type.location = Here();
    uint32_t in_place = 0;
    if (!exprs_.Expr(type.dtype) || !ReadAxesOfType(type.axes) || !in_.U32(in_place)) return false;
    if (in_place == 0) continue;
    if (in_place > graph_->inputs.size()) {
      return in_.Fail(diag::kBytecodeReference, "input", in_place - 1);
    }
    type.in_place = in_place - 1;
  }
  return true;
}

// ---- body ------------------------------------------------------------------------------------

bool GraphReader::ReadBody() {
  uint32_t length = 0;
  if (!in_.Count(length, 1, "bytes of a body")) return false;
  const uint8_t* const section_end = in_.Limit(length);
  uint32_t statements = 0;
  if (!in_.Count(statements, 3, "statements")) return false;
  for (uint32_t i = 0; i < statements; ++i) {
    if (!ReadStatement()) return false;
  }
  if (!ReadOutputs() || !in_.AtEnd("the statements")) return false;
  in_.Unlimit(section_end);
  return true;
}

bool GraphReader::ReadStatement() {
  if (!ReadOperation(1)) return false;
  const GraphNode& root = graph_->nodes.back();
  for (uint32_t i = 0; i < Row(root.op).results(); ++i) {
    StringId name = 0;
    if (!exprs_.Name(name, kValueName)) return false;
    graph_->value_name_ids[root.first_result + i] = name;
    graph_->value_names[root.first_result + i] = exprs_.text(name);
    if (!NewName(root.first_result + i)) return false;
  }
  return true;
}

bool GraphReader::ReadOutputs() {
  uint32_t count = 0;
  graph_->return_location = Here();
  if (!in_.Count(count, 1, "outputs")) return false;
  if (count == 0) return in_.Fail(diag::kBytecodeForm, "a graph has no output");
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t number = 0;
    if (!in_.U32(number) || !Value(number, graph_->outputs.emplace_back())) return false;
  }
  return true;
}

bool GraphReader::ReadOperation(int depth) {
  if (depth > ExprPool::kMaxDepth) {
    return in_.Fail(diag::kBytecodeDepth, "operations", +ExprPool::kMaxDepth);
  }
  GraphNode node;
  node.location = Here();
  uint8_t code = 0;
  uint8_t option = 0;
  if (!in_.U8(code) || !in_.U8(option)) return false;
  const auto op = FindGraphOpByCode(code);
  if (!op) return in_.Fail(diag::kBytecodeCode, +code, "operation");
  const GraphRow& row = Row(*op);
  node.op = *op;
  node.option = static_cast<GraphOption>(option);
  if (option != 0 && (option > std::size(kOptionRows) || !row.Takes(node.option))) {
    return in_.Fail(diag::kBytecodeCode, +option, "option of an operation");
  }
  lowest_.minor = std::max<uint16_t>(lowest_.minor, row.since);
  std::vector<AxisExpr> axes;
  if (!ReadAxesOf(row, node, axes)) return false;
  std::vector<ExprId> operands(row.operands.size());
  for (ExprId& operand : operands) {
    if (!ReadOperand(row, depth, operand)) return false;
  }
  if (!CheckOperands(row, operands)) return false;
  node.axes = {static_cast<uint32_t>(graph_->axes.size()), static_cast<uint32_t>(axes.size())};
  node.operands = {static_cast<uint32_t>(graph_->operands.size()),
                   static_cast<uint32_t>(operands.size())};
  graph_->axes.insert(graph_->axes.end(), axes.begin(), axes.end());
  graph_->operands.insert(graph_->operands.end(), operands.begin(), operands.end());
  node.first_result = graph_->AddValue(Graph::kNoName, "");
  for (size_t i = 1; i < row.results(); ++i) graph_->AddValue(Graph::kNoName, "");
  graph_->nodes.push_back(node);
  return true;
}

bool GraphReader::ReadAxesOf(const GraphRow& row, GraphNode& node, std::vector<AxisExpr>& axes) {
  if (row.axes == AxesForm::kType) return exprs_.Expr(node.dtype);
  auto [count, most] = row.AxisCount();
  if (count != most) {
    const uint32_t least = count;
    if (!in_.Count(count, 2, "axes")) return false;
    const bool pairs = row.axes == AxesForm::kRenames;
    if (count < least || count > most || (pairs && count % 2 != 0)) {
      return in_.Fail(diag::kBytecodeForm, "an operation cannot have so many axes");
    }
  }
  return ReadAxes(count, axes);
}

bool GraphReader::ReadOperand(const GraphRow& row, int depth, ExprId& out) {
  uint32_t number = 0;
  if (!in_.U32(number)) return false;
  if (number == kConstantOperand) {
    return exprs_.Expr(out) &&
           (IsGraphConstant(module_.pool, out) ||
            in_.Fail(diag::kBytecodeForm, "an operand is no constant that text can express"));
  }
  if (number != kNestedOperation) {
    uint32_t value = 0;
    if (!Value(number - kFirstValue, value)) return false;
    out = ExprId::Value(value);
    return true;
  }
  if (row.Has(kNamedOperands)) {
    return in_.Fail(diag::kBytecodeForm, "an operand must have a name");
  }
  if (!ReadOperation(depth + 1)) return false;
  if (Row(graph_->nodes.back().op).results() != 1) {
    return in_.Fail(diag::kBytecodeForm, "an operation of several results is an operand");
  }
  out = ExprId::Value(graph_->nodes.back().first_result);
  return true;
}

// What text reads as one constant is one constant here too.
bool GraphReader::CheckOperands(const GraphRow& row, const std::vector<ExprId>& operands) {
  const bool constant = std::none_of(operands.begin(), operands.end(),
                                     [](ExprId operand) { return operand.is_value(); });
  if (constant && row.FoldsConstants()) {
    return in_.Fail(diag::kBytecodeForm, "an operation of constants is a constant");
  }
  if (row.Has(kNamedOperands) && !std::all_of(operands.begin(), operands.end(),
                                              [](ExprId operand) { return operand.is_value(); })) {
    return in_.Fail(diag::kBytecodeForm, "an operand must have a name");
  }
  return true;
}

}  // namespace tarsia::bytecode
