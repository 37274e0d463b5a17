#include "compiler/passes/shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "compiler/plan_shared.h"
#include "support/align.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

// From the place of its allocation to that of the last access, in the order of the text.
struct Lifetime {
  uint32_t first = 0;
  uint32_t last = 0;
};
bool Meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

class Lifetimes {
 public:
  explicit Lifetimes(const Form& form) : form_(form), roots_(FindRoots(form)) {
    begin_.resize(form.ops.size());
    end_.resize(form.ops.size());
    region_of_.resize(form.ops.size(), kNone);
    home_.resize(form.values.size(), kNone);
    of_.resize(form.values.size());
    region_end_.resize(form.regions.size());
    Visit(tile::kBody);
    Extend(tile::kBody);
  }

  // With `whole_loops`, a tile that a loop allocates lives as long as the loop.
  [[nodiscard]] Lifetime Of(const SharedAllocation& tile, bool whole_loops) const {
    Lifetime out = of_[tile.value];
    const RegionId home = home_[tile.value];
    if (tile.copied) out.last = ArrivalAfter(home, out.last);
    const OpId owner = form_.regions[home].owner;
    if (whole_loops && owner != kNone && form_.ops[owner].IsLoop()) {
      out = {begin_[owner], end_[owner]};
    }
    return out;
  }

 private:
  void Visit(RegionId region) {
    for (const OpId id : form_.regions[region].ops) {
      const Operation& op = form_.ops[id];
      region_of_[id] = region;
      begin_[id] = place_++;
      if (op.row().Allocates() == Space::kShared) {
        home_[op.results[0]] = region;
        of_[op.results[0]] = {begin_[id], begin_[id]};
      }
      for (const RegionId inner : op.region) {
        if (inner != kNone) Visit(inner);
      }
      end_[id] = place_++;
    }
    region_end_[region] = place_++;
  }

  // The bytes of a copy may come at any time until all groups are waited for, its own among them.
  [[nodiscard]] uint32_t ArrivalAfter(RegionId home, uint32_t place) const {
    bool committed = false;
    for (const OpId id : form_.regions[home].ops) {
      const Operation& op = form_.ops[id];
      if (begin_[id] <= place) continue;
      committed = committed || op.opcode == Opcode::kCopyCommit;
      if (committed && WaitsForAll(form_, op)) return end_[id];
    }
    return region_end_[home];
  }

  // Each access, and each view, keeps the tile alive; one in a loop that does not contain the
  // allocation does so for all of the loop.
  void Extend(RegionId region) {
    for (const OpId id : form_.regions[region].ops) {
      const Operation& op = form_.ops[id];
      for (const Operand& operand : op.operand) {
        if (operand.kind != Operand::Kind::kMemory) continue;
        const ValueId root = roots_[operand.value];
        if (home_[root] == kNone) continue;
        OpId at = id;
        while (region_of_[at] != home_[root]) at = form_.regions[region_of_[at]].owner;
        of_[root].last = std::max(of_[root].last, end_[at]);
      }
      for (const RegionId inner : op.region) {
        if (inner != kNone) Extend(inner);
      }
    }
  }

  const Form& form_;
  const std::vector<ValueId> roots_;
  uint32_t place_ = 0;
  std::vector<uint32_t> begin_, end_;  // by operation
  std::vector<uint32_t> region_end_;   // by region
  std::vector<RegionId> region_of_;    // by operation
  std::vector<RegionId> home_;         // by value: the region that allocates it
  std::vector<Lifetime> of_;           // by value
};

// First fit, in the order of the text; returns the end of the last byte.
uint64_t Place(const Lifetimes& lifetimes, bool whole_loops, std::vector<SharedAllocation>& tiles) {
  uint64_t high = 0;
  std::vector<const SharedAllocation*> placed;
  for (const SharedAllocation& tile : tiles) {
    if (tile.place) placed.push_back(&tile);
  }
  for (SharedAllocation& tile : tiles) {
    const Lifetime life = lifetimes.Of(tile, whole_loops);
    const bool is_new = !tile.place;
    if (is_new) tile.place = 0;
    for (size_t i = 0; i < placed.size() && is_new; ++i) {
      const SharedAllocation& other = *placed[i];
      if (!ShareBytes(tile, other) || !Meet(life, lifetimes.Of(other, whole_loops))) continue;
      tile.place = AlignUp(*other.place + other.bytes, tile.alignment);
      i = SIZE_MAX;  // look at all of them again
    }
    high = std::max(high, *tile.place + tile.bytes);
    if (is_new) placed.push_back(&tile);
  }
  return high;
}

}  // namespace

std::vector<SharedAllocation> PlacesOfShared(const Form& form) {
  std::vector<SharedAllocation> apart = FindSharedAllocations(form);
  if (apart.empty()) return {};
  const Lifetimes lifetimes(form);
  std::vector<SharedAllocation> close = apart;
  const uint64_t roomy = Place(lifetimes, true, apart);
  const bool is_tight = roomy > kUsualSharedBytes && Place(lifetimes, false, close) < roomy;
  return is_tight ? close : apart;
}

void PlaceShared(Form& form, Target /*target*/) {
  for (const SharedAllocation& tile : PlacesOfShared(form)) {
    Operation& op = form.ops[tile.op];
    if (!op.attr[0].none()) continue;
    op.attr[0] = form.pool.Int(static_cast<int64_t>(*tile.place));
    op.placed = true;
  }
}

std::string FindSharedFault(const Form& form) {
  const std::vector<SharedAllocation> tiles = FindSharedAllocations(form);
  if (tiles.empty()) return "";
  const Lifetimes lifetimes(form);
  for (size_t i = 0; i < tiles.size(); ++i) {
    if (!tiles[i].place) return fmt::format("value {} has no place", tiles[i].value);
    for (size_t j = 0; j < i; ++j) {
      if (!form.ops[tiles[i].op].placed && !form.ops[tiles[j].op].placed) continue;
      if (!ShareBytes(tiles[i], tiles[j])) continue;
      if (!Meet(lifetimes.Of(tiles[i], false), lifetimes.Of(tiles[j], false))) continue;
      return fmt::format("values {} and {} share bytes", tiles[j].value, tiles[i].value);
    }
  }
  return "";
}

}  // namespace tarsia::compiler
