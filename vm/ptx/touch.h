// An access meets a cell of the shadow memory: what nearly all accesses come to, in line.
#ifndef TARSIA_VM_PTX_TOUCH_H_
#define TARSIA_VM_PTX_TOUCH_H_

#include <optional>

#include "vm/ptx/race.h"
#include "vm/ptx/slot_steps.h"

namespace tarsia::ptx {

// Takes note of an access to some of a cell's bytes. Sets what it conflicts with, if anything and
// nothing has been before.
inline void Touch(Cell* cell, uint8_t bytes, bool write, const Accessor& by, SlotSteps* steps,
                  std::optional<Conflict>* conflict) {
  const Trails& trails = steps->trails();
  // Behind a write, the asynchronous proxy wants a fence and ld.global.nc another launch.
  constexpr uint8_t kWantsMore = kAsyncProxyBit | kNonCoherentBit;
  const bool clear =
      cell->write.empty() || ((by.how & kWantsMore) == 0 && by.IsSurelyAfter(cell->write, trails));
  if (!clear && !*conflict) *conflict = ConflictWithWrites(cell->write, bytes, by, trails);
  if (!write) return steps->Read(&cell->read, bytes, by);
  if (!cell->read.empty()) {
    const bool free =
        (steps->HowOf(cell->read) & kNonCoherentBit) == 0 && by.IsSurelyAfter(cell->read, trails);
    if (!free && !*conflict) *conflict = ConflictWithReads(cell->read, bytes, by, trails);
    steps->Uncover(&cell->read, bytes);
  }
  steps->Write(&cell->write, bytes, by);
}

}  // namespace tarsia::ptx

#endif  // TARSIA_VM_PTX_TOUCH_H_
