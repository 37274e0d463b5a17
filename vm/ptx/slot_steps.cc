#include "vm/ptx/slot_steps.h"

#include <algorithm>
#include <cstring>

namespace tarsia::ptx {
namespace {

bool IsSubset(uint8_t bytes, uint8_t of) { return (bytes & ~of) == 0; }

bool IsSameWarp(const Mark& mark, const Accessor& by) {
  return mark.block == by.block && mark.actor / kLanes == by.actor / kLanes;
}

// What a slot holds, the oldest first, while it is being changed.
struct Entry {
  Mark mark;
  bool after = false;    // it happened before the access
  bool of_warp = false;  // it is by the warp of the access
};
class Entries {
 public:
  void Append(const Entry& entry) { entries_[count_++] = entry; }
  void DropNewest() { --count_; }
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
  [[nodiscard]] std::span<const Entry> all() const { return {entries_.data(), count_}; }

 private:
  size_t count_ = 0;
  std::array<Entry, Trail::kMost + 2> entries_;
};

void TakeOut(uint8_t bytes, Entries* entries) {
  entries->Filter([&](Entry* entry) {
    entry->mark.bytes &= static_cast<uint8_t>(~bytes);
    return entry->mark.bytes != 0;
  });
}

bool IsSelf(const Mark& mark, const Mark& added) {
  return mark.block == added.block && mark.actor == added.actor && mark.clock == added.clock &&
         (added.how & kAsyncBit) == 0;
}

// But for bytes and how.
bool IsSameAccess(const Mark& a, const Mark& b) {
  return a.block == b.block && a.actor == b.actor && a.clock == b.clock && a.inst == b.inst;
}

// Whether an access makes an earlier one superfluous.
bool IsPast(const Entry& entry, const Mark& added) {
  return entry.after && IsSubset(entry.mark.bytes, added.bytes) &&
         (entry.mark.how & ~added.how & kNonCoherentBit) == 0;
}

// Whether what is there says as much as an access: the same thread did as much, or of its warp's
// accesses that nothing orders there are two, and whoever races with any of them races with one of
// these.
bool IsCovered(const Mark& added, std::span<const Entry> entries) {
  int of_warp = 0;
  bool all_stay = true;
  for (const Entry& entry : entries) {
    const Mark& mark = entry.mark;
    if (IsSelf(mark, added)) {
      if (IsSubset(added.bytes, mark.bytes) && mark.how == added.how) return true;
      all_stay = false;
    } else if (IsPast(entry, added)) {
      all_stay = false;
    } else if (entry.of_warp && mark.bytes == added.bytes && mark.how == added.how) {
      ++of_warp;
    }
  }
  return of_warp >= 2 && all_stay;
}

// Adds an access and drops what it makes superfluous.
void Add(const Mark& added, Entries* entries) {
  if (IsCovered(added, entries->all())) return;
  Mark fresh = added;
  entries->Filter([&](const Entry* entry) {
    if (!IsSelf(entry->mark, added)) return !IsPast(*entry, added);
    fresh.bytes |= entry->mark.bytes;
    fresh.how |= entry->mark.how & kNonCoherentBit;
    return false;
  });
  entries->Append({fresh});
}

Slot SlotOf(std::span<const Entry> entries, Trails* trails) {
  Slot slot;
  if (entries.empty()) return slot;
  slot.newest = entries.back().mark;
  std::array<Mark, Trail::kMost> older;
  const size_t count = std::min(entries.size() - 1, older.size());
  for (size_t i = 0; i < count; ++i) {
    older[i] = entries[entries.size() - 1 - count + i].mark.SeenFrom(slot.newest);
  }
  slot.older = trails->Number({older.data(), count});
  return slot;
}

}  // namespace

Slot SlotSteps::Next(const Slot& slot, const Mark& added, const Standing& standing, Change change) {
  Entries entries;
  uint32_t bit = 1;
  const auto append = [&](const Mark& mark) {
    entries.Append({mark, (standing.after & bit) != 0, (standing.of_warp & bit) != 0});
    bit <<= 1;
  };
  for (const Mark& mark : (*trails_)[slot.older].all()) append(mark.From(slot.newest));
  append(slot.newest);
  switch (change) {
    case Change::kUncover:
      TakeOut(added.bytes, &entries);
      break;
    case Change::kReplace:
      TakeOut(added.bytes, &entries);
      Add(added, &entries);
      break;
    case Change::kSeeAndAdd:
      entries.DropNewest();
      Add(added, &entries);
      break;
    case Change::kAdd:
      Add(added, &entries);
      break;
  }
  return SlotOf(entries.all(), trails_);
}

SlotSteps::Standing SlotSteps::StandingOf(const Slot& slot, const Accessor& by) const {
  Standing standing;
  uint32_t bit = 1;
  const auto add = [&](const Mark& mark) {
    if (by.IsAfter(mark)) standing.after |= bit;
    if (IsSameWarp(mark, by)) standing.of_warp |= bit;
    bit <<= 1;
  };
  for (const Mark& mark : (*trails_)[slot.older].all()) add(mark.From(slot.newest));
  add(slot.newest);
  return standing;
}

void SlotSteps::Advance(Slot* slot, const Mark& added, const Standing& standing, Change change) {
  const Mark seen = slot->newest.SeenFrom(added);
  const auto pair = [](uint64_t high, uint32_t low) { return high << 32 | low; };
  Key key;
  key.words[0] = pair(seen.block, seen.clock);
  key.words[1] = pair(seen.inst, added.inst);
  key.words[2] = pair(slot->older, standing.after << 16 | standing.of_warp);
  key.words[3] =
      pair(uint32_t{seen.actor} << 16 | uint32_t{seen.how} << 8 | added.how,
           uint32_t{seen.bytes} << 16 | uint32_t{added.bytes} << 8 | static_cast<uint32_t>(change));
  const uint64_t hash = (key.words[0] * 0x9E3779B97F4A7C15U) ^
                        (key.words[1] * 0xC2B2AE3D27D4EB4FU) ^
                        (key.words[2] * 0x165667B19E3779F9U) ^ (key.words[3] * 0xD6E8FEB86659FD93U);
  if (steps_.empty()) steps_.resize(kSteps);
  Step& step = steps_[hash >> 40 & (kSteps - 1)];
  if (!(step.key == key)) {
    const Slot after = Next(*slot, added, standing, change);
    const Mark& newest = after.newest;
    if (!after.empty() && !IsSameAccess(newest, added) && !IsSameAccess(newest, slot->newest)) {
      *slot = after;  // rare; not worth remembering
      return;
    }
    step = {key, after.older, Newest::kNone, newest.bytes, newest.how};
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
  slot->newest.how = step.how;
  slot->older = step.older;
}

void SlotSteps::AddWrite(Slot* slot, uint8_t bytes, const Accessor& by) {
  Change change = Change::kAdd;
  if ((by.how & kStrengthBits) == 0) {
    change = Change::kReplace;
  } else if ((by.how & kAtomicBit) != 0 && by.IsMorallyStrongWith(slot->newest, bytes)) {
    change = Change::kSeeAndAdd;
  }
  Advance(slot, by.MarkOf(bytes), StandingOf(*slot, by), change);
}

void SlotSteps::UncoverPart(Slot* slot, uint8_t bytes) {
  Mark covered = slot->newest;  // who writes does not matter
  covered.bytes = bytes;
  Advance(slot, covered, {}, Change::kUncover);
}

}  // namespace tarsia::ptx
