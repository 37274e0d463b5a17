#include "ptx/race/race.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ptx/race/record_access.h"
#include "ptx/table/table.h"

namespace tarsia::ptx {
namespace {

std::optional<Hazard> HazardWithWrite(const AccessRecord& record, uint8_t bytes,
                                      const Accessor& by) {
  if ((record.bytes & bytes) == 0) return std::nullopt;
  if ((by.semantics & kNonCoherentBit) != 0) return Hazard::kNonCoherent;
  if (!by.IsAfter(record)) {
    if (by.IsMorallyStrongWith(record, bytes)) return std::nullopt;
    return Hazard::kUnordered;
  }
  if (!by.Sees(record)) return Hazard::kUnfenced;
  return std::nullopt;
}

// Of a write with an earlier read.
std::optional<Hazard> HazardWithRead(const AccessRecord& record, uint8_t bytes,
                                     const Accessor& by) {
  if ((record.bytes & bytes) == 0) return std::nullopt;
  if ((record.semantics & kNonCoherentBit) != 0) return Hazard::kNonCoherent;
  if (by.IsAfter(record) || by.IsMorallyStrongWith(record, bytes)) return std::nullopt;
  return Hazard::kUnordered;
}

// Calls visit(record) for all that a slot holds, the oldest first.
template <typename Visit>
void ForRecords(const Slot& slot, const Trails& trails, const Visit& visit) {
  for (const AccessRecord& record : trails[slot.older].all()) visit(record.From(slot.newest));
  visit(slot.newest);
}

// Whether the access is after an atomic that saw a strong write (all of its bytes).
bool IsAfterAtomicThatSaw(const AccessRecord& write, const Slot& writes, const Accessor& by,
                          const Trails& trails) {
  bool found = false;
  bool later = false;
  ForRecords(writes, trails, [&](const AccessRecord& record) {
    found = found ||
            (later && (record.semantics & kAtomicBit) != 0 && IsSubset(write.bytes, record.bytes) &&
             by.IsAfter(record) && by.AreMorallyStrong(record, write));
    later = later || record == write;
  });
  return found;
}

}  // namespace

bool Accessor::Sees(const AccessRecord& record) const {
  if ((semantics & kAsyncProxyBit) == 0 || (record.semantics & kAsyncProxyBit) != 0) return true;
  return past != nullptr && past->fenced.Of(record.block, record.actor) >= record.clock;
}

Strength Accessor::NeededScope(uint32_t one, uint32_t other) const {
  if (other == one) return Strength::kCta;
  return clusters != nullptr && clusters->Same(one, other) ? Strength::kCluster : Strength::kGpu;
}

bool Accessor::AreMorallyStrong(const AccessRecord& a, const AccessRecord& b) const {
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
  ForRecords(writes, trails, [&](const AccessRecord& record) {
    const auto hazard = HazardWithWrite(record, bytes, by);
    if (!hazard) return;
    if (*hazard == Hazard::kUnordered && IsAfterAtomicThatSaw(record, writes, by, trails)) return;
    conflicts->Add({*hazard, record, true, cell});
  });
}

void AddConflictsWithReads(const Slot& reads, uint64_t cell, uint8_t bytes, const Accessor& by,
                           const Trails& trails, Conflicts* conflicts) {
  ForRecords(reads, trails, [&](const AccessRecord& record) {
    if (const auto hazard = HazardWithRead(record, bytes, by)) {
      conflicts->Add({*hazard, record, false, cell});
    }
  });
}

bool IsRepresented(const Slot& reads, uint8_t bytes, const Accessor& by, const Trails& trails) {
  bool same = false;
  int of_warp = 0;
  const auto look_at = [&](const AccessRecord& record) {
    same = same || IsSameAgain(record, bytes, by);
    const bool is_like = record.actor / kLanes == by.actor / kLanes && record.bytes == bytes;
    if (is_like && record.semantics == by.semantics) ++of_warp;
  };
  const AccessRecord& newest = reads.newest;
  const uint32_t block = by.block - newest.block;  // as trails have them
  const Clock clock = by.clock - newest.clock;
  for (const AccessRecord& record : trails[reads.older].all()) {
    if (record.block == block && record.clock == clock) look_at(record.From(newest));
  }
  if (block == 0 && clock == 0) look_at(newest);
  return same || of_warp >= 2;
}

}  // namespace tarsia::ptx
