#include "vm/ptx/race.h"

#include <algorithm>

#include "vm/ptx/table.h"

namespace tarsia::ptx {
namespace {

bool IsSubset(uint8_t bytes, uint8_t of) { return (bytes & ~of) == 0; }

bool IsSameWarp(const Mark& mark, const Accessor& accessor) {
  return mark.block == accessor.block && mark.actor / kLanes == accessor.actor / kLanes;
}

std::optional<Conflict> ConflictWithWrite(const Mark& mark, uint8_t bytes, const Accessor& by) {
  if ((mark.bytes & bytes) == 0) return std::nullopt;
  if ((by.how & kNonCoherentBit) != 0) return Conflict{Hazard::kNonCoherent, mark, true};
  if (!by.IsAfter(mark)) {
    if (by.IsMorallyStrongWith(mark, bytes)) return std::nullopt;
    return Conflict{Hazard::kUnordered, mark, true};
  }
  if (!by.Sees(mark)) return Conflict{Hazard::kUnfenced, mark, true};
  return std::nullopt;
}

// Of a write with an earlier read.
std::optional<Conflict> ConflictWithRead(const Mark& mark, uint8_t bytes, const Accessor& by) {
  if ((mark.bytes & bytes) == 0) return std::nullopt;
  if ((mark.how & kNonCoherentBit) != 0) return Conflict{Hazard::kNonCoherent, mark, false};
  if (by.IsAfter(mark) || by.IsMorallyStrongWith(mark, bytes)) return std::nullopt;
  return Conflict{Hazard::kUnordered, mark, false};
}

void Append(const Mark& mark, MarkSets::Set* set) {
  if (set->count == MarkSets::kMost) {
    std::move(set->marks.begin() + 1, set->marks.end(), set->marks.begin());
    --set->count;
  }
  set->marks[set->count++] = mark;
}

void Replace(Mark* slot, const MarkSets::Set& set, MarkSets* sets) {
  const Mark fresh = sets->Make(set);
  sets->Drop(*slot);
  *slot = fresh;
}

// The marks of a set that are kept beside a new access, and the new one; nothing if the set stays
// as it is. Of a warp's accesses that nothing orders two are enough: whoever races with any of them
// races with one of these.
std::optional<MarkSets::Set> WithMark(std::span<const Mark> old, uint8_t bytes,
                                      const Accessor& by) {
  MarkSets::Set kept;
  Mark fresh = by.MarkOf(bytes);
  int of_warp = 0;
  for (const Mark& mark : old) {
    const bool self = mark.block == by.block && mark.actor == by.actor && !by.IsAgent();
    if (self && mark.clock == by.clock) {
      if (IsSubset(bytes, mark.bytes) && mark.how == by.how) return std::nullopt;
      fresh.bytes |= mark.bytes;
      fresh.how |= mark.how & kNonCoherentBit;
      continue;
    }
    if (IsSubset(mark.bytes, bytes) && (mark.how & ~fresh.how & kNonCoherentBit) == 0 &&
        by.IsAfter(mark)) {
      continue;
    }
    if (IsSameWarp(mark, by) && mark.bytes == bytes && mark.how == by.how) ++of_warp;
    Append(mark, &kept);
  }
  if (of_warp >= 2 && kept.count == old.size()) return std::nullopt;
  Append(fresh, &kept);
  return kept;
}

void AddTo(Mark* slot, uint8_t bytes, const Accessor& by, MarkSets* sets) {
  const Mark added = by.MarkOf(bytes);
  if (sets->Recall(slot, added)) return;
  const auto kept =
      sets->Look(*slot, [&](std::span<const Mark> old) { return WithMark(old, bytes, by); });
  const Mark after = kept ? sets->Make(*kept) : *slot;
  sets->Remember(*slot, added, after);
  if (!kept) return;
  sets->Drop(*slot);
  *slot = after;
}

// Takes what a write covers out of a slot.
void Uncover(Mark* slot, uint8_t bytes, MarkSets* sets) {
  if (slot->block == Mark::kNone) return;
  if (slot->block != Mark::kSet && IsSubset(slot->bytes, bytes)) {
    *slot = {};
    return;
  }
  const auto kept = sets->Look(*slot, [&](std::span<const Mark> old) {
    MarkSets::Set rest;
    for (Mark mark : old) {
      mark.bytes &= static_cast<uint8_t>(~bytes);
      if (mark.bytes != 0) Append(mark, &rest);
    }
    return rest;
  });
  Replace(slot, kept, sets);
}

// An atomic sees the last write, if both are strong for each other: whoever comes behind the atomic
// comes behind that too, and its mark need not be kept.
void DropSeen(Mark* slot, uint8_t bytes, const Accessor& by, MarkSets* sets) {
  if (slot->block != Mark::kSet) {
    if (by.IsMorallyStrongWith(*slot, bytes)) *slot = {};
    return;
  }
  const auto kept =
      sets->Look(*slot, [&](std::span<const Mark> marks) -> std::optional<MarkSets::Set> {
        if (!by.IsMorallyStrongWith(marks.back(), bytes)) return std::nullopt;
        MarkSets::Set rest;
        for (const Mark& mark : marks.first(marks.size() - 1)) Append(mark, &rest);
        return rest;
      });
  if (kept) Replace(slot, *kept, sets);
}

template <typename Check>
std::optional<Conflict> FirstConflict(const Mark& slot, uint8_t bytes, const Accessor& by,
                                      MarkSets* sets, const Check& check) {
  if (slot.block == Mark::kNone) return std::nullopt;
  if (slot.block != Mark::kSet) return check(slot, bytes, by);
  return sets->Look(slot, [&](std::span<const Mark> marks) -> std::optional<Conflict> {
    for (const Mark& mark : marks) {
      if (auto conflict = check(mark, bytes, by)) return conflict;
    }
    return std::nullopt;
  });
}

void NoteRead(Mark* slot, uint8_t bytes, const Accessor& by, MarkSets* sets) {
  if (slot->block == Mark::kNone) {
    *slot = by.MarkOf(bytes);
    return;
  }
  const bool replaces = slot->block != Mark::kSet && IsSubset(slot->bytes, bytes) &&
                        (slot->how & ~by.how & kNonCoherentBit) == 0 && by.IsAfter(*slot);
  if (replaces) {
    *slot = by.MarkOf(bytes);
    return;
  }
  AddTo(slot, bytes, by, sets);
}

void NoteWrite(Mark* slot, uint8_t bytes, const Accessor& by, MarkSets* sets) {
  if ((by.how & kAtomicBit) != 0 && slot->block != Mark::kNone) DropSeen(slot, bytes, by, sets);
  if (slot->block == Mark::kNone) {
    *slot = by.MarkOf(bytes);
    return;
  }
  const bool strong = (by.how & kStrengthBits) != 0;
  if (slot->block != Mark::kSet && IsSubset(slot->bytes, bytes) && (!strong || by.IsAfter(*slot))) {
    *slot = by.MarkOf(bytes);
    return;
  }
  // Strong writes stand beside each other; a weak one is alone with its bytes.
  if (!strong) Uncover(slot, bytes, sets);
  if (slot->block == Mark::kNone) {
    *slot = by.MarkOf(bytes);
    return;
  }
  AddTo(slot, bytes, by, sets);
}

}  // namespace

uint8_t HowOf(const Inst& inst) {
  if (inst.Has(Mod::kNc)) return kNonCoherentBit;
  const std::string_view mnemonic = RowOf(inst.op).mnemonic;
  const bool atomic = mnemonic == "atom" || mnemonic == "red";
  const bool strong = inst.Has(Mod::kRelaxed) || inst.Has(Mod::kAcquire) ||
                      inst.Has(Mod::kRelease) || inst.Has(Mod::kAcqRel) || atomic;
  const bool system = inst.Has(Mod::kVolatile) || inst.Has(Mod::kMmio);
  if (!strong && !system) return 0;
  Strength scope = Strength::kGpu;
  if (inst.Has(Mod::kCta)) scope = Strength::kCta;
  if (inst.Has(Mod::kCluster)) scope = Strength::kCluster;
  if (inst.Has(Mod::kSys) || system) scope = Strength::kSys;
  return static_cast<uint8_t>(static_cast<uint8_t>(scope) | (atomic ? kAtomicBit : 0));
}

bool Accessor::IsAfter(const Mark& mark) const {
  if (mark.block != block)
    return past != nullptr && past->all.Of(mark.block, mark.actor) >= mark.clock;
  if (mark.actor == issuer_async && mark.clock <= async_done) return true;
  if (mark.actor == issuer) return true;
  return own != nullptr && mark.actor < own->size() && (*own)[mark.actor] >= mark.clock;
}

bool Accessor::Sees(const Mark& mark) const {
  if ((how & kAsyncProxyBit) == 0 || (mark.how & kAsyncProxyBit) != 0) return true;
  return past != nullptr && past->fenced.Of(mark.block, mark.actor) >= mark.clock;
}

Strength Accessor::NeededScope(uint32_t other) const {
  if (other == block) return Strength::kCta;
  return clusters != nullptr && clusters->Same(block, other) ? Strength::kCluster : Strength::kGpu;
}

bool Accessor::IsMorallyStrongWith(const Mark& mark, uint8_t bytes) const {
  const auto mine = static_cast<Strength>(how & kStrengthBits);
  const auto theirs = static_cast<Strength>(mark.how & kStrengthBits);
  if (mine == Strength::kWeak || theirs == Strength::kWeak) return false;
  if (!IsSubset(mark.bytes, bytes) && !IsSubset(bytes, mark.bytes)) return false;
  return std::min(mine, theirs) >= NeededScope(mark.block);
}

std::optional<Conflict> Touch(Cell* cell, uint8_t bytes, bool write, const Accessor& accessor,
                              MarkSets* sets) {
  auto conflict = FirstConflict(cell->write, bytes, accessor, sets, ConflictWithWrite);
  if (!write) {
    NoteRead(&cell->read, bytes, accessor, sets);
    return conflict;
  }
  if (!conflict) conflict = FirstConflict(cell->read, bytes, accessor, sets, ConflictWithRead);
  Uncover(&cell->read, bytes, sets);
  NoteWrite(&cell->write, bytes, accessor, sets);
  return conflict;
}

}  // namespace tarsia::ptx
