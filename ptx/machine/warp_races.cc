// Where a warp's accesses meet the race detector.
#include <algorithm>

#include "ptx/machine/block.h"
#include "ptx/machine/cluster.h"
#include "ptx/machine/counter.h"
#include "ptx/machine/warp.h"
#include "ptx/memory/access.h"
#include "ptx/race/touch.h"

namespace tarsia::ptx {
namespace {

constexpr uint64_t kCellBytes = ShadowRange::kCellBytes;
constexpr uint8_t kAllBytes = 0xF;  // of a cell

Strength StrengthOf(const Inst& inst) {
  return static_cast<Strength>(inst.semantics & kStrengthBits);
}

}  // namespace

Accessor Warp::AccessorOf(const Inst& inst, int lane) const {
  Accessor accessor;
  accessor.block = order_.block();
  accessor.clusters = &block_->launch().clusters;
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

Accessor Warp::AsyncAccessorOf(const Inst& inst, int lane, Clock clock) const {
  Accessor accessor = AccessorOf(inst, lane);
  accessor.actor = accessor.issuer_async;
  accessor.clock = clock;
  accessor.semantics |= kAsyncBit;
  return accessor;
}

AgentAccess Warp::BeginAgent(const Inst& inst, uint32_t lanes, const Block& block, uint32_t actor,
                             Clock clock, bool async_proxy) const {
  AgentAccess agent;
  agent.past = order_.PastSoFar(lanes);
  agent.accessor.block = block.number();
  agent.accessor.clusters = &launch().clusters;
  agent.accessor.actor = static_cast<uint16_t>(actor);
  agent.accessor.issuer = agent.accessor.issuer_async = Accessor::kNobody;
  agent.accessor.clock = clock;
  agent.accessor.semantics = static_cast<uint8_t>(kAsyncBit | (async_proxy ? kAsyncProxyBit : 0));
  agent.accessor.inst = inst.id;
  return agent;
}

void Warp::NoteCells(const Inst& inst, const Accessor& accessor, int lane, ShadowRange* shadow,
                     uint64_t offset, uint32_t bytes, Access access, Space space, uint64_t base) {
  if (bytes == 0) return;
  const bool locked = space == Space::kGlobal && launch().shadow.shared();
  const bool across = space == Space::kGlobal && across_;
  const bool write = access != Access::kRead;
  Worker& worker = block_->worker();
  const uint64_t first = offset / kCellBytes;
  const uint64_t last = (offset + bytes - 1) / kCellBytes;
  const auto of_first = static_cast<uint8_t>(kAllBytes << offset % kCellBytes & kAllBytes);
  const auto of_last = static_cast<uint8_t>(kAllBytes >> (~(offset + bytes - 1) % kCellBytes));
  const auto bytes_of = [&](uint64_t cell) {
    const uint8_t behind = cell == first ? of_first : kAllBytes;
    return static_cast<uint8_t>(cell == last ? behind & of_last : behind);
  };
  const bool joins = across && write;  // it may not stand for all before it
  bool beside_others = false;
  for (uint64_t cell = first; cell <= last;) {
    ShadowRange::Page& page = shadow->PageOf(cell);
    const uint64_t end = (cell / ShadowRange::kPageCells + 1) * ShadowRange::kPageCells;
    const PageLock lock(&page, locked && &page != held_);
    for (; cell < end && cell <= last; ++cell) {
      Cell& at = page.cells[cell % ShadowRange::kPageCells];
      Touch(&at, cell, bytes_of(cell), write, across, accessor, &worker.steps, &worker.conflicts);
      if (joins) beside_others = beside_others || worker.steps.HasOlder(at.write, bytes_of(cell));
    }
  }
  if (worker.conflicts.empty() && !beside_others) return;
  const bool disputed = ReportConflicts(inst, accessor, lane, space, base, offset, bytes, access);
  worker.conflicts.Clear();
  if (!disputed && !(beside_others && !ChangesNothing(inst, lane, space, base + offset))) return;
  for (uint64_t cell = first; cell <= last; ++cell) {
    ShadowRange::Page& page = shadow->PageOf(cell);
    const PageLock lock(&page, locked && &page != held_);
    worker.steps.Outdate(&page.cells[cell % ShadowRange::kPageCells].write, bytes_of(cell),
                         accessor);
  }
}

bool Warp::NeedsNotesByLane(const MemoryRange& range) const {
  return checking_ && across_ && &range != &block_->shared();
}

ShadowRange::Page* Warp::PageToHold(ShadowRange* shadow, uint64_t offset) const {
  return launch().shadow.shared() ? &shadow->PageOf(offset / kCellBytes) : nullptr;
}

ShadowRange::Page* Warp::PageToHold(Space space, uint64_t address, uint32_t bytes) {
  const MemoryRange* range = space == Space::kGlobal ? FindGlobal(address, bytes) : nullptr;
  if (range == nullptr) return nullptr;
  ShadowRange& shadow = ShadowOf(*range);
  return PageToHold(&shadow, address - shadow_address_);
}

ShadowRange& Warp::ShadowOf(const MemoryRange& range) {
  if (&range == &block_->shared()) return block_->shadow();
  const bool of_heap = &range == &heap_range_;
  const uint64_t address = of_heap ? Heap::ChunkAddress(range) : range.address;
  if (shadow_ == nullptr || shadow_address_ != address) {
    shadow_ = &launch().shadow.Of(address, of_heap ? Heap::ChunkBytes(range) : range.bytes);
    shadow_address_ = address;
  }
  return *shadow_;
}

Block& Warp::OwnerOf(uint64_t address) const {
  if (address < kSharedPeers) return *block_;
  return block_->cluster().block(static_cast<uint32_t>(address >> kRankShift) - 1);
}

void Warp::NoteAccess(const Inst& inst, const Accessor& accessor, int lane, Space space,
                      uint64_t address, uint32_t bytes, Access access) {
  if (space == Space::kLocal || space == Space::kParam) return;
  if (space == Space::kShared) {
    Block& owner = OwnerOf(address);
    const uint64_t offset = (address & (kSharedPeers - 1)) - kSharedBase;
    return NoteCells(inst, accessor, lane, &owner.shadow(), offset, bytes, access, space,
                     address - offset);
  }
  const MemoryRange* range = FindGlobal(address, bytes);
  if (range == nullptr || range->read_only) return;
  ShadowRange& shadow = ShadowOf(*range);
  NoteCells(inst, accessor, lane, &shadow, address - shadow_address_, bytes, access, Space::kGlobal,
            shadow_address_);
}

void Warp::NoteAgent(const Inst& inst, const AgentAccess& agent, int lane, Block* block,
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

void Warp::NoteMerged(const Inst& inst, const MemoryRange& range, const uint64_t* offsets,
                      uint32_t bytes, Access access) {
  if (range.read_only) return;
  const Space space = &range == &block_->shared() ? Space::kShared : Space::kGlobal;
  ShadowRange& shadow = ShadowOf(range);
  NotedReads noted;
  for (uint32_t lanes = mask_; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    if (access == Access::kRead && noted.Suffices(offsets[lane])) continue;
    NoteCells(inst, AccessorOf(inst, lane), lane, &shadow, offsets[lane], bytes, access, space,
              range.address);
  }
}

// ---- what is harmless, and reports -----------------------------------------------------------

namespace {

// What lane `a` of a store writes, and what another lane does, or memory holds.
bool LanesStoreSame(const Warp& warp, const Inst& inst, int a, int b) {
  for (const Operand& source : inst.At(1)) {
    const uint64_t mask = AllBits(std::min<int>(BytesOf(inst.type[0]), 8));
    if (((warp.Bits(source, a) ^ warp.Bits(source, b)) & mask) != 0) return false;
  }
  return true;
}

bool StoresWhatIsThere(const Warp& warp, const Inst& inst, int lane, uint8_t* data) {
  const int size = BytesOf(inst.type[0]);
  if (size > 8) return false;
  for (const Operand& source : inst.At(1)) {
    if (((warp.Bits(source, lane) ^ ReadBytes(data, size)) & AllBits(size)) != 0) return false;
    data += size;
  }
  return true;
}

}  // namespace

bool Warp::WritesSameValue(const Inst& inst, int lane, Space space, uint64_t address,
                           const Conflict& conflict) {
  const Mark& with = conflict.with;
  const Inst* other = launch().image->module().FindInst(with.inst);
  if (inst.op != Op::kSt || conflict.hazard != Hazard::kUnordered) return false;
  if (other == nullptr || other->op != Op::kSt) return false;
  // What it wrote is not known any more. If an instruction writes several values, that is found
  // where two of them follow each other.
  if ((with.semantics & kStaleBit) != 0) return with.inst == inst.id;
  if (with.inst == inst.id && with.block == block_->number() && with.actor / kLanes == number_) {
    const int sibling = static_cast<int>(with.actor % kLanes);
    const bool together = (mask_ >> sibling & 1) != 0 && sibling != lane;
    if (together && Address(inst[0], sibling) == Address(inst[0], lane)) {
      return LanesStoreSame(*this, inst, lane, sibling);
    }
  }
  return ChangesNothing(inst, lane, space, address);
}

bool Warp::ChangesNothing(const Inst& inst, int lane, Space space, uint64_t address) {
  Place place;
  const auto bytes = static_cast<uint32_t>(BytesOf(inst.type[0]) * inst.CountAt(1));
  return inst.op == Op::kSt && Locate(inst, space, lane, address, bytes, Access::kWrite, &place) &&
         StoresWhatIsThere(*this, inst, lane, place.data);
}

// As seen from a block.
std::string Warp::DescribeActor(const Mark& mark, uint32_t block) const {
  const auto text = [](const Dim3& at) { return fmt::format("{},{},{}", at.x, at.y, at.z); };
  const uint32_t threads = block_->threads();
  std::string who;
  if (mark.actor >= 2 * threads) {
    who = mark.actor < block_->WgmmaActor(block_->warps())
              ? fmt::format("a wgmma of warp {}", mark.actor - block_->WgmmaActor(0))
              : "an asynchronous copy";
  } else {
    who = fmt::format("{}thread {}", mark.actor < threads ? "" : "a cp.async of ",
                      text(UnravelIndex(mark.actor % threads, block_->shape())));
  }
  if (mark.block == block) return who;
  return who + " of block " + text(UnravelIndex(mark.block, launch().config->grid));
}

// Whether a conflict is told of at the access that was there before. Who came first is chance, but
// for lanes of a warp and what a block does asynchronously: of others it is the end that stands
// later in the text, or that a thread does.
bool Warp::IsToldAtOther(const Inst& inst, const Accessor& accessor,
                         const Conflict& conflict) const {
  const Mark& with = conflict.with;
  if (conflict.hazard == Hazard::kUnfenced) return false;
  if (with.block == block_->number()) {
    const bool of_warp = with.actor / kLanes == accessor.actor / kLanes;
    if (of_warp || accessor.IsAgent() || (with.semantics & kAsyncBit) != 0) return false;
  }
  const uint32_t threads = 2 * block_->threads();
  if (accessor.actor < threads && with.actor < threads) return with.inst > inst.id;
  return with.actor < threads;
}

bool Warp::ReportConflicts(const Inst& inst, const Accessor& accessor, int lane, Space space,
                           uint64_t base, uint64_t offset, uint32_t bytes, Access access) {
  bool changes = false;
  for (const Conflict& conflict : block_->worker().conflicts.all()) {
    if (access == Access::kWrite && WritesSameValue(inst, lane, space, base + offset, conflict)) {
      continue;
    }
    changes = changes || conflict.with_write;
    const Inst* other = launch().image->module().FindInst(conflict.with.inst);
    if (other == nullptr) continue;
    ConflictEnd here{&inst,
                     accessor.MarkOf(kAllBytes),
                     access != Access::kRead,
                     number_ * kLanes + static_cast<uint32_t>(lane),
                     base + offset,
                     bytes};
    ConflictEnd there{
        other, conflict.with, conflict.with_write, conflict.with.actor % block_->threads(), 0, 0};
    FindAccess(base + conflict.cell * kCellBytes, &there);
    if (IsToldAtOther(inst, accessor, conflict)) std::swap(here, there);
    Finding finding = ConflictFinding(here, there, space, conflict.hazard);
    if (IsOrderOfModel(accessor, conflict, finding.kind)) finding.severity = Severity::kMemoryModel;
    AddFinding(std::move(finding), lane);
  }
  return changes && access != Access::kRead;
}

// The address and the bytes of an access that touched a cell.
void Warp::FindAccess(uint64_t cell, ConflictEnd* end) {
  end->address = cell + static_cast<uint64_t>(std::countr_zero(end->mark.bytes));
  end->bytes = static_cast<uint32_t>(std::popcount(end->mark.bytes));
  const uint32_t bytes = PlanCounts(*end->inst).bytes;
  if (bytes == 0) return;
  end->bytes = bytes;
  end->address -= end->address % bytes;
}

FindingKind Warp::KindOf(const ConflictEnd& at, const ConflictEnd& other, Hazard hazard,
                         std::string_view* why) const {
  switch (hazard) {
    case Hazard::kUnordered:
      break;
    case Hazard::kUnfenced:
      *why = "the asynchronous proxy sees that only behind a fence.proxy.async";
      return FindingKind::kProxy;
    case Hazard::kNonCoherent:
      *why = "ld.global.nc is for memory that nobody writes while the kernel runs";
      return FindingKind::kRace;
  }
  *why = "nothing orders the two";
  const bool is_agent = (at.mark.semantics & kAsyncBit) != 0;
  if (!is_agent && (other.mark.semantics & kAsyncBit) == 0) return FindingKind::kRace;
  // What its own thread has waited for lacks a barrier, not a wait.
  const uint32_t threads = block_->threads();
  const bool waited = other.mark.block == block_->number() && other.mark.actor >= threads &&
                      other.mark.actor < 2 * threads &&
                      block_->AsyncDone(other.mark.actor - threads) >= other.mark.clock;
  *why = waited     ? "its thread has waited, and nothing orders this behind that"
         : is_agent ? "the copy may do so before that and after it"
                    : "that has not been waited for";
  return waited ? FindingKind::kRace : FindingKind::kAsync;
}

Finding Warp::ConflictFinding(const ConflictEnd& at, const ConflictEnd& other, Space space,
                              Hazard hazard) const {
  const auto verb = [](const ConflictEnd& end) {
    return (end.mark.semantics & kAtomicBit) != 0 ? "updates" : end.write ? "writes" : "reads";
  };
  const Module& module = launch().image->module();
  std::string_view why;
  Finding finding;
  finding.kind = KindOf(at, other, hazard, &why);
  finding.location = at.inst->location;
  SetSource(module, *at.inst, &finding);
  finding.block = UnravelIndex(at.mark.block, launch().config->grid);
  finding.thread = UnravelIndex(at.thread, block_->shape());
  finding.message =
      fmt::format("{} {} bytes at {} address 0x{:x}: which {} {} at {}; {}", verb(at), at.bytes,
                  NameOf(space), at.address, DescribeActor(other.mark, at.mark.block), verb(other),
                  module.LineText(other.inst->location, other.inst->loc), why);
  finding.count = 1;
  finding.order = !at.write     ? AccessOrder::kReadAfterWrite
                  : other.write ? AccessOrder::kWriteAfterWrite
                                : AccessOrder::kWriteAfterRead;
  finding.other = FindingPlace{other.inst->location, other.inst->loc};
  return finding;
}

// ---- severity --------------------------------------------------------------------------------

void Warp::NoteSeen(int lane, Space space, uint64_t address) {
  ShadowRange* shadow = nullptr;
  uint64_t offset = 0;
  if (space == Space::kShared) {
    Block& owner = OwnerOf(address);
    const uint64_t at = address & (kSharedPeers - 1);
    if (!owner.shared().Holds(at, 1)) return;
    shadow = &owner.shadow();
    offset = at - kSharedBase;
  } else {
    const MemoryRange* range = FindGlobal(address, 1);
    if (range == nullptr || range->read_only) return;
    shadow = &ShadowOf(*range);
    offset = address - shadow_address_;
  }
  const uint64_t cell = offset / kCellBytes;
  ShadowRange::Page& page = shadow->PageOf(cell);
  Mark seen;
  {
    const bool locked = space != Space::kShared && launch().shadow.shared();
    const PageLock lock(&page, locked && &page != held_);
    seen = page.cells[cell % ShadowRange::kPageCells].write.newest;
  }
  const auto actor = static_cast<uint16_t>(order_.ActorOf(lane));
  const bool own = seen.block == block_->number() && seen.actor == actor;
  if (seen.block == Mark::kNone || own || (seen.semantics & kStrengthBits) == 0) return;
  block_->strong_reads().Note({actor, order_.clock(), seen});
}

bool Warp::IsOrderOfModel(const Accessor& accessor, const Conflict& conflict,
                          FindingKind kind) const {
  switch (conflict.hazard) {
    case Hazard::kUnfenced:
      return true;
    case Hazard::kUnordered:
      return kind == FindingKind::kRace && IsOrderedInPractice(accessor, conflict.with);
    case Hazard::kNonCoherent:
      return false;
  }
  return false;
}

bool Warp::IsOrderedInPractice(const Accessor& accessor, const Mark& with) const {
  const auto orders = [&](const StrongRead& read) {
    return read.Saw(with) && accessor.IsAfter({block_->number(), read.actor, 0, 0, read.clock, 0});
  };
  return std::ranges::any_of(block_->strong_reads().all(), orders);
}

// ---- strong accesses and fences --------------------------------------------------------------

// Addresses of shared memory are of one block.
uint64_t Warp::SyncKey(Space space, uint64_t address) const {
  if (space != Space::kShared) return address;
  return (uint64_t{1} << 63) | (uint64_t{OwnerOf(address).number()} << 28) |
         (address & (kSharedPeers - 1));
}

void Warp::NoteStrongWrite(const Inst& inst, int lane, Space space, uint64_t address) {
  Release release;
  if (inst.Has(Mod::kRelease) || inst.Has(Mod::kAcqRel)) {
    release.scope = StrengthOf(inst);
    order_.Release(uint32_t{1} << lane, &release.past);
  } else if (fences_ != nullptr && fences_->Released(lane, &release)) {
    release.scope = std::min(release.scope, StrengthOf(inst));
  }
  release.block = block_->number();
  SyncTable& table = launch().sync;
  const uint64_t key = SyncKey(space, address);
  const bool releases = release.scope != Strength::kWeak;
  if ((inst.semantics & kAtomicBit) != 0) {
    if (releases) table.Update(key, release);
  } else if (releases || !table.empty()) {
    table.Write(key, releases ? &release : nullptr);
  }
}

void Warp::NoteStrongRead(const Inst& inst, int lane, Space space, uint64_t address) {
  if ((inst.semantics & kAtomicBit) == 0) NoteSeen(lane, space, address);
  SyncTable& table = launch().sync;
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
  if (fences_ == nullptr) fences_ = std::make_unique<FenceState>();
  fences_->Saw(lane, scope, releases);
}

void Warp::ReleaseTo(uint32_t lanes, bool relaxed, Past* into) {
  if (!relaxed) return order_.Release(lanes, into);
  if (fences_ == nullptr) return;
  ForLanes(lanes, [&](int lane) {
    Release release;
    if (fences_->Released(lane, &release)) into->Join(release.past);
  });
}

void Warp::AcquireFrom(uint32_t lanes, bool relaxed, const Past& past) {
  if (!relaxed) return order_.Acquire(lanes, past);
  if (fences_ == nullptr) fences_ = std::make_unique<FenceState>();
  const Releases releases = {{block_->number(), Strength::kCluster, past}};
  ForLanes(lanes, [&](int lane) { fences_->Saw(lane, Strength::kCluster, releases); });
}

void Warp::NoteFence(const Inst& inst, Strength scope) {
  if (fences_ == nullptr) fences_ = std::make_unique<FenceState>();
  fences_->Fence(mask_, scope, AccessorOf(inst, std::countr_zero(mask_)), &order_);
}

}  // namespace tarsia::ptx
