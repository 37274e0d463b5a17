// Where the accesses of a warp meet the race detector (ptx/race): who accesses, what its lanes know
// of others, and the notes in the shadow memory. What two conflicting accesses are reported as is
// in conflict_report.h.
#ifndef TARSIA_PTX_MACHINE_RACE_PROBE_H_
#define TARSIA_PTX_MACHINE_RACE_PROBE_H_

#include <bit>
#include <cstdint>
#include <memory>

#include "ptx/memory/heap.h"
#include "ptx/memory/place.h"
#include "ptx/race/order.h"
#include "ptx/race/race.h"
#include "ptx/race/shadow.h"
#include "ptx/race/sync_table.h"
#include "ptx/table/code.h"

namespace tarsia::ptx {

class Block;
class Warp;

class RaceProbe {
 public:
  // The warp must outlive this.
  explicit RaceProbe(Warp* warp);

  // ---- who accesses memory -----------------------------------------------------------------
  [[nodiscard]] WarpOrder& order() { return order_; }
  // A lane that executes an instruction.
  [[nodiscard]] Accessor AccessorOf(const Inst& inst, int lane) const;
  // A lane's cp.async of a group that ends when the agent's clock is known to be `clock`.
  [[nodiscard]] Accessor AsyncAccessorOf(const Inst& inst, int lane, Clock clock) const;
  // Asynchronous work that lanes begin, which an agent of a block does.
  [[nodiscard]] AgentAccess BeginAgent(const Inst& inst, uint32_t lanes, const Block& block,
                                       uint32_t actor, Clock clock, bool async_proxy) const;

  // ---- accesses ----------------------------------------------------------------------------
  // These note an access to shared or global memory that is known to be valid, and report what it
  // races with.

  // An access by an accessor, on behalf of a lane.
  void NoteAccess(const Inst& inst, const Accessor& accessor, int lane, Space space,
                  uint64_t address, uint32_t bytes, Access access);
  // An access by a lane that executes the instruction, at an address of any space.
  void NoteByLane(const Inst& inst, int lane, Space space, uint64_t address, uint32_t bytes,
                  Access access);
  // An access by an agent, to the shared memory of a block or (null) global memory.
  void NoteByAgent(const Inst& inst, const AgentAccess& agent, int lane, Block* block,
                   uint64_t address, uint64_t bytes, Access access);
  // Accesses by the executing lanes, at the offsets that WarpMemory::FindMerged found in a range.
  void NoteMerged(const Inst& inst, const MemoryRange& range, const uint64_t* offsets,
                  uint32_t bytes, Access access);
  // A store by a lane, which store() does. No other host thread sees one without the other.
  template <typename Store>
  void NoteStore(const Inst& inst, int lane, Space space, uint64_t address, uint32_t bytes,
                 const Store& store) {
    const HeldPage held(this, PageToHold(space, address, bytes));
    NoteAccess(inst, AccessorOf(inst, lane), lane, space, address, bytes, Access::kWrite);
    store();
  }
  // The same for stores by lanes, at the offsets that FindMerged found, which store(lane) does.
  template <typename Store>
  void NoteStores(const Inst& inst, uint32_t lanes, const MemoryRange& range,
                  const uint64_t* offsets, uint32_t bytes, const Store& store) {
    ShadowRange& shadow = ShadowOf(range);
    for (; lanes != 0; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      const HeldPage held(this, PageToHold(&shadow, offsets[lane]));
      NoteCells(inst, AccessorOf(inst, lane), lane, &shadow, offsets[lane], bytes, Access::kWrite,
                Space::kGlobal, range.address);
      store(lane);
    }
  }
  // Whether stores to a range need NoteStores: other blocks may access it too, and a store is
  // compared with what is in memory when it is noted.
  [[nodiscard]] bool NeedsNotesByLane(const MemoryRange& range) const;
  // An atomic update by a lane, which update() does. No other host thread sees one without the
  // other, so that notes come in the order of the updates.
  template <typename Update>
  void NoteUpdate(const Inst& inst, int lane, Space space, uint64_t address, uint32_t bytes,
                  const Update& update) {
    const HeldPage held(this, PageToHoldAt(space, address, bytes));
    NoteByLane(inst, lane, space, address, bytes, Access::kAtomic);
    update();
  }

  // ---- synchronisation ---------------------------------------------------------------------
  // Strong accesses and fences hand order on. A write is noted before it is done, a read after.
  void NoteStrongWrite(const Inst& inst, int lane, Space space, uint64_t address);
  void NoteStrongRead(const Inst& inst, int lane, Space space, uint64_t address);
  void NoteFence(const Inst& inst, Strength scope);
  // Lanes release what they did to those who wait for a barrier of the cluster's scope: if they are
  // `relaxed`, only what a fence of theirs released before. Or they acquire it.
  void ReleaseTo(uint32_t lanes, bool relaxed, Past* into);
  void AcquireFrom(uint32_t lanes, bool relaxed, const Past& past);

 private:
  // While it lives, no other host thread accesses a page (null: there is nothing to lock), and the
  // probe's own notes on that page do not lock it.
  class HeldPage {
   public:
    HeldPage(RaceProbe* probe, ShadowRange::Page* page)
        : probe_(probe), lock_(page, page != nullptr) {
      probe_->held_ = page;
    }
    ~HeldPage() { probe_->held_ = nullptr; }
    HeldPage(const HeldPage&) = delete;
    HeldPage& operator=(const HeldPage&) = delete;

   private:
    RaceProbe* const probe_;
    const PageLock lock_;
  };
  // The page with the cell of a byte, or null if no other host thread can access it.
  ShadowRange::Page* PageToHold(ShadowRange* shadow, uint64_t offset) const;
  ShadowRange::Page* PageToHold(Space space, uint64_t address, uint32_t bytes);
  // The same at an address of any space; null if nothing is checked.
  ShadowRange::Page* PageToHoldAt(Space space, uint64_t address, uint32_t bytes);
  void NoteCells(const Inst& inst, const Accessor& accessor, int lane, ShadowRange* shadow,
                 uint64_t offset, uint32_t bytes, Access access, Space space, uint64_t base);
  // A lane is about to read with strength: notes the write that it sees.
  void NoteSeen(int lane, Space space, uint64_t address);
  // The key of a location in the table of those that hand order on.
  [[nodiscard]] uint64_t SyncKey(Space space, uint64_t address) const;
  ShadowRange& ShadowOf(const MemoryRange& range);
  FenceState& fences();

  Warp& warp_;
  bool across_;                        // other blocks may access the same global memory
  ShadowRange::Page* held_ = nullptr;  // the page that is locked while a write is noted and done
  WarpOrder order_;
  std::unique_ptr<FenceState> fences_;  // null until a lane has executed a fence or needs one
  uint64_t shadow_address_ = 0;         // of the range that shadow_ belongs to
  ShadowRange* shadow_ = nullptr;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_RACE_PROBE_H_
