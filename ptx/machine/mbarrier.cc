#include "ptx/machine/mbarrier.h"

#include <algorithm>
#include <cstring>

#include "ptx/machine/cluster.h"

namespace tarsia::ptx {
namespace {

// A state: the pending count, the phase and which mbarrier it is of.
constexpr int kPhaseShift = 20;
constexpr int kNumberShift = 52;

}  // namespace

void Issuer::Note(uint64_t address, Access access) const {
  if (!warp->checking()) return;
  Accessor accessor = warp->races().AccessorOf(*inst, lane);
  accessor.semantics =
      access == Access::kAtomic
          ? static_cast<uint8_t>(kAtomicBit | static_cast<uint8_t>(Strength::kCluster))
          : 0;
  warp->races().NoteAccess(*inst, accessor, lane, Space::kShared, address, Mbarrier::kBytes,
                           access);
}

Mbarrier::Mbarrier(Block* block, uint64_t address, uint32_t count, const Issuer& by,
                   uint32_t number)
    : block_(block),
      address_(address),
      by_(by),
      number_(number),
      expected_(count),
      pending_(count),
      actor_(block->NewActor()) {
  Update();
}

std::string Mbarrier::Describe() const {
  return fmt::format("the mbarrier at 0x{:x} in phase {}: {} of {} arrivals and {} bytes missing",
                     address_, phase_, pending_, expected_, bytes_);
}

uint64_t Mbarrier::State() const {
  return uint64_t{pending_} | (phase_ & UINT32_MAX) << kPhaseShift |
         uint64_t{number_} << kNumberShift;
}

void Mbarrier::Update() {
  if (pending_ == 0 && bytes_ == 0 && !drained_) {
    arriving_.all.Raise(block_->number(), actor_, copies_done_, actor_ + 1);
    completed_.Join(arriving_);
    arriving_ = {};
    ++phase_;
    pending_ = expected_;
    drained_ = expected_ == 0;
    for (uint32_t i = 0; i < block_->warps(); ++i)
      block_->warp(i).divergence().WakeForMbarrier(this);
  }
  const uint64_t state = State();
  MemoryRange& shared = block_->shared();
  std::memcpy(shared.data + (address_ - shared.address), &state, sizeof state);
  std::memset(shared.defined + (address_ - shared.address), 0xFF, sizeof state);
  block_->cluster().NoteProgress();
}

void Mbarrier::CheckCount(const Issuer& by, uint32_t count) const {
  if (count == 0 || count > kMaxCount) {
    by.Report(FindingKind::kMbarrier, fmt::format("a count of {} is not in 1 to 1048575", count));
  } else if (count > pending_) {
    by.Report(FindingKind::kMbarrier,
              fmt::format("{} arrivals are too many for {}", count, Describe()));
  }
}

void Mbarrier::Take(uint32_t count, bool drop) {
  pending_ -= std::min(count, pending_);
  if (drop) expected_ -= std::min(count, expected_);
}

uint64_t Mbarrier::Arrive(const Issuer& by, uint32_t count, bool drop) {
  const uint64_t before = State();
  Release(by);
  CheckCount(by, count);
  Take(count, drop);
  Update();
  return before;
}

uint64_t Mbarrier::ArriveWithoutCompleting(const Issuer& by, uint32_t count, bool drop) {
  if (count >= pending_ && bytes_ == 0) {
    by.Report(FindingKind::kMbarrier,
              fmt::format(".noComplete, and {} arrivals complete {}", count, Describe()));
  }
  return Arrive(by, count, drop);
}

// Arrivals by threads release (relaxed ones what a fence before them did); one of a thread's copies
// (cp.async) says nothing of the thread. Of the cluster's scope at least: code that arrives in
// another block's memory leaves the scope out.
void Mbarrier::Release(const Issuer& by) {
  if (by.inst->op == Op::kCpAsyncMbarrier || !by.warp->checking()) return;
  by.warp->races().ReleaseTo(uint32_t{1} << by.lane, by.inst->Has(Mod::kRelaxed), &arriving_);
}

void Mbarrier::ReleaseCopies(const Issuer& by, Clock clock) {
  if (!by.warp->checking()) return;
  const uint32_t actor = by.warp->races().order().AsyncActorOf(by.lane);
  arriving_.all.Raise(by.warp->block().number(), actor, clock, actor + 1);
}

void Mbarrier::Acquire(const Issuer& by) {
  if (!by.warp->checking()) return;
  by.warp->races().AcquireFrom(uint32_t{1} << by.lane, by.inst->Has(Mod::kRelaxed), completed_);
}

void Mbarrier::ExpectArrival(const Issuer& by) {
  if (pending_ >= kMaxCount) {
    by.Report(FindingKind::kMbarrier, "more than 1048575 arrivals are expected");
    return;
  }
  ++pending_;
  Update();
}

void Mbarrier::ChangeBytes(const Issuer& by, int64_t change) {
  bytes_ += change;
  if (bytes_ > int64_t{kMaxCount} || bytes_ < -int64_t{kMaxCount}) {
    by.Report(FindingKind::kMbarrier,
              fmt::format("the count of bytes leaves -1048575 to 1048575: {}", Describe()));
    bytes_ = 0;
  }
  Update();
}

void Mbarrier::ExpectBytes(const Issuer& by, int64_t bytes) {
  if (bytes > int64_t{kMaxCount}) {
    by.Report(FindingKind::kMbarrier, fmt::format("{} bytes are not in 0 to 1048575", bytes));
    return;
  }
  ChangeBytes(by, bytes);
}

void Mbarrier::CompleteBytes(const Issuer& by, int64_t bytes, Clock copy) {
  copies_done_ = std::max(copies_done_, copy);
  ChangeBytes(by, -bytes);
}

bool Mbarrier::HasCompleted(const Issuer& by, uint64_t state) const {
  if (state >> kNumberShift != (number_ & 0xFFF)) {
    by.Report(FindingKind::kMbarrier, "the state belongs to another mbarrier");
    return true;
  }
  const auto passed = static_cast<uint32_t>(phase_ - (state >> kPhaseShift));
  if (passed > 1) {
    by.Report(FindingKind::kMbarrier,
              fmt::format("the state is {} phases old, and only that of the phase under way or the "
                          "one before can be waited for: {}",
                          passed, Describe()));
  }
  return passed != 0;
}

bool Mbarrier::RequireVisible(const Issuer& by, bool async) const {
  const bool remote = &by.warp->block() != block_;
  const auto report = [&](std::string_view fence, std::string_view user) {
    by.Report(FindingKind::kMbarrier,
              fmt::format("no {} between the init in line {} and its use by {}", fence,
                          by_.inst->location.line, user),
              Severity::kMemoryModel);
    return false;
  };
  if (async && !seen_by_async_) {
    return report("fence.mbarrier_init or fence.proxy.async", "an asynchronous copy");
  }
  if (remote && !seen_by_cluster_) {
    return report("fence.mbarrier_init or release of the cluster's scope", "another block");
  }
  return true;
}

// ---- those of a block ------------------------------------------------------------------------

bool Mbarriers::CheckPlace(const Issuer& by, uint64_t address) const {
  if (address % Mbarrier::kBytes != 0) {
    by.Report(FindingKind::kMisaligned,
              fmt::format("the mbarrier's address 0x{:x} is not a multiple of 8", address));
    return false;
  }
  const MemoryRange& shared = block_->shared();
  if (shared.Holds(address, Mbarrier::kBytes)) return true;
  by.Report(FindingKind::kOutOfBounds,
            fmt::format("an mbarrier at shared address 0x{:x}: the block has {} bytes from 0x{:x}",
                        address, shared.bytes, shared.address));
  return false;
}

void Mbarriers::Init(const Issuer& by, uint64_t address, uint32_t count) {
  if (!CheckPlace(by, address)) return;
  by.Note(address, Access::kWrite);
  if (count == 0 || count > Mbarrier::kMaxCount) {
    by.Report(FindingKind::kMbarrier, fmt::format("a count of {} is not in 1 to 1048575", count));
    return;
  }
  std::unique_ptr<Mbarrier>& here = live_[address];
  if (here != nullptr) {
    by.Report(FindingKind::kMbarrier,
              fmt::format("initialised again without an inval: {}", here->Describe()));
    retired_.push_back(std::move(here));
  }
  here = std::make_unique<Mbarrier>(block_, address, count, by, count_++);
  begin_ = std::min(begin_, address);
  end_ = std::max(end_, address + Mbarrier::kBytes);
}

void Mbarriers::Invalidate(const Issuer& by, uint64_t address) {
  if (Find(by, address) == nullptr) return;
  by.Note(address, Access::kWrite);
  const auto found = live_.find(address);
  retired_.push_back(std::move(found->second));
  live_.erase(found);
  invalidated_[address] = by.inst;
  MemoryRange& shared = block_->shared();
  std::memset(shared.defined + (address - shared.address), 0, Mbarrier::kBytes);
  block_->origins().Set(0, address, Mbarrier::kBytes, Origin::Of(*by.inst));
  begin_ = live_.empty() ? UINT64_MAX : live_.begin()->first;
  end_ = live_.empty() ? 0 : std::prev(live_.end())->first + Mbarrier::kBytes;
}

Mbarrier* Mbarriers::Find(const Issuer& by, uint64_t address) {
  if (!CheckPlace(by, address)) return nullptr;
  const auto found = live_.find(address);
  if (found != live_.end()) return found->second.get();
  const auto gone = invalidated_.find(address);
  by.Report(FindingKind::kMbarrier,
            gone == invalidated_.end()
                ? fmt::format("there is no mbarrier at 0x{:x}: it was not initialised", address)
                : fmt::format("there is no mbarrier at 0x{:x}: the inval in line {} ended it",
                              address, gone->second->location.line));
  return nullptr;
}

const Mbarrier* Mbarriers::Overlapping(uint64_t address, uint64_t bytes) const {
  if (!Near(address, bytes)) return nullptr;
  const auto found = live_.upper_bound(address - Mbarrier::kBytes);
  if (found == live_.end() || found->first >= address + bytes) return nullptr;
  return found->second.get();
}

void Mbarriers::FenceInit(const Warp& warp) {
  for (const auto& [address, mbarrier] : live_) {
    const Issuer& by = mbarrier->initialised_by();
    if (by.warp != &warp || (warp.mask() >> by.lane & 1) == 0) continue;
    mbarrier->ShowToAsync();
    mbarrier->ShowToCluster();
  }
}

void Mbarriers::FenceAsync() {
  for (const auto& [address, mbarrier] : live_) mbarrier->ShowToAsync();
}

void Mbarriers::FenceCluster() {
  for (const auto& [address, mbarrier] : live_) mbarrier->ShowToCluster();
}

void Mbarriers::ReportUnfinished() const {
  for (const auto& [address, mbarrier] : live_) {
    if (mbarrier->missing_bytes() == 0) continue;
    mbarrier->initialised_by().Report(
        FindingKind::kMbarrier, fmt::format("the block has ended, and {}", mbarrier->Describe()));
  }
}

}  // namespace tarsia::ptx
