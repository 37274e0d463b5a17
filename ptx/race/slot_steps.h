// The state of a slot after one more access.
//
// Cells take the same states again and again: a tile is read and written by threads in the same
// order, iteration by iteration and block by block. The next state of a slot is therefore cached by
// all that it depends on, relative to the access: the records of the slot, the relation of each to
// the access, and the access itself, but neither threads nor times.
#ifndef TARSIA_PTX_RACE_SLOT_STEPS_H_
#define TARSIA_PTX_RACE_SLOT_STEPS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "ptx/race/race.h"
#include "ptx/race/shadow.h"

namespace tarsia::ptx {

// Not thread-safe: each host thread has its own, and the trails together.
class SlotSteps {
 public:
  explicit SlotSteps(Trails* trails) : trails_(trails) {}

  [[nodiscard]] const Trails& trails() const { return *trails_; }
  // The bits of all that a slot holds.
  [[nodiscard]] uint8_t SemanticsOf(const Slot& slot) const {
    return slot.older == 0 ? slot.newest.semantics
                           : slot.newest.semantics | (*trails_)[slot.older].semantics;
  }
  // An access to some bytes of a cell joins those of its kind there. `across`: other blocks access
  // the cell too, in any order. Their findings must not depend on that order, so that the access of
  // each instruction is kept. An atomic sees the writes before it that are strong for it: an access
  // after the atomic is after those too, which need not be kept.
  void Join(Slot* slot, uint8_t bytes, bool across, const Accessor& by) {
    if (slot->empty() || Supersedes(*slot, bytes, across, by)) {
      *slot = {by.RecordOf(bytes)};
    } else if (!by.IsRepeatOf(slot->newest, bytes)) {
      Advance(slot, by.RecordOf(bytes), StandingOf(*slot, bytes, by), Change::kAdd, across);
    }
  }
  // Removes the bytes of a block's weak write, which replaces them, from the records of the block's
  // earlier accesses.
  void Uncover(Slot* slot, uint8_t bytes, const Accessor& by);
  // Whether a slot holds more than the newest access, which touched some of these bytes.
  [[nodiscard]] bool HasOlder(const Slot& slot, uint8_t bytes) const {
    return slot.older != 0 && ((*trails_)[slot.older].bytes & bytes) != 0;
  }
  // An access has written another value to some bytes than the other writes of a slot.
  void Outdate(Slot* slot, uint8_t bytes, const Accessor& by);

 private:
  enum class Change : uint8_t { kAdd, kUncover, kOutdate };
  // All that the next state of a slot depends on, packed: comparing and hashing it is most of the
  // work.
  struct Key {
    uint64_t words[4] = {};
    friend bool operator==(const Key& a, const Key& b) {
      return ((a.words[0] ^ b.words[0]) | (a.words[1] ^ b.words[1]) | (a.words[2] ^ b.words[2]) |
              (a.words[3] ^ b.words[3])) == 0;
    }
  };
  // The relation of the records of a slot to an access; a bit for each record, the oldest first.
  struct Standing {
    uint32_t after = 0;    // it happened before
    uint32_t of_warp = 0;  // it is by the same warp
    uint32_t seen = 0;     // the access is an atomic that sees it: both are strong for each other
  };
  // The newest of the next state: nothing, the newest of before, or the access itself; the last two
  // of the bytes and in the way that the step says.
  enum class Newest : uint8_t { kNone, kOld, kAdded };
  struct Step {
    Key key;
    uint32_t older = 0;
    Newest newest = Newest::kNone;
    uint8_t bytes = 0;
    uint8_t semantics = 0;
  };
  static constexpr size_t kSteps = 8192;

  // `added`: the access as a record.
  void Advance(Slot* slot, const AccessRecord& added, const Standing& standing, Change change,
               bool across);
  [[nodiscard]] Slot Next(const Slot& slot, const AccessRecord& added, const Standing& standing,
                          Change change, bool across);
  [[nodiscard]] Standing StandingOf(const Slot& slot, uint8_t bytes, const Accessor& by) const;
  // Whether a slot holds nothing of other bytes, and nothing that only ld.global.nc stands for.
  [[nodiscard]] bool IsWithin(const Slot& slot, uint8_t bytes, const Accessor& by) const {
    const uint8_t older = slot.older == 0 ? uint8_t{0} : (*trails_)[slot.older].bytes;
    return ((slot.newest.bytes | older) & ~bytes) == 0 &&
           (SemanticsOf(slot) & ~by.semantics & kNonCoherentBit) == 0;
  }
  // Whether the access is no stronger than all that the slot holds; false says nothing.
  static bool IsNoStronger(const Slot& slot, uint8_t bytes, const Accessor& by) {
    return (by.semantics & kStrengthBits) == 0 ||
           (slot.older == 0 && ptx::IsNoStronger(by.semantics, bytes, slot.newest));
  }
  // Whether the access makes all that the slot holds superfluous; false says nothing.
  [[nodiscard]] bool Supersedes(const Slot& slot, uint8_t bytes, bool across,
                                const Accessor& by) const {
    if (across && (slot.older != 0 || slot.newest.inst != by.inst)) return false;
    return IsWithin(slot, bytes, by) && IsNoStronger(slot, bytes, by) &&
           by.IsSurelyAfter(slot, *trails_);
  }

  Trails* trails_;
  std::vector<Step> steps_;  // empty until there is one
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_RACE_SLOT_STEPS_H_
