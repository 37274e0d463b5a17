#include "ptx/machine/race_probe.h"

#include <algorithm>
#include <array>

#include "ptx/machine/block.h"
#include "ptx/machine/cluster.h"
#include "ptx/machine/conflict_report.h"
#include "ptx/machine/warp.h"
#include "ptx/race/race.h"
#include "ptx/race/record_access.h"

namespace tarsia::ptx {
namespace {

constexpr uint64_t kCellBytes = ShadowRange::kCellBytes;

Strength StrengthOf(const Inst& inst) {
  return static_cast<Strength>(inst.semantics & kStrengthBits);
}

}  // namespace

RaceProbe::RaceProbe(Warp* warp)
    : warp_(*warp),
      across_(warp->launch().config->grid.Count() > 1),
      order_(warp->block().number(), warp->number(), warp->block().threads(),
             warp->block().clock()) {}

// ---- who accesses memory ---------------------------------------------------------------------

Accessor RaceProbe::AccessorOf(const Inst& inst, int lane) const {
  Accessor accessor;
  accessor.block = order_.block();
  accessor.clusters = &warp_.block().launch().clusters;
  accessor.actor = static_cast<uint16_t>(order_.ActorOf(lane));
  accessor.issuer = accessor.actor;
  accessor.issuer_async = static_cast<uint16_t>(order_.AsyncActorOf(lane));
  accessor.semantics = inst.semantics;
  accessor.clock = order_.clock();
  accessor.async_done = order_.AsyncDone(lane);
  accessor.floor = order_.FloorOf(lane);
  accessor.inst = inst.id;
  accessor.own = order_.OwnBlock(lane);
  accessor.past = &order_.PastOf(lane);
  return accessor;
}

Accessor RaceProbe::AsyncAccessorOf(const Inst& inst, int lane, Clock clock) const {
  Accessor accessor = AccessorOf(inst, lane);
  accessor.actor = accessor.issuer_async;
  accessor.clock = clock;
  accessor.semantics |= kAsyncBit;
  return accessor;
}

AgentAccess RaceProbe::BeginAgent(const Inst& inst, uint32_t lanes, const Block& block,
                                  uint32_t actor, Clock clock, bool async_proxy) const {
  AgentAccess agent;
  agent.past = order_.PastSoFar(lanes);
  agent.accessor.block = block.number();
  agent.accessor.clusters = &warp_.block().launch().clusters;
  agent.accessor.actor = static_cast<uint16_t>(actor);
  agent.accessor.issuer = agent.accessor.issuer_async = Accessor::kNobody;
  agent.accessor.clock = clock;
  agent.accessor.semantics = static_cast<uint8_t>(kAsyncBit | (async_proxy ? kAsyncProxyBit : 0));
  agent.accessor.inst = inst.id;
  return agent;
}

// ---- accesses --------------------------------------------------------------------------------

void RaceProbe::NoteCells(const Inst& inst, const Accessor& accessor, int lane, ShadowRange* shadow,
                          uint64_t offset, uint32_t bytes, Access access, Space space,
                          uint64_t base) {
  if (bytes == 0) return;
  const bool locked = space == Space::kGlobal && warp_.block().launch().shadow.shared();
  const bool across = space == Space::kGlobal && across_;
  const bool write = access != Access::kRead;
  Worker& worker = warp_.block().worker();
  const uint64_t first = offset / kCellBytes;
  const uint64_t last = (offset + bytes - 1) / kCellBytes;
  const auto of_first = static_cast<uint8_t>(kAllBytes << offset % kCellBytes & kAllBytes);
  const auto of_last = static_cast<uint8_t>(kAllBytes >> (~(offset + bytes - 1) % kCellBytes));
  const auto bytes_of = [&](uint64_t cell) {
    const uint8_t from_first = cell == first ? of_first : kAllBytes;
    return static_cast<uint8_t>(cell == last ? from_first & of_last : from_first);
  };
  const bool joins = across && write;  // it need not replace all writes before it
  bool beside_others = false;
  for (uint64_t cell = first; cell <= last;) {
    ShadowRange::Page& page = shadow->PageOf(cell);
    const uint64_t end = (cell / ShadowRange::kPageCells + 1) * ShadowRange::kPageCells;
    const PageLock lock(&page, locked && &page != held_);
    for (; cell < end && cell <= last; ++cell) {
      Cell& at = page.cells[cell % ShadowRange::kPageCells];
      RecordAccess(&at, cell, bytes_of(cell), write, across, accessor, &worker.steps,
                   &worker.conflicts);
      if (joins) beside_others = beside_others || worker.steps.HasOlder(at.write, bytes_of(cell));
    }
  }
  if (worker.conflicts.empty() && !beside_others) return;
  const NotedAccess noted{inst, accessor, lane, space, base, offset, bytes, access};
  const bool disputed = ReportConflicts(warp_, noted);
  worker.conflicts.Clear();
  if (!disputed && !(beside_others && !ChangesNothing(warp_, noted))) return;
  for (uint64_t cell = first; cell <= last; ++cell) {
    ShadowRange::Page& page = shadow->PageOf(cell);
    const PageLock lock(&page, locked && &page != held_);
    worker.steps.Outdate(&page.cells[cell % ShadowRange::kPageCells].write, bytes_of(cell),
                         accessor);
  }
}

bool RaceProbe::NeedsNotesByLane(const MemoryRange& range) const {
  return warp_.checking() && across_ && &range != &warp_.block().shared();
}

ShadowRange::Page* RaceProbe::PageToHold(ShadowRange* shadow, uint64_t offset) const {
  return warp_.block().launch().shadow.shared() ? &shadow->PageOf(offset / kCellBytes) : nullptr;
}

ShadowRange::Page* RaceProbe::PageToHold(Space space, uint64_t address, uint32_t bytes) {
  const MemoryRange* range =
      space == Space::kGlobal ? warp_.memory().FindGlobal(address, bytes) : nullptr;
  if (range == nullptr) return nullptr;
  ShadowRange& shadow = ShadowOf(*range);
  return PageToHold(&shadow, address - shadow_address_);
}

ShadowRange::Page* RaceProbe::PageToHoldAt(Space space, uint64_t address, uint32_t bytes) {
  if (!warp_.checking()) return nullptr;
  space = ResolveGeneric(space, &address);
  return PageToHold(space, address, bytes);
}

ShadowRange& RaceProbe::ShadowOf(const MemoryRange& range) {
  if (&range == &warp_.block().shared()) return warp_.block().shadow();
  const bool of_heap = warp_.memory().IsInHeap(range);
  const uint64_t address = of_heap ? Heap::ChunkAddress(range) : range.address;
  if (shadow_ == nullptr || shadow_address_ != address) {
    shadow_ =
        &warp_.block().launch().shadow.Of(address, of_heap ? Heap::ChunkBytes(range) : range.bytes);
    shadow_address_ = address;
  }
  return *shadow_;
}

void RaceProbe::NoteAccess(const Inst& inst, const Accessor& accessor, int lane, Space space,
                           uint64_t address, uint32_t bytes, Access access) {
  if (space == Space::kLocal || space == Space::kParam) return;
  if (space == Space::kShared) {
    Block& owner = warp_.memory().OwnerOf(address);
    const uint64_t offset = (address & (kSharedPeers - 1)) - kSharedBase;
    return NoteCells(inst, accessor, lane, &owner.shadow(), offset, bytes, access, space,
                     address - offset);
  }
  const MemoryRange* range = warp_.memory().FindGlobal(address, bytes);
  if (range == nullptr || range->read_only) return;
  ShadowRange& shadow = ShadowOf(*range);
  NoteCells(inst, accessor, lane, &shadow, address - shadow_address_, bytes, access, Space::kGlobal,
            shadow_address_);
}

void RaceProbe::NoteByLane(const Inst& inst, int lane, Space space, uint64_t address,
                           uint32_t bytes, Access access) {
  if (!warp_.checking()) return;
  space = ResolveGeneric(space, &address);
  // What `red` finds decides nothing.
  const bool sees = (inst.semantics & kAtomicBit) != 0 && inst.operands.front().dest;
  if (sees) NoteSeen(lane, space, address);
  NoteAccess(inst, AccessorOf(inst, lane), lane, space, address, bytes, access);
}

void RaceProbe::NoteByAgent(const Inst& inst, const AgentAccess& agent, int lane, Block* block,
                            uint64_t address, uint64_t bytes, Access access) {
  const auto count = static_cast<uint32_t>(bytes);
  if (block == nullptr) {
    return NoteAccess(inst, agent.Get(), lane, Space::kGlobal, address, count, access);
  }
  NoteCells(inst, agent.Get(), lane, &block->shadow(), address - kSharedBase, count, access,
            Space::kShared, kSharedBase);
}

namespace {

// Which lanes of an instruction have been noted at an offset. Two that read the very same bytes
// stand for all that do: whoever races with any of them races with one of these.
class NotedReads {
 public:
  // Whether two lanes have been noted there; notes this one otherwise.
  bool Suffices(uint64_t offset) {
    Entry& entry = entries_[(offset >> 2) * 0x9E3779B97F4A7C15U >> 58];
    if (entry.count == 0 || entry.offset != offset) {
      entry = {offset, 1};
      return false;
    }
    return ++entry.count > 2;
  }

