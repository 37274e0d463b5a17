#include "compiler/plan_shared.h"

#include <algorithm>
#include <utility>

#include "compiler/diagnostics.h"
#include "layout/mem_layout.h"
#include "support/align.h"

namespace tarsia::compiler {
namespace {}  // namespace

const SharedTile* SharedPlan::Find(uint32_t value) const {
  const auto found = std::find_if(tiles.begin(), tiles.end(),
                                  [&](const SharedTile& tile) { return tile.value == value; });
  return found == tiles.end() ? nullptr : &*found;
}

Result<SharedPlan> PlanShared(const Program& program, Target target) {
  const Kernel& kernel = program.kernel();
  SharedPlan plan;
  plan.limit = static_cast<uint64_t>(Row(target).shared_bytes);
  uint64_t largest = 0;
  for (const ResolvedInst& inst : program.instructions()) {
    if (inst.row->Allocates() != Space::kShared) continue;
    SharedTile tile;
    tile.value = inst.results[0];
    const ConcreteType& type = program.type(tile.value);
    Result<MemLayout> layout = Apply(type.mem_layout, type.shape, type.dtype);
    if (!layout.ok()) {
      Diagnostic error = layout.TakeError();
      error.location = kernel.TypeLocation(*inst.inst);
      return error;
    }
    tile.offset = static_cast<uint64_t>(inst.at.value_or(0));
    plan.tiles.push_back(tile);
    const uint64_t bytes = AlignUp(layout->SizeBytes(type.dtype.bits), kSharedTileAlignment);
    plan.tile_bytes = std::max(plan.tile_bytes, tile.offset + bytes);
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
