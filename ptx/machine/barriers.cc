#include "ptx/machine/barriers.h"

#include <algorithm>
#include <bit>

#include "ptx/machine/block.h"
#include "ptx/machine/warp.h"

namespace tarsia::ptx {
namespace {

// The result of barrier.red, of `total` threads of which the predicate holds in `true_count`.
uint32_t BarrierResult(const Inst& inst, uint32_t true_count, uint32_t total) {
  if (inst.Has(Mod::kAnd)) return true_count == total ? 1 : 0;
  if (inst.Has(Mod::kOr)) return true_count != 0 ? 1 : 0;
  return true_count;
}

}  // namespace

Barriers::Barriers(const Block* block, uint32_t warps) : block_(block) {
  for (Barrier& barrier : barriers_) barrier.arrived_lanes.resize(warps);
}

uint32_t Barriers::Needed(const Barrier& barrier) const {
  return barrier.threads != 0 ? barrier.threads : block_->LiveThreads();
}

bool Barriers::Arrive(uint32_t number, uint32_t threads, bool wait, const Inst& inst, Warp* warp,
                      uint32_t predicate) {
  const uint32_t mask = warp->mask();
  const auto report = [&](std::string message) {
    warp->Report(inst, FindingKind::kDivergence, std::countr_zero(mask), std::move(message));
  };
  if (number >= kCount) {
    report(fmt::format("barrier {} does not exist; a block has {}", number, kCount));
    return true;
  }
  Barrier& barrier = barriers_[number];
  uint32_t& lanes = barrier.arrived_lanes[warp->number()];
  // A count is in whole warps: lanes that the block does not have, or that have ended, come along.
  const uint32_t live = warp->divergence().live();
  const uint32_t coming = mask | (lanes == 0 && threads != 0 ? ~live : 0);
  if (barrier.arrived == 0 && barrier.waiters.empty()) {
    barrier.threads = threads;
  } else if (barrier.threads != threads) {
    report(fmt::format("barrier {} is used with {} and with {} threads at once (0: all)", number,
                       barrier.threads, threads));
  }
  lanes |= mask;
  barrier.arrived += static_cast<uint32_t>(std::popcount(coming));
  barrier.true_count += static_cast<uint32_t>(std::popcount(predicate & mask));
  if (warp->checking()) warp->races().order().Release(mask, &barrier.past);
  if (wait) {
    Split& split = warp->divergence().split();
    split.state = Split::State::kBarrier;
    split.barrier = number;
    barrier.waiters.push_back({warp, &split, &inst, &warp->frame(), mask});
  }
  TryComplete(&barrier);
  return !wait;
}

// The waiters get the result of barrier.red and go on.
bool Barriers::TryComplete(Barrier* barrier) {
  if (barrier->arrived < Needed(*barrier) || barrier->arrived == 0) return false;
  const std::vector<Barrier::Waiter> waiters = std::move(barrier->waiters);
  const uint32_t true_count = barrier->true_count;
  const uint32_t total = barrier->arrived;
  Past past = std::move(barrier->past);
  if (barrier->threads == 0) past.Join(ended_);
  barrier->past = {};
  barrier->waiters.clear();
  barrier->arrived = 0;
  barrier->true_count = 0;
  std::ranges::fill(barrier->arrived_lanes, 0);
  for (const Barrier::Waiter& waiter : waiters) {
    Warp& warp = *waiter.warp;
    if (warp.checking()) warp.races().order().Adopt(waiter.mask, past);
    if (waiter.inst->Has(Mod::kRed)) {
      const uint32_t value = BarrierResult(*waiter.inst, true_count, total);
      warp.FinishReduction(*waiter.inst, waiter.frame, waiter.mask, value);
    }
    Divergence::Wake(waiter.split);
  }
  return true;
}

void Barriers::ThreadsEnded() {
  for (Barrier& barrier : barriers_) {
    if (!barrier.waiters.empty()) TryComplete(&barrier);
  }
}

std::string Barriers::Describe() const {
  std::string text;
  for (uint32_t i = 0; i < kCount; ++i) {
    const Barrier& barrier = barriers_[i];
    if (barrier.arrived == 0) continue;
    text += fmt::format("; barrier {} has {} of {} threads", i, barrier.arrived, Needed(barrier));
  }
  return text;
}

}  // namespace tarsia::ptx
