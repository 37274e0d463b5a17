#include "compiler/plan_shared.h"

#include <algorithm>
#include <utility>

#include "compiler/diagnostics.h"
#include "layout/mem_layout.h"
#include "support/align.h"

namespace tarsia::compiler {
namespace {

constexpr uint64_t kTileAlignment = 16;
// Exchanges that need more are done in rounds. A tile of 256 x 128 halves fits, with gaps between
// its rows.
constexpr uint64_t kMostScratch = 73728;

// Tiles as a stack of blocks of code.
class Placer {
 public:
  Placer(const Program& program, SharedPlan& plan)
      : program_(program), kernel_(program.kernel()), plan_(plan) {}

  Status PlaceBlock(size_t begin, size_t end, int depth) {
    const uint64_t bottom = top_;
    for (size_t i = begin; i < end;) {
      const Inst& inst = kernel_.code[i];
      const InstRow& row = Row(inst.opcode);
      if (row.Allocates() == Space::kShared) TARSIA_CHECK(Place(inst, depth));
      if (row.Has(kOpensBlock)) {
        TARSIA_CHECK(PlaceBlock(i + 1, inst.else_begin, depth + 1));
        TARSIA_CHECK(PlaceBlock(inst.else_begin, inst.end, depth + 1));
      }
      i = std::max<size_t>(inst.end, i + 1);
    }
    top_ = bottom;
    return OkStatus();
  }

  // The highest byte that any tile takes, from their common start.
  [[nodiscard]] uint64_t high() const { return high_; }
  // The largest tile's instruction, for messages.
  [[nodiscard]] Location largest() const { return largest_; }

 private:
  Status Place(const Inst& inst, int depth) {
    const uint32_t value = kernel_.Results(inst)[0].value();
    const ConcreteType& type = program_.type(value);
    Result<MemLayout> layout = Apply(type.mem_layout, type.shape, type.dtype);
    if (!layout.ok()) {
      Diagnostic error = layout.TakeError();
      error.location = kernel_.TypeLocation(inst);
      return error;
    }
    SharedTile tile;
    tile.value = value;
    tile.bytes = AlignUp(layout->SizeBytes(type.dtype.bits), kTileAlignment);
    const uint64_t alignment =
        std::clamp(static_cast<uint64_t>(layout->Alignment()), kTileAlignment, kSharedAlignment);
    tile.offset = AlignUp(top_, alignment);
    tile.reused = depth > 0 || tile.offset < high_;
    top_ = tile.offset + tile.bytes;
    high_ = std::max(high_, top_);
    if (tile.bytes > largest_bytes_) {
      largest_bytes_ = tile.bytes;
      largest_ = kernel_.LocationOf(inst);
    }
    plan_.tiles.push_back(tile);
    return OkStatus();
  }

  const Program& program_;
  const Kernel& kernel_;
  SharedPlan& plan_;
  uint64_t top_ = 0;
  uint64_t high_ = 0;
  uint64_t largest_bytes_ = 0;
  Location largest_;
};

}  // namespace

const SharedTile* SharedPlan::Find(uint32_t value) const {
  const auto found = std::find_if(tiles.begin(), tiles.end(),
                                  [&](const SharedTile& tile) { return tile.value == value; });
  return found == tiles.end() ? nullptr : &*found;
}

Result<SharedPlan> PlanShared(const Program& program, Target target) {
  SharedPlan plan;
  plan.limit = static_cast<uint64_t>(Row(target).shared_bytes);
  Placer placer(program, plan);
  TARSIA_CHECK(placer.PlaceBlock(0, program.kernel().code.size(), 0));
  plan.tile_bytes = placer.high();
  plan.largest = placer.largest();
  const uint64_t left = plan.limit - std::min(plan.limit, plan.tile_bytes);
  plan.scratch_room = std::min(left / kTileAlignment * kTileAlignment, kMostScratch);
  return plan;
}

Result<uint64_t> TotalShared(const Program& program, const SharedPlan& plan, Target target,
                             uint64_t scratch) {
  const uint64_t total = AlignUp(plan.tile_bytes + scratch, kTileAlignment);
  if (total <= plan.limit) return total;
  return MakeDiagnostic(diag::kSharedPlan, plan.largest, program.name(), total, plan.tile_bytes,
                        scratch, plan.limit, Row(target).name);
}

}  // namespace tarsia::compiler