 private:
  struct Entry {
    uint64_t offset = 0;
    uint32_t count = 0;
  };
  std::array<Entry, 64> entries_{};
};

}  // namespace

void RaceProbe::NoteMerged(const Inst& inst, const MemoryRange& range, const uint64_t* offsets,
                           uint32_t bytes, Access access) {
  if (range.read_only) return;
  const Space space = &range == &warp_.block().shared() ? Space::kShared : Space::kGlobal;
  ShadowRange& shadow = ShadowOf(range);
  NotedReads noted;
  for (uint32_t lanes = warp_.mask(); lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    if (access == Access::kRead && noted.Suffices(offsets[lane])) continue;
    NoteCells(inst, AccessorOf(inst, lane), lane, &shadow, offsets[lane], bytes, access, space,
              range.address);
  }
}

void RaceProbe::NoteSeen(int lane, Space space, uint64_t address) {
  ShadowRange* shadow = nullptr;
  uint64_t offset = 0;
  if (space == Space::kShared) {
    Block& owner = warp_.memory().OwnerOf(address);
    const uint64_t at = address & (kSharedPeers - 1);
    if (!owner.shared().Holds(at, 1)) return;
    shadow = &owner.shadow();
    offset = at - kSharedBase;
  } else {
    const MemoryRange* range = warp_.memory().FindGlobal(address, 1);
    if (range == nullptr || range->read_only) return;
    shadow = &ShadowOf(*range);
    offset = address - shadow_address_;
  }
  const uint64_t cell = offset / kCellBytes;
  ShadowRange::Page& page = shadow->PageOf(cell);
  AccessRecord seen;
  {
    const bool locked = space != Space::kShared && warp_.block().launch().shadow.shared();
    const PageLock lock(&page, locked && &page != held_);
    seen = page.cells[cell % ShadowRange::kPageCells].write.newest;
  }
  const auto actor = static_cast<uint16_t>(order_.ActorOf(lane));
  const bool own = seen.block == order_.block() && seen.actor == actor;
  if (seen.block == AccessRecord::kNone || own || (seen.semantics & kStrengthBits) == 0) return;
  warp_.block().strong_reads().Note({actor, order_.clock(), seen});
}

// ---- synchronisation -------------------------------------------------------------------------

FenceState& RaceProbe::fences() {
  if (fences_ == nullptr) fences_ = std::make_unique<FenceState>();
  return *fences_;
}

// Addresses of shared memory are of one block.
uint64_t RaceProbe::SyncKey(Space space, uint64_t address) const {
  if (space != Space::kShared) return address;
  return (uint64_t{1} << 63) | (uint64_t{warp_.memory().OwnerOf(address).number()} << 28) |
         (address & (kSharedPeers - 1));
}

void RaceProbe::NoteStrongWrite(const Inst& inst, int lane, Space space, uint64_t address) {
  Release release;
  if (inst.Has(Mod::kRelease) || inst.Has(Mod::kAcqRel)) {
    release.scope = StrengthOf(inst);
    order_.Release(uint32_t{1} << lane, &release.past);
  } else if (fences_ != nullptr && fences_->Released(lane, &release)) {
    release.scope = std::min(release.scope, StrengthOf(inst));
  }
  release.block = order_.block();
  SyncTable& table = warp_.block().launch().sync;
  const uint64_t key = SyncKey(space, address);
  const bool releases = release.scope != Strength::kWeak;
  if ((inst.semantics & kAtomicBit) != 0) {
    if (releases) table.Update(key, release);
  } else if (releases || !table.empty()) {
    table.Write(key, releases ? &release : nullptr);
  }
}

void RaceProbe::NoteStrongRead(const Inst& inst, int lane, Space space, uint64_t address) {
  if ((inst.semantics & kAtomicBit) == 0) NoteSeen(lane, space, address);
  SyncTable& table = warp_.block().launch().sync;
  if (table.empty()) return;
  const Releases releases = table.Read(SyncKey(space, address));
  if (releases.empty()) return;
  const Strength scope = StrengthOf(inst);
  if (inst.Has(Mod::kAcquire) || inst.Has(Mod::kAcqRel)) {
    const Accessor accessor = AccessorOf(inst, lane);
    for (const Release& release : releases) {
      if (IsWithinScope(release, scope, accessor)) {
        order_.Acquire(uint32_t{1} << lane, release.past);
      }
    }
    return;
  }
  fences().Saw(lane, scope, releases);
}

void RaceProbe::ReleaseTo(uint32_t lanes, bool relaxed, Past* into) {
  if (!relaxed) return order_.Release(lanes, into);
  if (fences_ == nullptr) return;
  ForLanes(lanes, [&](int lane) {
    Release release;
    if (fences_->Released(lane, &release)) into->Join(release.past);
  });
}

void RaceProbe::AcquireFrom(uint32_t lanes, bool relaxed, const Past& past) {
  if (!relaxed) return order_.Acquire(lanes, past);
  const Releases releases = {{order_.block(), Strength::kCluster, past}};
  ForLanes(lanes, [&](int lane) { fences().Saw(lane, Strength::kCluster, releases); });
}

void RaceProbe::NoteFence(const Inst& inst, Strength scope) {
  const uint32_t lanes = warp_.mask();
  fences().Fence(lanes, scope, AccessorOf(inst, std::countr_zero(lanes)), &order_);
}

}  // namespace tarsia::ptx
