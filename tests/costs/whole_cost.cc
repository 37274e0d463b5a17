#include "tests/costs/whole_cost.h"

#include "compiler/passes/accessed_memory.h"
#include "compiler/passes/layout_graph.h"
#include "compiler/select/mma.h"

namespace tarsia::costs {
namespace {

using namespace compiler;  // NOLINT(google-build-using-namespace)

class Sum {
 public:
  Sum(const tile::Form& form, Target target)
      : form_(form), target_(target), graph_(MakeLayoutGraph(form)), memories_(form) {}

  Work Run() const {
    Work out;
    for (const LayoutOp& op : graph_.ops) {
      out += op.turns * WorkOfOp(op);
      if (ReadsConverted(op)) {
        out += op.turns * LoneCodesWork(LayoutOf(form_.ops[op.op].operand[0].value).slots());
      }
    }
    return out;
  }

 private:
  [[nodiscard]] const TileLayout& LayoutOf(tile::ValueId value) const {
    return *graph_.variables[graph_.of_value[value]].written;
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
      return ScalarDotWork(in(2), op.rule.operand[0]->shape[1], types.c) +
             ScalarOperandWork(in(0)) + ScalarOperandWork(in(1));
    }
    if (operation.opcode == Opcode::kConvertLayout) {
      return ConversionWork(in(0), LayoutOf(operation.results[0]), op.rule.operand[0]->dtype);
    }
    if (operation.row().family == Family::kShape) return {};
    if (operation.row().family == Family::kReduce) {
      const int64_t indices = operation.results.size() > 1 ? 1 : 0;
      const int64_t words = op.rule.operand[0]->dtype.bits > 32 ? 2 : 1;
      return ReductionWork(in(0), op.rule.axes,
                           {LayoutOf(operation.results[0]).slots(), words + indices, 1 + indices});
    }
    const bool makes = !operation.results.empty();
    const tile::ValueId at = makes ? operation.results[0] : operation.operand[0].value;
    return ElementwiseWork(operation.opcode, form_.TypeOf(at).dtype, LayoutOf(at));
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
};

}  // namespace

Work WorkOf(const tile::Form& form, Target target) { return Sum(form, target).Run(); }

}  // namespace tarsia::costs
