#include "vm/ptx/race.h"

#include <algorithm>

#include "vm/ptx/table.h"

namespace tarsia::ptx {
namespace {

bool IsSubset(uint8_t bytes, uint8_t of) { return (bytes & ~of) == 0; }

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

// With the oldest that there is one with.
template <typename Check>
std::optional<Conflict> FirstConflict(const Slot& slot, uint8_t bytes, const Accessor& by,
                                      const Trails& trails, const Check& check) {
  for (const Mark& mark : trails[slot.older].all()) {
    if (auto conflict = check(mark.From(slot.newest), bytes, by)) return conflict;
  }
  return check(slot.newest, bytes, by);
}

}  // namespace

Strength ScopeOf(const Inst& inst) {
  if (inst.Has(Mod::kSys) || inst.Has(Mod::kVolatile) || inst.Has(Mod::kMmio)) {
    return Strength::kSys;
  }
  if (inst.Has(Mod::kCluster)) return Strength::kCluster;
  return inst.Has(Mod::kCta) ? Strength::kCta : Strength::kGpu;
}

uint8_t HowOf(const Inst& inst) {
  if (inst.Has(Mod::kNc)) return kNonCoherentBit;
  const std::string_view mnemonic = RowOf(inst.op).mnemonic;
  const bool atomic = mnemonic == "atom" || mnemonic == "red";
  const bool strong = atomic || inst.Has(Mod::kRelaxed) || inst.Has(Mod::kAcquire) ||
                      inst.Has(Mod::kRelease) || inst.Has(Mod::kAcqRel) ||
                      inst.Has(Mod::kVolatile) || inst.Has(Mod::kMmio);
  if (!strong) return 0;
  return static_cast<uint8_t>(static_cast<uint8_t>(ScopeOf(inst)) | (atomic ? kAtomicBit : 0));
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

std::optional<Conflict> ConflictWithWrites(const Slot& writes, uint8_t bytes, const Accessor& by,
                                           const Trails& trails) {
  return FirstConflict(writes, bytes, by, trails, ConflictWithWrite);
}

std::optional<Conflict> ConflictWithReads(const Slot& reads, uint8_t bytes, const Accessor& by,
                                          const Trails& trails) {
  return FirstConflict(reads, bytes, by, trails, ConflictWithRead);
}

}  // namespace tarsia::ptx
