#include "ptx/race/slot_steps.h"

#include <algorithm>
#include <cstring>

namespace tarsia::ptx {
namespace {

bool IsSameWarp(const AccessRecord& record, const Accessor& by) {
  return record.block == by.block && record.actor / kLanes == by.actor / kLanes;
}

// What a slot holds, the oldest first, while it is being changed.
struct Entry {
  AccessRecord record;
  bool after = false;    // it happened before the access
  bool of_warp = false;  // it is by the warp of the access
  bool seen = false;     // the access is an atomic that sees it
};
class Entries {
 public:
  void Append(const Entry& entry) { entries_[count_++] = entry; }
  // Keeps those for which keep(entry) holds, which may change them.
  template <typename Keep>
  void Filter(const Keep& keep) {
    size_t kept = 0;
    for (size_t i = 0; i < count_; ++i) {
      Entry entry = entries_[i];
      if (keep(&entry)) entries_[kept++] = entry;
    }
    count_ = kept;
  }
  // Forgets one: of those that an instruction has most of, the oldest.
  void ForgetOne() {
    const auto count_like = [&](const Entry& entry) {
      return std::ranges::count_if(all(), [&](const Entry& other) {
        return other.record.inst == entry.record.inst &&
               other.record.semantics == entry.record.semantics &&
               other.record.bytes == entry.record.bytes;
      });
    };
    const auto victim = std::ranges::max_element(all(), {}, count_like);
    const auto at = entries_.begin() + (victim - all().begin());
    std::move(at + 1, entries_.begin() + static_cast<ptrdiff_t>(count_), at);
    --count_;
  }
  [[nodiscard]] std::span<const Entry> all() const { return {entries_.data(), count_}; }

