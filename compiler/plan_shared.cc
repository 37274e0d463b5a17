#include "compiler/plan_shared.h"

#include <algorithm>
#include <utility>

#include "compiler/diagnostics.h"
#include "layout/mem_layout.h"
#include "support/align.h"

namespace tarsia::compiler {

Result<SharedPlan> PlanShared(const Program& program, Target target) {
  const Kernel& kernel = program.kernel();
  SharedPlan plan;
  plan.limit = static_cast<uint64_t>(Row(target).shared_bytes);
  uint64_t largest = 0;
  for (const ResolvedInst& inst : program.instructions()) {
    if (inst.row->Allocates() != Space::kShared) continue;
    const ConcreteType& type = program.type(inst.results[0]);
    Result<MemLayout> layout = Apply(type.mem_layout, type.shape, type.dtype);
    if (!layout.ok()) {
      Diagnostic error = layout.TakeError();
      error.location = kernel.TypeLocation(*inst.inst);
      return error;
    }
    const uint64_t bytes = AlignUp(layout->SizeBytes(type.dtype.bits), kSharedTileAlignment);
    plan.tile_bytes = std::max(plan.tile_bytes, static_cast<uint64_t>(inst.at.value_or(0)) + bytes);
    if (bytes <= largest) continue;
    largest = bytes;
    plan.largest = kernel.LocationOf(*inst.inst);
  }
  const uint64_t left = plan.limit - std::min(plan.limit, plan.tile_bytes);
  plan.scratch_room = std::min(left / kSharedTileAlignment * kSharedTileAlignment, kMostScratch);
  return plan;
}

Result<uint64_t> TotalShared(const Program& program, const SharedPlan& plan, Target target,
                             uint64_t scratch) {
  const uint64_t total = AlignUp(plan.tile_bytes + scratch, kSharedTileAlignment);
  if (total <= plan.limit) return total;
  return MakeDiagnostic(diag::kSharedPlan, plan.largest, program.name(), total, plan.tile_bytes,
                        scratch, plan.limit, Row(target).name);
}

}  // namespace tarsia::compiler
