#include "compiler/passes/predicted_work.h"

#include <map>

#include "compiler/passes/accessed_memory.h"
#include "compiler/passes/layout_graph.h"
#include "compiler/passes/turns.h"
#include "compiler/select/box.h"
#include "compiler/select/mma.h"
#include "layout/access.h"

namespace tarsia::compiler {
namespace {

using tile::kNone;
using tile::OpId;
using tile::RegionId;

class Prediction {
 public:
  Prediction(const tile::Form& form, Target target, RegionId region)
      : form_(form), target_(target), graph_(MakeLayoutGraph(form)), memories_(form, target) {
    Visit(region, 1);
  }

  [[nodiscard]] const std::map<uint32_t, Work>& by_line() const { return by_line_; }

 private:
  void Visit(RegionId region, Cost turns) {
    for (const OpId id : form_.regions[region].ops) {
      const tile::Operation& op = form_.ops[id];
      by_line_[op.location.line] += turns * WorkOf(id);
      for (const int i : {0, 1}) {
        if (op.region[i] != kNone) Visit(op.region[i], TurnsIn(form_, op, i, turns));
      }
    }
  }

  [[nodiscard]] Work WorkOf(OpId id) const {
    const tile::Operation& operation = form_.ops[id];
    Work out;
    if (operation.opcode == Opcode::kSync) out.barriers = 1;
    if (operation.opcode == Opcode::kCopyAsync) return WorkOfCopy(operation);
    if (graph_.of_op[id] == kNone) return out;
    const LayoutOp& op = graph_.ops[graph_.of_op[id]];
    out = WorkOfOp(op);
    if (ReadsConverted(op)) out += LoneCodesWork(LayoutOf(operation.operand[0].value).slots());
    return out;
  }

  [[nodiscard]] const TileLayout& LayoutOf(tile::ValueId value) const {
    return *graph_.variables[graph_.of_value[value]].written;
  }

  [[nodiscard]] Work WorkOfCopy(const tile::Operation& operation) const {
    Extents shape;
    for (const ExprId extent : form_.pool.children(operation.annotation.shape)) {
      shape.push_back(form_.pool.AsInt(extent).value_or(1));
    }
    const auto layout =
        LayoutOfBox(operation.row(), shape, form_.TypeOf(operation.operand[1].value),
                    graph_.warps * kWarpThreads);
    if (!layout.ok()) return {};
    return CopyWork(memories_.Of(operation, 0), memories_.Of(operation, 1), *layout);
  }

  // Whether the instruction reads codes that are no longer where they were loaded.
  [[nodiscard]] bool ReadsConverted(const LayoutOp& op) const {
    const tile::Operation& operation = form_.ops[op.op];
    if (!operation.row().Has(kReadsCodes) || op.rule.operand[0] == nullptr) return false;
    if (op.rule.operand[0]->dtype.bits > 8) return false;
    for (const tile::Operation& other : form_.ops) {
      if (other.opcode != Opcode::kConvertLayout || other.results.empty()) continue;
      if (other.results[0] == operation.operand[0].value) return true;
    }
    return false;
  }

  [[nodiscard]] Work WorkOfOp(const LayoutOp& op) const {
    const tile::Operation& operation = form_.ops[op.op];
    const auto in = [&](size_t i) -> const TileLayout& {
      return LayoutOf(operation.operand[i].value);
    };
    if (operation.operand[0].kind == Operand::Kind::kMemory) {
      const bool loads = !operation.results.empty();
      const tile::ValueId moved =
          loads ? operation.results[0] : operation.operand[MovedOperand(op)].value;
      return AccessWork(memories_.Of(operation), LayoutOf(moved));
    }
    if (operation.opcode == Opcode::kDot) {
      const DotTypes types = {op.rule.operand[0]->dtype, op.rule.operand[1]->dtype,
                              op.rule.operand[2]->dtype};
      const auto mma = SelectMma(types, target_, in(0), in(1), in(2));
      if (mma) return MmaWork(MmaProducts(*mma->form, static_cast<int64_t>(mma->steps.size())));
      return ScalarDotWork(in(2), op.rule.operand[0]->shape.back(), types.c) +
             ScalarOperandWork(in(0), types.a, DotOperand::kA, in(2), target_) +
             ScalarOperandWork(in(1), types.b, DotOperand::kB, in(2), target_);
    }
    if (operation.opcode == Opcode::kConvertLayout) {
      return ConversionWork(in(0), LayoutOf(operation.results[0]), op.rule.operand[0]->dtype,
                            target_);
    }
    if (operation.row().family == Family::kShape) return {};
    if (operation.operand[0].IsTile()) {
      if (const auto work = OwnWork(op.rule, in(0))) return *work;
    }
    if (operation.row().family == Family::kReduce) {
      const int64_t indices = operation.results.size() > 1 ? 1 : 0;
      const int64_t words = op.rule.operand[0]->dtype.bits > 32 ? 2 : 1;
      return ReductionWork(op.rule.opcode, op.rule.operand[0]->dtype, in(0), op.rule.axes,
                           {LayoutOf(operation.results[0]).slots(), words + indices, 1 + indices});
    }
    const bool makes = !operation.results.empty();
    const tile::ValueId at = makes ? operation.results[0] : operation.operand[0].value;
    return ElementwiseWork(operation.opcode, form_.TypeOf(at).dtype, LayoutOf(at), op.rule.fast);
  }

  // Of a store: the last tile that it reads.
  [[nodiscard]] static size_t MovedOperand(const LayoutOp& op) {
    size_t out = 0;
    for (size_t i = 0; i < kMaxOperands; ++i) {
      if (op.rule.operand[i] != nullptr) out = i;
    }
    return out;
  }

  const tile::Form& form_;
  const Target target_;
  const LayoutGraph graph_;
  const AccessedMemories memories_;
  std::map<uint32_t, Work> by_line_;
};

}  // namespace

std::vector<LineWork> PredictWorkByLine(const tile::Form& form, Target target) {
  std::vector<LineWork> out;
  const Prediction prediction(form, target, tile::kBody);
  for (const auto& [line, work] : prediction.by_line()) {
    if (work != Work()) out.push_back({line, work});
  }
  return out;
}

Work PredictWork(const tile::Form& form, Target target) {
  Work out;
  for (const LineWork& line : PredictWorkByLine(form, target)) out += line.work;
  return out;
}

Work PredictWork(const tile::Form& form, Target target, RegionId region) {
  Work out;
  const Prediction prediction(form, target, region);
  for (const auto& [line, work] : prediction.by_line()) out += work;
  return out;
}

}  // namespace tarsia::compiler
