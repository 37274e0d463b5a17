// Records an access in a cell of the shadow memory. What nearly every access needs is inline.
#ifndef TARSIA_PTX_RACE_RECORD_ACCESS_H_
#define TARSIA_PTX_RACE_RECORD_ACCESS_H_

#include "ptx/race/race.h"
#include "ptx/race/slot_steps.h"

namespace tarsia::ptx {

// Whether a record says that the same thread did the same to these bytes, and that nobody can have
// learned of that in between. An access that races with the one races with the other.
inline bool IsSameAgain(const AccessRecord& record, uint8_t bytes, const Accessor& by) {
  return record.actor == by.actor && record.clock == by.clock && record.block == by.block &&
         record.semantics == by.semantics && (bytes & ~record.bytes) == 0 &&
         (by.semantics & (kAsyncBit | kAtomicBit)) == 0;
}

// Whether a read adds nothing to the reads of a slot: the same thread, or two of its warp, did the
// same at this time. Whatever races with it was found to race with those, or will be.
bool IsRepresented(const Slot& reads, uint8_t bytes, const Accessor& by, const Trails& trails);

// Records an access to some bytes of the cell with a number, and collects its conflicts. `across`:
// other blocks access the cell too, in any order.
[[gnu::always_inline]] inline void RecordAccess(Cell* cell, uint64_t number, uint8_t bytes,
                                                bool write, bool across, const Accessor& by,
                                                SlotSteps* steps, Conflicts* conflicts) {
  const Trails& trails = steps->trails();
  if (across && !write) {
    const Slot& reads = cell->read;
    if (IsSameAgain(reads.newest, bytes, by)) return;
    if (reads.older != 0 && IsRepresented(reads, bytes, by, trails)) return;
  }
  // After a write, the asynchronous proxy needs a fence and ld.global.nc another launch.
  constexpr uint8_t kNeedsMore = kAsyncProxyBit | kNonCoherentBit;
  const bool clear = cell->write.empty() ||
                     ((by.semantics & kNeedsMore) == 0 && by.IsSurelyAfter(cell->write, trails));
  if (!clear) AddConflictsWithWrites(cell->write, number, bytes, by, trails, conflicts);
  // A block's weak write replaces the records of its bytes: if it races with those, that is
  // reported once. (An access after an atomic that saw a strong write need not be after reads
  // before that.)
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

#endif  // TARSIA_PTX_RACE_RECORD_ACCESS_H_
