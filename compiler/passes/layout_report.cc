#include "compiler/passes/layout_report.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/layout_choice.h"
#include "compiler/passes/layout_graph.h"
#include "compiler/passes/shared_layouts.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::RegionId;
using tile::ValueId;

class Report {
 public:
  Report(Form form, Target target, Cost whole)
      : form_(std::move(form)),
        target_(target),
        whole_(whole),
        open_(OpenSharedTiles(form_)),
        graph_(MakeLayoutGraph(form_)),
        choice_(ChooseLayouts(form_, graph_, target)),
        shared_(DecideSharedLayouts(open_, graph_, choice_, target, form_)) {}

  std::string Run() {
    out_ = fmt::format("kernel {}: {} cycles of a warp on {}\n", KernelName(), whole_,
                       Row(target_).name);
    if (!choice_.exact) out_ += "  (a cheaper choice may exist: too many were possible)\n";
    Visit(tile::kBody);
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string_view NameOf(ValueId value) const {
    return form_.pool.strings()[form_.values[value].name];
  }

  [[nodiscard]] std::string_view KernelName() const {
    return form_.pool.strings()[form_.header.name];
  }

  // "line 14: `dot`".
  [[nodiscard]] std::string Place(tile::OpId id) const {
    const Operation& op = form_.ops[id];
    return fmt::format("line {}: `{}`", op.location.line, op.row().mnemonic);
  }

  [[nodiscard]] std::string Why(uint32_t variable, const LayoutSource& source) const {
    switch (source.kind) {
      case LayoutSource::Kind::kWritten:
        return graph_.variables[variable].written ? "written" : "as another one that is written";
      case LayoutSource::Kind::kFragments:
        return "fragments for " + Place(source.op);
      case LayoutSource::Kind::kBlock:
        return "blocks of " + Place(source.op);
      case LayoutSource::Kind::kPacked:
        return "packed tiles of " + Place(source.op);
      case LayoutSource::Kind::kAccess:
        return "wide accesses of " + Place(source.op);
      case LayoutSource::Kind::kReduction:
        return "a warp for each part of " + Place(source.op);
      case LayoutSource::Kind::kRows:
        return "rows side by side";
    }
    return "";
  }

  void Visit(RegionId region) {
    for (const tile::OpId id : form_.regions[region].ops) {
      const Operation& op = form_.ops[id];
      for (const ValueId result : op.results) {
        if (!op.HasRegions() && graph_.of_value[result] != kNone) AddTile(result);
      }
      if (graph_.of_op[id] != kNone) AddConversions(id);
      for (size_t i = 0; i < open_.size(); ++i) {
        if (open_[i].op == id) AddShared(open_[i].value, shared_[i]);
      }
      for (const RegionId inner : op.region) {
        if (inner != kNone) Visit(inner);
      }
    }
  }

  void AddTile(ValueId value) {
    const uint32_t variable = graph_.of_value[value];
    const LayoutCandidate& chosen = choice_.candidates.of[variable][choice_.chosen[variable]];
    const ConcreteType& type = form_.TypeOf(value);
    out_ += fmt::format("  %{} : {}{} {} ({}", NameOf(value), DTypeName(type.dtype),
                        tarsia::ToString(type.shape), ToString(choice_.LayoutOf(variable)),
                        Why(variable, chosen.source));
    if (const auto without = CostWithout(choice_, variable)) {
      out_ += fmt::format("; the best other one costs {} more", *without - choice_.cost);
    }
    out_ += ")\n";
  }

  void AddShared(ValueId value, const SharedTileCost& shared) {
    const ConcreteType& type = form_.TypeOf(value);
    out_ += fmt::format("  %{} : shared<{}>{} {} (its accesses cost {}", NameOf(value),
                        DTypeName(type.dtype), tarsia::ToString(type.shape),
                        ToString(shared.layout), shared.cost);
    if (shared.cost != shared.row_major) out_ += fmt::format("; row-major, {}", shared.row_major);
    out_ += ")\n";
  }

  void AddConversions(tile::OpId id) {
    const LayoutOp& op = graph_.ops[graph_.of_op[id]];
    const Operation& operation = form_.ops[id];
    for (size_t i = 0; i < kMaxOperands; ++i) {
      if (op.rule.operand[i] == nullptr) continue;
      AddConversion(op, Port::Operand(i), operation.operand[i].value);
    }
    for (size_t r = 0; r < operation.results.size(); ++r) {
      if (op.rule.result[r] != nullptr) AddConversion(op, Port::Result(r), operation.results[r]);
    }
  }

  void AddConversion(const LayoutOp& op, Port port, ValueId value) {
    const auto there = LayoutNeeded(graph_, choice_, op, port);
    const TileLayout& has = choice_.LayoutOf(graph_.of_value[value]);
    if (!there || *there == has) return;
    // Done once for all instructions that take it.
    if (!port.is_result && !converted_.emplace(value, ToString(*there)).second) return;
    const DType type = form_.TypeOf(value).dtype;
    const Work work = port.is_result ? ConversionWork(*there, has, type, target_)
                                     : ConversionWork(has, *there, type, target_);
    out_ += fmt::format("  {} {} %{} as {}: a conversion of {}\n", Place(op.op),
                        port.is_result ? "gives" : "takes", NameOf(value), ToString(*there),
                        CyclesOf(work, target_));
  }

  Form form_;
  const Target target_;
  const Cost whole_;
  const std::vector<OpenSharedTile> open_;
  const LayoutGraph graph_;
  const LayoutChoice choice_;
  const std::vector<SharedTileCost> shared_;
  std::set<std::pair<ValueId, std::string>> converted_;
  std::string out_;
};

}  // namespace

std::string LayoutReport(Form form, Target target, Cost whole) {
  return Report(std::move(form), target, whole).Run();
}

}  // namespace tarsia::compiler
