#include "ptx/race/race.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ptx/race/touch.h"
#include "ptx/table/table.h"

namespace tarsia::ptx {
namespace {

bool IsSubset(uint8_t bytes, uint8_t of) { return (bytes & ~of) == 0; }

std::optional<Hazard> HazardWithWrite(const Mark& mark, uint8_t bytes, const Accessor& by) {
  if ((mark.bytes & bytes) == 0) return std::nullopt;
  if ((by.semantics & kNonCoherentBit) != 0) return Hazard::kNonCoherent;
  if (!by.IsAfter(mark)) {
    if (by.IsMorallyStrongWith(mark, bytes)) return std::nullopt;
    return Hazard::kUnordered;
  }
  if (!by.Sees(mark)) return Hazard::kUnfenced;
  return std::nullopt;
}

// Of a write with an earlier read.
std::optional<Hazard> HazardWithRead(const Mark& mark, uint8_t bytes, const Accessor& by) {
  if ((mark.bytes & bytes) == 0) return std::nullopt;
  if ((mark.semantics & kNonCoherentBit) != 0) return Hazard::kNonCoherent;
  if (by.IsAfter(mark) || by.IsMorallyStrongWith(mark, bytes)) return std::nullopt;
  return Hazard::kUnordered;
}

// Calls visit(mark) for all that a slot holds, the oldest first.
template <typename Visit>
void ForMarks(const Slot& slot, const Trails& trails, const Visit& visit) {
  for (const Mark& mark : trails[slot.older].all()) visit(mark.From(slot.newest));
  visit(slot.newest);
}

// Whether the access comes behind an atomic that saw a strong write (all of its bytes).
bool ComesBehindSightOf(const Mark& write, const Slot& writes, const Accessor& by,
                        const Trails& trails) {
  bool found = false;
  bool later = false;
  ForMarks(writes, trails, [&](const Mark& mark) {
    found = found ||
            (later && (mark.semantics & kAtomicBit) != 0 && IsSubset(write.bytes, mark.bytes) &&
             by.IsAfter(mark) && by.AreMorallyStrong(mark, write));
    later = later || mark == write;
  });
  return found;
}

}  // namespace

bool Accessor::Sees(const Mark& mark) const {
  if ((semantics & kAsyncProxyBit) == 0 || (mark.semantics & kAsyncProxyBit) != 0) return true;
  return past != nullptr && past->fenced.Of(mark.block, mark.actor) >= mark.clock;
}

Strength Accessor::NeededScope(uint32_t one, uint32_t other) const {
  if (other == one) return Strength::kCta;
  return clusters != nullptr && clusters->Same(one, other) ? Strength::kCluster : Strength::kGpu;
}

bool Accessor::AreMorallyStrong(const Mark& a, const Mark& b) const {
  const auto mine = static_cast<Strength>(a.semantics & kStrengthBits);
  const auto theirs = static_cast<Strength>(b.semantics & kStrengthBits);
  if (mine == Strength::kWeak || theirs == Strength::kWeak) return false;
  if (!IsSubset(a.bytes, b.bytes) && !IsSubset(b.bytes, a.bytes)) return false;
  return std::min(mine, theirs) >= NeededScope(a.block, b.block);
}

void Conflicts::Add(const Conflict& conflict) {
  const auto is_like = [&](const Conflict& other) {
    return other.with.inst == conflict.with.inst &&
           other.with.semantics == conflict.with.semantics && other.hazard == conflict.hazard &&
           other.with_write == conflict.with_write;
  };
  const auto known = std::ranges::find_if(all_, is_like);
  if (known == all_.end()) {
    all_.push_back(conflict);
  } else if (known->cell == conflict.cell && std::pair(conflict.with.block, conflict.with.actor) <
                                                 std::pair(known->with.block, known->with.actor)) {
    *known = conflict;
  }
}

void AddConflictsWithWrites(const Slot& writes, uint64_t cell, uint8_t bytes, const Accessor& by,
                            const Trails& trails, Conflicts* conflicts) {
  ForMarks(writes, trails, [&](const Mark& mark) {
    const auto hazard = HazardWithWrite(mark, bytes, by);
    if (!hazard) return;
    if (*hazard == Hazard::kUnordered && ComesBehindSightOf(mark, writes, by, trails)) return;
    conflicts->Add({*hazard, mark, true, cell});
  });
}

void AddConflictsWithReads(const Slot& reads, uint64_t cell, uint8_t bytes, const Accessor& by,
                           const Trails& trails, Conflicts* conflicts) {
  ForMarks(reads, trails, [&](const Mark& mark) {
    if (const auto hazard = HazardWithRead(mark, bytes, by)) {
      conflicts->Add({*hazard, mark, false, cell});
    }
  });
}

bool IsToldOf(const Slot& reads, uint8_t bytes, const Accessor& by, const Trails& trails) {
  bool same = false;
  int of_warp = 0;
  const auto look_at = [&](const Mark& mark) {
    same = same || IsSameAgain(mark, bytes, by);
    const bool is_like = mark.actor / kLanes == by.actor / kLanes && mark.bytes == bytes;
    if (is_like && mark.semantics == by.semantics) ++of_warp;
  };
  const Mark& newest = reads.newest;
  const uint32_t block = by.block - newest.block;  // as trails have them
  const Clock clock = by.clock - newest.clock;
  for (const Mark& mark : trails[reads.older].all()) {
    if (mark.block == block && mark.clock == clock) look_at(mark.From(newest));
  }
  if (block == 0 && clock == 0) look_at(newest);
  return same || of_warp >= 2;
}

}  // namespace tarsia::ptx
