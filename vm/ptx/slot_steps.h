// What a slot holds after one more access.
//
// Cells go the same ways again and again: a tile is read and written by threads in the same order,
// iteration by iteration and block by block. What a slot became is therefore remembered by all that
// it depends on, seen from the access: what it held, how each of that stands to the access, and the
// access itself, but not which threads they are of nor when.
#ifndef TARSIA_VM_PTX_SLOT_STEPS_H_
#define TARSIA_VM_PTX_SLOT_STEPS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "vm/ptx/race.h"
#include "vm/ptx/shadow.h"

namespace tarsia::ptx {

// Not thread-safe: each host thread has its own, and the trails together.
class SlotSteps {
 public:
  explicit SlotSteps(Trails* trails) : trails_(trails) {}

  [[nodiscard]] const Trails& trails() const { return *trails_; }
  // A read of some bytes of a cell joins the reads there.
  void Read(Slot* slot, uint8_t bytes, const Accessor& by);
  // A write joins the writes there. Strong ones stand beside each other; a weak one is alone with
  // its bytes. An atomic sees the last write, if both are strong for each other: whoever comes
  // behind the atomic comes behind that too, which need not be kept.
  void Write(Slot* slot, uint8_t bytes, const Accessor& by);
  // Takes what a write covers out of the reads there.
  void Uncover(Slot* slot, uint8_t bytes, const Accessor& by);

 private:
  enum class Change : uint8_t { kAdd, kReplace, kSeeAndAdd, kUncover };
  // What the next state of a slot follows from.
  struct Key {
    Mark newest;           // seen from the access
    uint32_t older = 0;    // a trail
    uint32_t inst = 0;     // of the access
    uint16_t after = 0;    // a bit for each mark, the oldest first: it happened before
    uint16_t of_warp = 0;  // it is by the same warp
    uint8_t bytes = 0;
    uint8_t how = 0;
    Change change = Change::kAdd;
    uint8_t unused = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Step {
    Key key;
    Slot after;  // its newest seen from the access
  };
  static constexpr size_t kSteps = 1024;

  void Go(Slot* slot, uint8_t bytes, const Accessor& by, Change change);
  [[nodiscard]] Slot Next(const Slot& slot, const Mark& added, const Key& key);
  // Whether the access makes all that the slot holds superfluous.
  [[nodiscard]] bool Supersedes(const Slot& slot, uint8_t bytes, const Accessor& by) const;

  Trails* trails_;
  std::vector<Step> steps_ = std::vector<Step>(kSteps);
};

}  // namespace tarsia::ptx

#endif  // TARSIA_VM_PTX_SLOT_STEPS_H_
