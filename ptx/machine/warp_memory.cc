#include "ptx/machine/warp_memory.h"

#include <algorithm>

#include "ptx/machine/block.h"
#include "ptx/machine/cluster.h"
#include "ptx/machine/warp.h"

namespace tarsia::ptx {

void WarpMemory::Report(const Failure& failure, FindingKind kind, std::string_view why) const {
  constexpr std::string_view kVerbs[] = {"reads", "writes", "updates"};
  warp_.Report(failure.inst, kind, failure.lane,
               fmt::format("{} {} bytes at {} address 0x{:x}: {}",
                           kVerbs[static_cast<size_t>(failure.access)], failure.bytes,
                           NameOf(failure.space), failure.address, why));
}

Block& WarpMemory::OwnerOf(uint64_t address) const {
  if (address < kSharedPeers) return warp_.block();
  return warp_.block().cluster().block(static_cast<uint32_t>(address >> kRankShift) - 1);
}

Block* WarpMemory::FindPeer(const Inst& inst, int lane, uint64_t* address, uint64_t bytes,
                            Access access) {
  Block& own = warp_.block();
  Cluster& cluster = own.cluster();
  const Failure failure{inst, lane, Space::kShared, *address, static_cast<uint32_t>(bytes), access};
  const uint64_t rank = (*address >> kRankShift) - 1;
  *address &= kSharedPeers - 1;
  if (rank == own.rank()) return &own;
  if (rank >= cluster.size()) {
    Report(failure, FindingKind::kOutOfBounds,
           fmt::format("the block of rank {} of a cluster of {} blocks", rank, cluster.size()));
    return nullptr;
  }
  Block& peer = cluster.block(static_cast<uint32_t>(rank));
  const bool own_only = inst.Has(Mod::kShared) || inst.Has(Mod::kSharedCta);
  if (own_only && !inst.Has(Mod::kSharedCluster)) {
    Report(failure, FindingKind::kOutOfBounds,
           fmt::format("memory of the block of rank {}, without .shared::cluster", rank));
    return nullptr;
  }
  if (peer.Done()) {
    Report(failure, FindingKind::kRace, fmt::format("the block of rank {} has ended", rank));
    return nullptr;
  }
  if (cluster.barrier().phase() == 0) {
    Report(failure, FindingKind::kRace,
           fmt::format("the block of rank {} need not have begun: there was "
                       "no barrier.cluster yet",
                       rank));
  }
  return &peer;
}

bool WarpMemory::FindShared(const Inst& inst, int lane, uint64_t address, uint32_t bytes,
                            Access access, Place* place) {
  Block* const owner =
      address < kSharedPeers ? &warp_.block() : FindPeer(inst, lane, &address, bytes, access);
  if (owner == nullptr) return false;
  const Failure failure{inst, lane, Space::kShared, address, bytes, access};
  MemoryRange& shared = owner->shared();
  if (!shared.Holds(address, bytes)) {
    Report(failure, FindingKind::kOutOfBounds,
           fmt::format("the block has {} bytes from 0x{:x}", shared.bytes, kSharedBase));
    return false;
  }
  if (const Mbarrier* mbarrier = owner->mbarriers().Overlapping(address, bytes)) {
    Report(failure, FindingKind::kMbarrier, "it belongs to " + mbarrier->Describe());
  }
  *place = {shared.data + (address - kSharedBase), shared.defined + (address - kSharedBase)};
  return true;
}

bool WarpMemory::FindLocal(const Failure& failure, uint64_t address, Place* place) {
  if (local_.Holds(failure.lane, address, failure.bytes)) {
    *place = local_.At(failure.lane, address);
    return true;
  }
  Report(failure, FindingKind::kOutOfBounds,
         fmt::format("the thread has {} bytes from 0x{:x}", local_.Bytes(failure.lane),
                     LocalMemory::kBase));
  return false;
}

bool WarpMemory::FindParameter(const Failure& failure, uint64_t address, Place* place) {
  LaunchContext& launch = warp_.launch();
  const uint64_t size = launch.config->parameters.size();
  const bool there = address < size && failure.bytes <= size - address;
  if (there && failure.access == Access::kRead) {
    *place = {launch.parameters.data() + address, launch.parameters_defined.data() + address};
    return true;
  }
  Report(failure, FindingKind::kOutOfBounds,
         fmt::format("there are {} bytes of parameters, which cannot be written", size));
  return false;
}

bool WarpMemory::FindGlobal(const Failure& failure, uint64_t address, Place* place) {
  const MemoryRange* range = FindGlobal(address, uint64_t{failure.bytes});
  if (range == nullptr) {
    Report(failure, FindingKind::kOutOfBounds, warp_.launch().image->memory().Describe(address));
    return false;
  }
  if (range->read_only && failure.access != Access::kRead) {
    Report(failure, FindingKind::kOutOfBounds, "the variable is constant");
    return false;
  }
  const uint64_t at = address - range->address;
  *place = {range->data + at, range->defined + at};
  return true;
}

bool WarpMemory::Locate(const Inst& inst, Space space, int lane, uint64_t address, uint32_t bytes,
                        Access access, Place* place) {
  const uint64_t whole = address;
  space = ResolveGeneric(space, &address);
  const Failure failure{inst, lane, space, whole, bytes, access};
  if ((address & (bytes - 1)) != 0) {
    Report(failure, FindingKind::kMisaligned,
           fmt::format("the address is not a multiple of {}", bytes));
    return false;
  }
  switch (space) {
    case Space::kShared:
      return FindShared(inst, lane, address, bytes, access, place);
    case Space::kLocal:
      return FindLocal(failure, address, place);
    case Space::kParam:
      return FindParameter(failure, address, place);
    case Space::kGeneric:
    case Space::kGlobal:
    case Space::kConst:
      break;
  }
  return FindGlobal(failure, address, place);
}

const MemoryRange* WarpMemory::FindGlobal(uint64_t address, uint64_t bytes) {
  if (last_range_ != nullptr && last_range_->Holds(address, bytes)) return last_range_;
  const Memory& memory = warp_.launch().image->memory();
  if (memory.heap() != nullptr && Heap::Covers(address)) {
    const bool found = memory.heap()->Find(address, &heap_range_);
    return found && heap_range_.Holds(address, bytes) ? &heap_range_ : nullptr;
  }
  const MemoryRange* range = memory.Find(address);
  if (range == nullptr || !range->Holds(address, bytes)) return nullptr;
  last_range_ = range;
  return range;
}

const MemoryRange* WarpMemory::FindSpan(Space space, uint64_t address, uint64_t bytes,
                                        Access access) {
  Block& block = warp_.block();
  const MemoryRange* range = nullptr;
  switch (space) {
    case Space::kShared:
      range = &block.shared();
      return range->Holds(address, bytes) && !block.mbarriers().Near(address, bytes) ? range
                                                                                     : nullptr;
    case Space::kGlobal:
    case Space::kConst:
      range = FindGlobal(address, bytes);
      if (range == nullptr || range == &heap_range_) return nullptr;
      return range->read_only && access != Access::kRead ? nullptr : range;
    case Space::kParam:
      range = &warp_.launch().parameter_range;
      return access == Access::kRead && range->Holds(address, bytes) ? range : nullptr;
    case Space::kLocal:
    case Space::kGeneric:
      return nullptr;
  }
  return nullptr;
}

const MemoryRange* WarpMemory::FindMerged(Space space, const Operand& address, uint32_t bytes,
                                          Access access, uint64_t* offsets) {
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  uint64_t bits = 0;
  const uint32_t mask = warp_.mask();
  ForLanes(mask, [&](int lane) {
    const uint64_t at = warp_.Address(address, lane);
    offsets[lane] = at;
    bits |= at;
    least = std::min(least, at);
    most = std::max(most, at);
  });
  if ((bits & (bytes - 1)) != 0) return nullptr;
  uint64_t base = least;
  // If the last lies within the range of the first, so do all between, and the window is the same.
  space = ResolveGeneric(space, &base);
  const uint64_t window = least - base;
  const uint64_t span = most - least + bytes;
  if (span < bytes) return nullptr;  // wraps around
  const MemoryRange* range = FindSpan(space, base, span, access);
  if (range == nullptr) return nullptr;
  const uint64_t start = window + range->address;
  ForLanes(mask, [&](int lane) { offsets[lane] -= start; });
  return range;
}

}  // namespace tarsia::ptx
