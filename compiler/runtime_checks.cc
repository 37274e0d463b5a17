#include "compiler/runtime_checks.h"

#include <algorithm>

namespace tarsia::compiler {
namespace {

// Whether a view or slice has extents that only the kernel can check.
bool ChecksExtents(const Program& program, const ResolvedInst& inst) {
  const ConcreteType& type = program.type(inst.results[0]);
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (type.shape[d] < 0 && !DependsOnParametersAlone(program, type.shape_exprs[d])) return true;
  }
  return false;
}

}  // namespace

bool DependsOnParametersAlone(const Program& program, ExprId expr) {
  const auto parameters = static_cast<uint32_t>(program.kernel().params.size());
  return program.scalar(expr).UsesOnlyBelow(parameters);
}

bool NeedsReport(const Program& program) {
  const auto& code = program.instructions();
  return std::any_of(code.begin(), code.end(), [&](const ResolvedInst& inst) {
    if (inst.row->Has(kReports)) return true;
    // A step may be zero; a slice may not begin on a whole byte; an extent may be negative.
    if (inst.opcode() == Opcode::kFor) {
      return inst.operand[2].present() && program.pool().UsesValues(inst.operand[2].expr);
    }
    if (inst.opcode() == Opcode::kView && IsMemoryTile(program.type(inst.operand[0].value))) {
      return true;
    }
    return inst.row->MakesView() && ChecksExtents(program, inst);
  });
}

}  // namespace tarsia::compiler
