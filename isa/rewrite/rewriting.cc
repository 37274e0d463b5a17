#include "isa/rewrite/rewriting.h"

#include <algorithm>
#include <utility>

#include "isa/rewrite/write_draft.h"

namespace tarsia::rewrite {

Rewriting::Rewriting(const ConcreteGraph& graph) : concrete_(graph), draft_(graph) {
  for (ValueId v = 0; v < graph.graph().inputs.size(); ++v) value_of_.push_back(v);
}

void Rewriting::Begin(const GraphNode& node) {
  draft_.SetLocation(node.location);
  value_of_.resize(node.first_result + Row(node.op).results());
}

ExprId Rewriting::OperandOf(ExprId operand) const {
  return operand.is_value() ? ExprId::Value(value_of_[operand.value()]) : operand;
}

void Rewriting::Copy(const GraphNode& node) {
  DraftNode copy;
  copy.op = node.op;
  copy.option = node.option;
  copy.location = node.location;
  for (const ExprId operand : concrete_.graph().Operands(node)) {
    copy.operands.push_back(OperandOf(operand));
  }
  for (const AxisExpr& axis : concrete_.graph().Axes(node.axes)) {
    copy.axes.push_back(concrete_.AxisOf(axis));
  }
  if (Row(node.op).axes == AxesForm::kType) copy.dtype = concrete_.value(node.first_result).dtype;
  std::vector<DraftValue> results;
  for (uint32_t i = 0; i < Row(node.op).results(); ++i) {
    const ConcreteValue& value = concrete_.value(node.first_result + i);
    DraftValue& result = results.emplace_back();
    result.dtype = value.dtype;
    result.axes = value.axes;
    result.name = concrete_.graph().value_name_ids[node.first_result + i];
  }
  const ValueId first = draft_.AddWritten(std::move(copy), results);
  for (uint32_t i = 0; i < results.size(); ++i) value_of_[node.first_result + i] = first + i;
}

bool Rewriting::IsOutput(uint32_t v) const {
  const auto& outputs = concrete_.graph().outputs;
  return std::find(outputs.begin(), outputs.end(), v) != outputs.end();
}

void Rewriting::Replace(uint32_t v, ValueId made) {
  const bool named = draft_.NodeOf(made) == nullptr || draft_.value(made).name != Graph::kNoName;
  const bool output = IsOutput(v);
  if (named && output) made = draft_.Copy(made);
  if (!named || output) draft_.SetName(made, concrete_.graph().value_name_ids[v]);
  value_of_[v] = made;
}

std::optional<ConcreteGraph> Rewriting::Finish(Diagnostics& diagnostics) {
  std::vector<ValueId> outputs;
  for (const uint32_t output : concrete_.graph().outputs) outputs.push_back(value_of_[output]);
  return MakeConcrete(WriteDraft(std::move(draft_), concrete_, outputs), concrete_.constants(),
                      diagnostics);
}

}  // namespace tarsia::rewrite
