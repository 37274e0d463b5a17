#include "isa/validate/check_kernel.h"

#include "isa/validate/header.h"
#include "isa/validate/operand_checker.h"
#include "isa/validate/rule_context.h"

namespace tarsia {
namespace {

using Rule = void (*)(RuleContext&, const Inst&);
constexpr Rule kRules[] = {
#define INST(name, ...) &Validate##name,
#include "isa/isa.def"
#undef INST
};

// Checks the instructions of a kernel in their order, with the scopes and the memory of its blocks.
class BodyChecker {
 public:
  BodyChecker(KernelContext& context, Expressions& expressions, Scopes& scopes,
              std::optional<int64_t> warps)
      : context_(context),
        scopes_(scopes),
        layouts_(context, expressions, warps),
        operands_(context, layouts_),
        operand_checker_(context, expressions, scopes, operands_),
        attributes_(context, expressions),
        annotations_(context, expressions, scopes),
        results_(context, annotations_, layouts_),
        shared_memory_(context, expressions),
        rules_{.context = context,
               .kernel = context.kernel(),
               .pool = context.pool(),
               .expressions = expressions,
               .scopes = scopes,
               .operands = operands_,
               .attributes = attributes_,
               .annotations = annotations_,
               .layouts = layouts_,
               .results = results_,
               .shared_memory = shared_memory_} {}

  void Check() {
    CheckBlock(0, context_.kernel().code.size());
    shared_memory_.CheckPeak();
  }

 private:
  void CheckBlock(size_t begin, size_t end) {
    const Kernel& kernel = context_.kernel();
    const int64_t shared_before = shared_memory_.now();
    const size_t scope_before = scopes_.size();
    bool ended = false;
    for (size_t i = begin; i < end; i = kernel.code[i].end) {
      const Inst& inst = kernel.code[i];
      if (ended) {
        context_.Error(diag::kUnreachable, kernel.LocationOf(inst));
        break;
      }
      CheckInst(inst);
      const InstRow& row = Row(inst.opcode);
      if (row.Has(kOpensBlock)) {
        CheckBlocksOf(inst, i);
      } else {
        scopes_.ShowResults(inst);
      }
      ended = row.Has(kEndsBlock);
    }
    scopes_.ShrinkTo(scope_before);
    shared_memory_.ShrinkTo(shared_before);
  }

  // The results of an instruction with blocks are visible only in these blocks.
  void CheckBlocksOf(const Inst& inst, size_t index) {
    const size_t scope_before = scopes_.size();
    scopes_.ShowResults(inst);
    scopes_.OpenBlock();
    CheckBlock(index + 1, inst.else_begin);
    if (inst.else_begin < inst.end) CheckBlock(inst.else_begin, inst.end);
    scopes_.CloseBlock();
    scopes_.ShrinkTo(scope_before);
  }

  void CheckInst(const Inst& inst) {
    const InstRow& row = Row(inst.opcode);
    bool ok = operand_checker_.Check(inst, row);
    ok &= attributes_.Check(inst, row);
    ok &= annotations_.Check(inst, row);
    if (ok) kRules[static_cast<size_t>(inst.opcode)](rules_, inst);
  }

  KernelContext& context_;
  Scopes& scopes_;
  TileLayouts layouts_;
  Operands operands_;
  OperandChecker operand_checker_;
  Attributes attributes_;
  Annotations annotations_;
  Results results_;
  SharedMemory shared_memory_;
  RuleContext rules_;
};

}  // namespace

KernelFacts CheckKernel(Module& module, const Kernel& kernel, const TargetLimits* limits,
                        Diagnostics& diagnostics) {
  KernelContext context(module, kernel, limits, diagnostics);
  Expressions expressions(context);
  Scopes scopes(context);
  for (uint32_t i = 0; i < kernel.params.size(); ++i) scopes.Show(i, kernel.params[i].location);
  HeaderChecker header(context, expressions);
  header.Check();
  BodyChecker(context, expressions, scopes, header.warps()).Check();
  return {context.TakeTypes(), header.warps(), header.registers()};
}

}  // namespace tarsia
