#include "isa/rewrite/write_draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace tarsia::rewrite {
namespace {

constexpr size_t kMostInner = 6;  // operations of a statement that no text has

class Writer {
 public:
  Writer(Draft draft, const ConcreteGraph& graph, const std::vector<ValueId>& outputs)
      : draft_(std::move(draft)), concrete_(graph), outputs_(outputs) {}

  Module Write() {
    FindUses();
    GiveNames();
    WriteHeader();
    for (size_t n = 0; n < draft_.nodes().size(); ++n) {
      if (needed_[n] && named_[n]) WriteNode(n);
    }
    WriteOutputs();
    draft_.module().graphs[0] = std::move(out_);
    return std::move(draft_.module());
  }

 private:
  // ---- what is written, and what has a name
  void FindUses() {
    needed_.assign(draft_.nodes().size(), false);
    uses_.assign(draft_.values().size(), 0);
    for (const ValueId v : outputs_) {
      ++uses_[v];
      if (draft_.NodeOf(v) != nullptr) needed_[draft_.value(v).node] = true;
    }
    for (size_t n = draft_.nodes().size(); n-- > 0;) {
      if (!needed_[n]) continue;
      for (const ExprId operand : draft_.nodes()[n].operands) {
        if (!operand.is_value()) continue;
        ++uses_[operand.value()];
        const size_t other = draft_.value(operand.value()).node;
        if (other != DraftValue::kInput) needed_[other] = true;
      }
    }
  }

  void GiveNames() {
    for (const DraftValue& value : draft_.values()) {
      if (value.name != Graph::kNoName) taken_.insert(value.name);
    }
    named_.assign(draft_.nodes().size(), false);
    inner_.assign(draft_.nodes().size(), 0);
    for (size_t n = 0; n < draft_.nodes().size(); ++n) {
      if (!needed_[n]) continue;
      named_[n] = NeedsName(n);
      if (!named_[n]) continue;
      const DraftNode& node = draft_.nodes()[n];
      for (uint32_t i = 0; i < Row(node.op).results(); ++i) {
        if (draft_.value(node.first_result + i).name != Graph::kNoName) continue;
        draft_.SetName(node.first_result + i, NewName(node.op));
      }
    }
  }

  // Counts the operations of the statement too.
  bool NeedsName(size_t n) {
    const DraftNode& node = draft_.nodes()[n];
    for (const ExprId operand : node.operands) {
      if (!operand.is_value()) continue;
      const size_t other = draft_.value(operand.value()).node;
      if (other != DraftValue::kInput && !named_[other]) inner_[n] += 1 + inner_[other];
    }
    const GraphFamily family = Row(node.op).family;
    const bool reduces = family == GraphFamily::kReduction || family == GraphFamily::kContraction ||
                         family == GraphFamily::kIndexed || family == GraphFamily::kAlgebra;
    return draft_.value(node.first_result).name != Graph::kNoName || Row(node.op).results() > 1 ||
           uses_[node.first_result] != 1 || IsOutput(node.first_result) ||
           (!node.written && (reduces || inner_[n] >= kMostInner));
  }

  [[nodiscard]] bool IsOutput(ValueId v) const {
    return std::find(outputs_.begin(), outputs_.end(), v) != outputs_.end();
  }

  StringId NewName(GraphOp op) {
    StringPool& strings = draft_.module().pool.strings();
    while (true) {
      const StringId name = strings.Intern(fmt::format("{}_{}", Row(op).word, ++last_name_));
      if (taken_.insert(name).second) return name;
    }
  }

  // ---- the graph
  void WriteHeader() {
    const Graph& from = concrete_.graph();
    out_.name = draft_.module().graphs[0].name;
    out_.location = from.location;
    out_.return_location = from.return_location;
    out_.output_locations = from.output_locations;
    out_.close_line = from.close_line;
    value_of_.assign(draft_.values().size(), 0);
    for (ValueId v = 0; v < from.inputs.size(); ++v) {
      GraphInput input = from.inputs[v];
      input.axes = WriteAxes(draft_.value(v).axes);
      out_.inputs.push_back(input);
      value_of_[v] = AddValue(v);
    }
  }

  uint32_t AddValue(ValueId v) {
    const StringId name = draft_.value(v).name;
    const bool has = name != Graph::kNoName;
    return out_.AddValue(name, has ? draft_.module().pool.strings()[name] : std::string_view());
  }

  // An axis has its extent where it is first.
  IndexRange WriteAxes(const Axes& axes) {
    const auto first = static_cast<uint32_t>(out_.axes.size());
    for (const uint32_t a : axes) {
      const DraftAxis& axis = draft_.axes()[a];
      AxisExpr& written = out_.axes.emplace_back();
      written.name = axis.name;
      if (declared_.insert(a).second) written.extent = draft_.module().pool.Int(axis.extent);
    }
    return {first, static_cast<uint32_t>(axes.size())};
  }

  // First the operands that have no name, as the text is read.
  void WriteNode(size_t n) {
    const DraftNode& from = draft_.nodes()[n];
    for (const ExprId operand : from.operands) {
      if (!operand.is_value()) continue;
      const size_t other = draft_.value(operand.value()).node;
      if (other != DraftValue::kInput && !named_[other]) WriteNode(other);
    }
    GraphNode node;
    node.op = from.op;
    node.option = from.option;
    node.location = from.location;
    node.axes = WriteAxes(from.axes);
    if (Row(from.op).axes == AxesForm::kType) node.dtype = draft_.module().pool.Type(from.dtype);
    node.operands = {static_cast<uint32_t>(out_.operands.size()),
                     static_cast<uint32_t>(from.operands.size())};
    for (const ExprId operand : from.operands) {
      out_.operands.push_back(operand.is_value() ? ExprId::Value(value_of_[operand.value()])
                                                 : operand);
      out_.operand_locations.push_back(from.location);
    }
    for (uint32_t i = 0; i < Row(from.op).results(); ++i) {
      const uint32_t v = AddValue(from.first_result + i);
      if (i == 0) node.first_result = v;
      value_of_[from.first_result + i] = v;
    }
    out_.nodes.push_back(node);
  }

  void WriteOutputs() {
    const Graph& from = concrete_.graph();
    for (size_t i = 0; i < outputs_.size(); ++i) {
      out_.outputs.push_back(value_of_[outputs_[i]]);
      GraphOutputType type;
      type.location = from.OutputLocation(i);
      if (i < from.output_types.size()) type = from.output_types[i];
      type.dtype = draft_.module().pool.Type(draft_.value(outputs_[i]).dtype);
      type.axes = WriteAxes(concrete_.output_axes(i));
      out_.output_types.push_back(type);
    }
  }

  Draft draft_;
  const ConcreteGraph& concrete_;
  const std::vector<ValueId>& outputs_;
  std::vector<bool> needed_, named_;  // by node
  std::vector<size_t> inner_;         // by node: the operations within its statement
  std::vector<size_t> uses_;          // by value
  std::set<StringId> taken_;
  int last_name_ = 0;
  std::set<uint32_t> declared_;     // axes
  std::vector<uint32_t> value_of_;  // by value of the draft
  Graph out_;
};

}  // namespace

Module WriteDraft(Draft draft, const ConcreteGraph& graph, const std::vector<ValueId>& outputs) {
  return Writer(std::move(draft), graph, outputs).Write();
}

}  // namespace tarsia::rewrite
