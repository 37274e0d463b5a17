// An access meets a cell of the shadow memory: what nearly all accesses come to, in line.
#ifndef TARSIA_PTX_RACE_TOUCH_H_
#define TARSIA_PTX_RACE_TOUCH_H_

#include "ptx/race/race.h"
#include "ptx/race/slot_steps.h"

namespace tarsia::ptx {

// Whether a mark says that the same thread did the same to these bytes, and that nobody can have
// learned of that in between: whoever races with this access races with that.
inline bool IsSameAgain(const Mark& mark, uint8_t bytes, const Accessor& by) {
  return mark.actor == by.actor && mark.clock == by.clock && mark.block == by.block &&
         mark.semantics == by.semantics && (bytes & ~mark.bytes) == 0 &&
         (by.semantics & (kAsyncBit | kAtomicBit)) == 0;
}

// Whether reads say as much as one more: the same thread, or two of its warp, did the same at this
// time. Whatever races with it was found to race with those, or will be.
bool IsToldOf(const Slot& reads, uint8_t bytes, const Accessor& by, const Trails& trails);

// Takes note of an access to some bytes of the cell with a number, and of what it conflicts with.
// `across`: other blocks come here too, in whatever order.
[[gnu::always_inline]] inline void Touch(Cell* cell, uint64_t number, uint8_t bytes, bool write,
                                         bool across, const Accessor& by, SlotSteps* steps,
                                         Conflicts* conflicts) {
  const Trails& trails = steps->trails();
  if (across && !write) {
    const Slot& reads = cell->read;
    if (IsSameAgain(reads.newest, bytes, by)) return;
    if (reads.older != 0 && IsToldOf(reads, bytes, by, trails)) return;
  }
  // Behind a write, the asynchronous proxy wants a fence and ld.global.nc another launch.
  constexpr uint8_t kWantsMore = kAsyncProxyBit | kNonCoherentBit;
  const bool clear = cell->write.empty() ||
                     ((by.semantics & kWantsMore) == 0 && by.IsSurelyAfter(cell->write, trails));
  if (!clear) AddConflictsWithWrites(cell->write, number, bytes, by, trails, conflicts);
  // A block's weak write is alone with its bytes: if it races with what was there, that is told of
  // once. (Who comes behind the sight of a strong one need not come behind reads before that.)
  const bool alone = write && !across && (by.semantics & kStrengthBits) == 0;
  if (write && !cell->read.empty()) {
    const bool after = by.IsSurelyAfter(cell->read, trails);
    const bool free = after && (steps->SemanticsOf(cell->read) & kNonCoherentBit) == 0;
    if (!free) AddConflictsWithReads(cell->read, number, bytes, by, trails, conflicts);
    if (alone) steps->Uncover(&cell->read, bytes, by);
  }
  if (alone && !clear) steps->Uncover(&cell->write, bytes, by);
  steps->Join(write ? &cell->write : &cell->read, bytes, across, by);
}

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_RACE_TOUCH_H_
