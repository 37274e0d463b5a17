// Memory as the lanes of a warp see it: finds the bytes of an access, or reports why there are
// none.
#ifndef TARSIA_PTX_MACHINE_WARP_MEMORY_H_
#define TARSIA_PTX_MACHINE_WARP_MEMORY_H_

#include <cstdint>
#include <string_view>

#include "ptx/machine/race_probe.h"
#include "ptx/memory/heap.h"
#include "ptx/memory/local_memory.h"
#include "ptx/memory/place.h"
#include "ptx/table/code.h"
#include "ptx/table/findings.h"

namespace tarsia::ptx {

class Block;
class Warp;

class WarpMemory {
 public:
  // Both must outlive this.
  WarpMemory(Warp* warp, RaceProbe* races) : warp_(*warp), races_(*races) {}

  // Finds `bytes` bytes; false, with a finding, if they are not all there or not aligned. Notes the
  // access for the race detector.
  bool Find(const Inst& inst, Space space, int lane, uint64_t address, uint32_t bytes,
            Access access, Place* place) {
    if (!Locate(inst, space, lane, address, bytes, access, place)) return false;
    races_.NoteByLane(inst, lane, space, address, bytes, access);
    return true;
  }
  // The same without the note.
  bool Locate(const Inst& inst, Space space, int lane, uint64_t address, uint32_t bytes,
              Access access, Place* place);
  // The same for a lane that reads and writes in one step, which update(place) does.
  template <typename Update>
  bool FindAndUpdate(const Inst& inst, Space space, int lane, uint64_t address, uint32_t bytes,
                     const Update& update) {
    Place place;
    if (!Locate(inst, space, lane, address, bytes, Access::kAtomic, &place)) return false;
    races_.NoteUpdate(inst, lane, space, address, bytes, [&] { update(place); });
    return true;
  }
  // The common case of a whole instruction: the accesses of the executing lanes, of `bytes` bytes
  // each, are aligned and within one range, and there is nothing to report. Fills the offset of
  // each executing lane within the range. If it returns null, each lane must be looked at.
  const MemoryRange* FindMerged(Space space, const Operand& address, uint32_t bytes, Access access,
                                uint64_t* offsets);
  // The range of global memory with these bytes, or null. Valid until the next call.
  const MemoryRange* FindGlobal(uint64_t address, uint64_t bytes);
  // Whether a range that FindGlobal gave is a block of the heap.
  [[nodiscard]] bool IsInHeap(const MemoryRange& range) const { return &range == &heap_range_; }
  // The block of its cluster that an address of another's shared memory names; null, with a
  // finding, if it cannot be reached. Takes the rank off the address.
  Block* FindPeer(const Inst& inst, int lane, uint64_t* address, uint64_t bytes, Access access);
  // The block whose shared memory an address of the shared space is in.
  [[nodiscard]] Block& OwnerOf(uint64_t address) const;
  // The space that an instruction accesses through its address operand.
  [[nodiscard]] static Space SpaceFor(const Inst& inst, const Operand& operand) {
    if (inst.space != Space::kParam) return inst.space;
    return operand.frame_space ? Space::kLocal : Space::kParam;
  }
  [[nodiscard]] LocalMemory& local() { return local_; }

 private:
  // The range with bytes of a space where an access has nothing to report, or null.
  const MemoryRange* FindSpan(Space space, uint64_t address, uint64_t bytes, Access access);
  // An access of a lane that fails. Its address is that of the instruction.
  struct Failure {
    const Inst& inst;
    int lane = 0;
    Space space = Space::kGlobal;
    uint64_t address = 0;
    uint32_t bytes = 0;
    Access access = Access::kRead;
  };
  // "reads 4 bytes at shared address 0x100: why"
  void Report(const Failure& failure, FindingKind kind, std::string_view why) const;
  bool FindShared(const Inst& inst, int lane, uint64_t address, uint32_t bytes, Access access,
                  Place* place);
  // The others take the address within the space, and report what fails.
  bool FindLocal(const Failure& failure, uint64_t address, Place* place);
  bool FindParameter(const Failure& failure, uint64_t address, Place* place);
  bool FindGlobal(const Failure& failure, uint64_t address, Place* place);

  Warp& warp_;
  RaceProbe& races_;
  LocalMemory local_;
  const MemoryRange* last_range_ = nullptr;
  MemoryRange heap_range_;  // what FindGlobal found in the heap last
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_WARP_MEMORY_H_
