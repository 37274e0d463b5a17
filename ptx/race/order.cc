#include "ptx/race/order.h"

#include <algorithm>

#include "ptx/table/lanes.h"

namespace tarsia::ptx {

bool ClusterMap::Same(uint32_t a, uint32_t b) const {
  const Dim3 x = UnravelIndex(a, grid);
  const Dim3 y = UnravelIndex(b, grid);
  return x.x / cluster.x == y.x / cluster.x && x.y / cluster.y == y.y / cluster.y &&
         x.z / cluster.z == y.z / cluster.z;
}

// ---- Knowledge -------------------------------------------------------------------------------

const std::vector<Clock>* Knowledge::OfBlock(uint32_t block) const {
  if (parts_ == nullptr) return nullptr;
  const auto at = std::ranges::lower_bound(*parts_, block, {}, &Part::block);
  return at != parts_->end() && at->block == block ? at->clocks.get() : nullptr;
}

Clock Knowledge::Of(uint32_t block, uint32_t actor) const {
  const Clocks* clocks = OfBlock(block);
  return clocks != nullptr && actor < clocks->size() ? (*clocks)[actor] : 0;
}

Knowledge::Parts& Knowledge::Own() {
  if (parts_ == nullptr) {
    parts_ = std::make_shared<Parts>();
  } else if (parts_.use_count() != 1) {
    parts_ = std::make_shared<Parts>(*parts_);
  }
  return *parts_;
}

Knowledge::Clocks& Knowledge::Own(Part* part) {
  if (part->clocks.use_count() != 1) part->clocks = std::make_shared<Clocks>(*part->clocks);
  return *part->clocks;
}

void Knowledge::Raise(uint32_t block, uint32_t actor, Clock clock, uint32_t actors) {
  if (Of(block, actor) >= clock) return;
  Parts& parts = Own();
  auto at = std::ranges::lower_bound(parts, block, {}, &Part::block);
  if (at == parts.end() || at->block != block) {
    at = parts.insert(at, {block, std::make_shared<Clocks>(actors)});
  }
  Clocks& clocks = Own(&*at);
  if (clocks.size() <= actor) clocks.resize(actor + 1);
  clocks[actor] = clock;
}

void Knowledge::Join(const Knowledge& other) {
  if (other.parts_ == nullptr || parts_ == other.parts_) return;
  if (parts_ == nullptr) {
    parts_ = other.parts_;
    return;
  }
  for (const Part& theirs : *other.parts_) {
    const auto found = std::ranges::lower_bound(*parts_, theirs.block, {}, &Part::block);
    const bool known = found != parts_->end() && found->block == theirs.block;
    if (known && found->clocks == theirs.clocks) continue;
    const auto index = found - parts_->begin();
    Parts& parts = Own();
    const auto at = parts.begin() + index;
    if (!known) {
      parts.insert(at, theirs);
      continue;
    }
    Clocks& mine = Own(&*at);
    if (mine.size() < theirs.clocks->size()) mine.resize(theirs.clocks->size());
    const Clock* from = theirs.clocks->data();
    for (size_t i = 0; i < theirs.clocks->size(); ++i) mine[i] = std::max(mine[i], from[i]);
  }
}

// ---- WarpOrder -------------------------------------------------------------------------------

WarpOrder::WarpOrder(uint32_t block, uint32_t warp, uint32_t threads, Clock* clock)
    : block_(block), first_(warp * kLanes), threads_(threads), clock_(clock) {}

void WarpOrder::AddSelf(int lane, Knowledge* into) const {
  const auto i = static_cast<size_t>(lane);
  into->Raise(block_, ActorOf(lane), *clock_, 2 * threads_);
  if (async_done_[i] != 0) into->Raise(block_, AsyncActorOf(lane), async_done_[i], 2 * threads_);
}

void WarpOrder::Release(uint32_t lanes, Past* into) {
  into->Join(JointPast(lanes));
  ForLanes(lanes, [&](int lane) { AddSelf(lane, &into->all); });
  // When the clock has reached its end, order is no longer known and no race is reported.
  if (*clock_ != UINT32_MAX) ++*clock_;
}

void WarpOrder::Acquire(uint32_t lanes, const Past& past) {
  Past before;
  Past after;
  bool first = true;
  ForLanes(lanes, [&](int lane) {
    Past& mine = past_[static_cast<size_t>(lane)];
    if (first || !mine.SameAs(before)) {
      before = mine;
      after = mine;
      after.Join(past);
      first = false;
    }
    mine = after;
  });
  Refresh(lanes);
}

void WarpOrder::Learn(uint32_t lanes, uint32_t actor, Clock clock) {
  Past past;
  past.all.Raise(block_, actor, clock, actor + 1);
  Acquire(lanes, past);
}

Past WarpOrder::JointPast(uint32_t lanes) const {
  Past joint;
  const Past* last = nullptr;
  ForLanes(lanes, [&](int lane) {
    const Past& past = past_[static_cast<size_t>(lane)];
    if (last == nullptr || !last->SameAs(past)) joint.Join(past);
    last = &past;
  });
  return joint;
}

Past WarpOrder::PastSoFar(uint32_t lanes) const {
  Past past = JointPast(lanes);
  ForLanes(lanes, [&](int lane) { AddSelf(lane, &past.all); });
  return past;
}

// All lanes at once: where one does not know what another did, that is found before the proxy is.
void WarpOrder::FenceProxy(uint32_t lanes) {
  Past past;
  Release(lanes, &past);
  past.fenced.Join(past.all);
  ForLanes(lanes, [&](int lane) { past_[static_cast<size_t>(lane)].fenced = past.fenced; });
}

void WarpOrder::Adopt(uint32_t lanes, const Past& past) {
  ForLanes(lanes, [&](int lane) { past_[static_cast<size_t>(lane)] = past; });
  Refresh(lanes);
}

void WarpOrder::Refresh(uint32_t lanes) {
  const std::vector<Clock>* last = nullptr;
  Clock floor = 0;
  ForLanes(lanes, [&](int lane) {
    const auto i = static_cast<size_t>(lane);
    const std::vector<Clock>* own = past_[i].all.OfBlock(block_);
    if (own != last) {
      floor =
          own == nullptr || own->size() < threads_
              ? 0
              : *std::min_element(own->begin(), own->begin() + static_cast<ptrdiff_t>(threads_));
      last = own;
    }
    own_[i] = own;
    floor_[i] = floor;
  });
}

}  // namespace tarsia::ptx
