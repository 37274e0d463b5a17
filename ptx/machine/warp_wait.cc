// Splits that wait for something of the cluster (an mbarrier, bulk copies) sleep until it comes.
// Who waits with a limit of time is woken when that is over: after some turns, or at once when
// nobody in the cluster can do anything else.
#include "ptx/machine/cluster.h"
#include "ptx/machine/warp.h"

namespace tarsia::ptx {

void Warp::Suspend(const Inst& inst, Split::State state, const Mbarrier* mbarrier, uint64_t turns,
                   bool retries) {
  Split& now = split();
  now.state = state;
  now.waits_at = &inst;
  now.mbarrier = mbarrier;
  now.wake_turn = turn_ + turns;
  now.retries = retries;
  if (retries) counted_ = 0;
  ++suspended_;
}

void Warp::Resume(Split* split, bool late) {
  split->state = Split::State::kReady;
  split->waits_at = nullptr;
  split->timed_out = late && split->retries;
  --suspended_;
}

void Warp::WakeLate() {
  for (const auto& split : splits_) {
    if (split->waits_at != nullptr && turn_ >= split->wake_turn) Resume(split.get(), true);
  }
}

bool Warp::WakeSuspended() {
  const bool any = suspended_ != 0;
  for (const auto& split : splits_) {
    if (split->waits_at != nullptr) Resume(split.get(), true);
  }
  return any;
}

void Warp::WakeForMbarrier(const Mbarrier* mbarrier) {
  if (suspended_ == 0) return;
  for (const auto& split : splits_) {
    const bool waits = split->waits_at != nullptr && split->state == Split::State::kMbarrier &&
                       (split->mbarrier == mbarrier || split->mbarrier == nullptr);
    if (waits) Resume(split.get(), false);
  }
}

void Warp::WakeForBulk() {
  if (suspended_ == 0) return;
  for (const auto& split : splits_) {
    const bool waits = split->waits_at != nullptr && split->state == Split::State::kBulk;
    if (waits) Resume(split.get(), false);
  }
}

BulkGroups& Warp::bulk(int lane) {
  while (bulk_.size() < kLanes) bulk_.emplace_back(block_->NewActor(), block_->NewActor());
  return bulk_[static_cast<size_t>(lane)];
}

}  // namespace tarsia::ptx
