#include "compiler/passes/stage.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/cost/cost.h"
#include "compiler/passes/shared_tiles.h"
#include "compiler/plan_shared.h"
#include "compiler/select/scratch.h"
#include "compiler/tile/new_operations.h"
#include "compiler/tile_layout.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

// The strides in which a plan has the elements of a tile in shared memory.
std::optional<MemLayout> LayoutOf(const ScratchPlan& plan, const Extents& shape) {
  const Extents& places = plan.put_places.shape();
  const auto layout = places.size() == shape.size()
                          ? MemLayout::Strided(shape, plan.order.strides)
                          : MemLayout::Strided(shape, places, plan.order.strides);
  return layout.ok() ? std::optional(*layout) : std::nullopt;
}

class Stager {
 public:
  Stager(Form& form, Target target)
      : form_(form),
        target_(target),
        most_(static_cast<uint64_t>(Row(target).shared_bytes) - kLeastScratch) {
    for (const SharedAllocation& tile : FindSharedAllocations(form)) used_ += tile.bytes;
  }

  void Run() { Visit(tile::kBody); }

 private:
  // Tiles of a region live beside those of the regions around it.
  void Visit(RegionId region) {
    const uint64_t before = used_;
    std::vector<OpId> ops;
    for (const OpId id : std::vector<OpId>(form_.regions[region].ops)) {
      if (form_.ops[id].opcode == Opcode::kConvertLayout) Replace(id, ops);
      ops.push_back(id);
    }
    form_.regions[region].ops = std::move(ops);
    for (const OpId load : std::exchange(loads_, {})) MoveToFirstUse(load, region);
    for (const OpId id : std::vector<OpId>(form_.regions[region].ops)) {
      for (const RegionId inner : std::vector<RegionId>(std::begin(form_.ops[id].region),
                                                        std::end(form_.ops[id].region))) {
        if (inner != kNone) Visit(inner);
      }
    }
    used_ = before;
  }

  // Makes the conversion a load, after what `ops` gets.
  void Replace(OpId id, std::vector<OpId>& ops) {
    const ConcreteType from = form_.TypeOf(form_.ops[id].operand[0].value);
    const ConcreteType to = form_.TypeOf(form_.ops[id].results[0]);
    const std::optional<MemLayout> layout = LayoutBetween(from, to);
    if (!layout) return;
    const uint64_t bytes = layout->SizeBytes(from.dtype.bits);
    if (bytes > kMostScratch || used_ + bytes > most_) return;
    used_ += bytes;
    const Location location = form_.ops[id].location;
    const Operand source = form_.ops[id].operand[0];
    const ValueId tile = tile::NewValue(form_, TileType(from, *layout), source.value);
    ops.push_back(tile::NewAllocation(form_, tile, location));
    Operation store =
        tile::StoreOf(tile::WholeOperand(form_, tile, Role::kWritten), source, location);
    ops.push_back(tile::NewOperation(form_, std::move(store)));
    ops.push_back(tile::NewSync(form_, location));
    const ValueId result = form_.ops[id].results[0];
    form_.ops[id] =
        tile::LoadOf(form_, tile::WholeOperand(form_, tile, Role::kRead), result, location);
    loads_.push_back(id);
  }

  // Nothing where no thread needs another one's elements, where shuffles give them, or where shared
  // memory would not do.
  [[nodiscard]] std::optional<MemLayout> LayoutBetween(const ConcreteType& from,
                                                       const ConcreteType& to) const {
    if (from.dtype.bits % 8 != 0 || from.shape.empty() || from.Elements() == 0) return std::nullopt;
    const auto source = TileLayout::Padded(*from.reg_layout, from.shape);
    const auto target = TileLayout::Padded(*to.reg_layout, to.shape);
    if (source.reg().spatial() == target.reg().spatial()) return std::nullopt;
    if (CheapestByShuffles(source, target, from.dtype, target_)) return std::nullopt;
    return LayoutOf(PlanScratch(source, target, from.dtype.bits / 8, target_), from.shape);
  }

  static ConcreteType TileType(const ConcreteType& like, const MemLayout& layout) {
    ConcreteType type;
    type.kind = ValueKind::kTile;
    type.space = Space::kShared;
    type.dtype = like.dtype;
    type.shape = like.shape;
    type.mem_layout = MemLayoutFamily::Of(layout);
    return type;
  }

  // Fragments take registers, and several tiles can share a barrier. A value that the region yields
  // is used at its end.
  void MoveToFirstUse(OpId load, RegionId region) {
    std::vector<OpId>& ops = form_.regions[region].ops;
    const auto here = std::find(ops.begin(), ops.end(), load);
    const ValueId value = form_.ops[load].results[0];
    const auto use =
        std::find_if(here + 1, ops.end(), [&](OpId id) { return Uses(form_.ops[id], value); });
    std::rotate(here, here + 1, use);
  }

  // By itself, or in its regions.
  bool Uses(const Operation& op, ValueId value) {
    bool found = std::find(op.inits.begin(), op.inits.end(), value) != op.inits.end();
    tile::ForEachUse(form_, op, [&](ValueId used) { found = found || used == value; });
    for (const RegionId region : op.region) {
      if (region == kNone || found) continue;
      const tile::Region& inner = form_.regions[region];
      found = std::find(inner.yields.begin(), inner.yields.end(), value) != inner.yields.end() ||
              std::any_of(inner.ops.begin(), inner.ops.end(),
                          [&](OpId id) { return Uses(form_.ops[id], value); });
    }
    return found;
  }

  Form& form_;
  const Target target_;
  const uint64_t most_;      // bytes of all tiles: the rest is scratch of other instructions
  uint64_t used_ = 0;        // bytes
  std::vector<OpId> loads_;  // of the region
};

}  // namespace

void Stage(Form& form, Target target) { Stager(form, target).Run(); }

}  // namespace tarsia::compiler