 private:
  size_t count_ = 0;
  std::array<Entry, Trail::kMost + 2> entries_;
};

bool IsSelf(const AccessRecord& record, const AccessRecord& added) {
  return record.block == added.block && record.actor == added.actor &&
         record.clock == added.clock && (added.semantics & kAsyncBit) == 0;
}

// Apart from bytes and semantics.
bool IsSameAccess(const AccessRecord& a, const AccessRecord& b) {
  return a.block == b.block && a.actor == b.actor && a.clock == b.clock && a.inst == b.inst;
}

// Whether an access makes an earlier one, or the bytes of it that both have, superfluous.
bool IsPast(const Entry& entry, const AccessRecord& added) {
  return entry.after && (entry.record.semantics & ~added.semantics & kNonCoherentBit) == 0 &&
         IsNoStronger(added.semantics, added.bytes, entry.record);
}

// Removes the bytes of a weak write of a block from the records of the block's earlier accesses.
// Where it is after none of these there has been a race, which is reported once.
void TakeOut(uint8_t bytes, Entries* entries) {
  entries->Filter([&](Entry* entry) {
    if ((entry->record.semantics & kNonCoherentBit) == 0)
      entry->record.bytes &= static_cast<uint8_t>(~bytes);
    return entry->record.bytes != 0;
  });
}

// Whether an access adds nothing to the records: the same thread did as much, or there are two
// accesses of its warp that nothing orders, and what races with any of them races with one of
// these. `across`: each instruction counts by itself.
bool IsCovered(const AccessRecord& added, bool across, std::span<const Entry> entries) {
  int of_warp = 0;
  bool all_stay = true;
  for (const Entry& entry : entries) {
    const AccessRecord& record = entry.record;
    if (across && record.inst != added.inst) continue;
    if (IsSelf(record, added)) {
      // An atomic has seen what came since.
      const bool atomic = (added.semantics & kAtomicBit) != 0;
      if (IsSubset(added.bytes, record.bytes) && record.semantics == added.semantics && !atomic)
        return true;
      all_stay = false;
    } else if (IsPast(entry, added)) {
      all_stay = false;
    } else if (entry.of_warp && record.bytes == added.bytes &&
               record.semantics == added.semantics) {
      ++of_warp;
    }
  }
  return of_warp >= 2 && all_stay;
}

// Adds an access and drops what it makes superfluous.
void AddEntry(const AccessRecord& added, bool across, Entries* entries) {
  if (IsCovered(added, across, entries->all())) return;
  AccessRecord fresh = added;
  entries->Filter([&](Entry* entry) {
    AccessRecord& record = entry->record;
    if (across && record.inst != added.inst) return true;
    const bool atomic = (added.semantics & kAtomicBit) != 0;  // where it is newest says what it saw
    if (IsSelf(record, added) && !atomic &&
        record.semantics == (added.semantics | (record.semantics & kNonCoherentBit))) {
      fresh.bytes |= record.bytes;
      fresh.semantics |= record.semantics & kNonCoherentBit;
      return false;
    }
    if (IsPast(*entry, added)) record.bytes &= static_cast<uint8_t>(~added.bytes);
    return record.bytes != 0;
  });
  entries->Append({fresh});
}

Slot SlotOf(std::span<const Entry> entries, Trails* trails) {
  Slot slot;
  if (entries.empty()) return slot;
  slot.newest = entries.back().record;
  std::array<AccessRecord, Trail::kMost> older;
  const size_t count = entries.size() - 1;
  for (size_t i = 0; i < count; ++i) older[i] = entries[i].record.SeenFrom(slot.newest);
  slot.older = trails->Number({older.data(), count});
  return slot;
}

}  // namespace

Slot SlotSteps::Next(const Slot& slot, const AccessRecord& added, const Standing& standing,
                     Change change, bool across) {
  Entries entries;
  uint32_t bit = 1;
  const auto append = [&](const AccessRecord& record) {
    entries.Append({record, (standing.after & bit) != 0, (standing.of_warp & bit) != 0,
                    (standing.seen & bit) != 0});
    bit <<= 1;
  };
  for (const AccessRecord& record : (*trails_)[slot.older].all()) append(record.From(slot.newest));
  append(slot.newest);
  switch (change) {
    case Change::kUncover:
      TakeOut(added.bytes, &entries);
      break;
    case Change::kOutdate:
      entries.Filter([&](Entry* entry) {
        AccessRecord& record = entry->record;
        const bool other = !IsSameAccess(record, added);
        if (other && (record.bytes & added.bytes) != 0) record.semantics |= kStaleBit;
        return true;
      });
      break;
    case Change::kAdd:
      entries.Filter([&](const Entry* entry) {
        return !entry->seen || !IsSubset(entry->record.bytes, added.bytes) ||
               (across && entry->record.inst != added.inst);
      });
      AddEntry(added, across, &entries);
      break;
  }
  if (entries.all().size() > Trail::kMost + 1) entries.ForgetOne();
  return SlotOf(entries.all(), trails_);
}

SlotSteps::Standing SlotSteps::StandingOf(const Slot& slot, uint8_t bytes,
                                          const Accessor& by) const {
  Standing standing;
  const bool atomic = (by.semantics & kAtomicBit) != 0;
  const bool knows_others = by.KnowsOtherBlocks();
  const std::span<const AccessRecord> older = (*trails_)[slot.older].all();
  for (size_t i = 0; i <= older.size(); ++i) {
    const AccessRecord record = i < older.size() ? older[i].From(slot.newest) : slot.newest;
    if (record.block != by.block && !knows_others && !atomic) continue;
    const uint32_t bit = uint32_t{1} << i;
    if (by.IsAfter(record)) standing.after |= bit;
    if (IsSameWarp(record, by)) standing.of_warp |= bit;
    if (atomic && by.IsMorallyStrongWith(record, bytes)) standing.seen |= bit;
  }
  return standing;
}

void SlotSteps::Uncover(Slot* slot, uint8_t bytes, const Accessor& by) {
  if (IsWithin(*slot, bytes, by)) {
    *slot = {};
    return;
  }
  AccessRecord covered = slot->newest;  // who writes does not matter
  covered.bytes = bytes;
  Advance(slot, covered, {}, Change::kUncover, false);
}

void SlotSteps::Outdate(Slot* slot, uint8_t bytes, const Accessor& by) {
  if (!slot->empty()) Advance(slot, by.RecordOf(bytes), {}, Change::kOutdate, false);
}

void SlotSteps::Advance(Slot* slot, const AccessRecord& added, const Standing& standing,
                        Change change, bool across) {
  const AccessRecord seen = slot->newest.SeenFrom(added);
  const auto pair = [](uint64_t high, uint32_t low) { return high << 32 | low; };
  Key key;
  key.words[0] = pair(seen.block, seen.clock);
  key.words[1] = pair(seen.inst, added.inst);
  static_assert(Trails::kMost <= 1 << 16 && Trail::kMost < 16);
  key.words[2] = pair(standing.seen << 16 | slot->older, standing.after << 16 | standing.of_warp);
  key.words[3] = pair(uint32_t{seen.actor} << 16 | uint32_t{seen.semantics} << 8 | added.semantics,
                      uint32_t{seen.bytes} << 16 | uint32_t{added.bytes} << 8 |
                          static_cast<uint32_t>(change) << 1 | (across ? 1U : 0U));
  const uint64_t hash = (key.words[0] * 0x9E3779B97F4A7C15U) ^
                        (key.words[1] * 0xC2B2AE3D27D4EB4FU) ^
                        (key.words[2] * 0x165667B19E3779F9U) ^ (key.words[3] * 0xD6E8FEB86659FD93U);
  if (steps_.empty()) steps_.resize(kSteps);
  Step& step = steps_[hash >> 40 & (kSteps - 1)];
  if (!(step.key == key)) {
    const Slot after = Next(*slot, added, standing, change, across);
    const AccessRecord& newest = after.newest;
    if (!after.empty() && !IsSameAccess(newest, added) && !IsSameAccess(newest, slot->newest)) {
      *slot = after;  // rare; not worth remembering
      return;
    }
    step = {key, after.older, Newest::kNone, newest.bytes, newest.semantics};
    if (!after.empty()) {
      step.newest = IsSameAccess(newest, added) ? Newest::kAdded : Newest::kOld;
    }
  }
  switch (step.newest) {
    case Newest::kNone:
      *slot = {};
      return;
    case Newest::kAdded:
      slot->newest = added;
      break;
    case Newest::kOld:
      break;
  }
  slot->newest.bytes = step.bytes;
  slot->newest.semantics = step.semantics;
  slot->older = step.older;
}

}  // namespace tarsia::ptx
