// What happened before what: the causality order of PTX's memory consistency model (PTX ISA,
// "Memory Consistency Model"), carried along as vector clocks by whatever synchronises threads.
//
// An actor is a thread of a block, or an agent: asynchronous work that runs beside the threads and
// whose parts end in order (the cp.async groups of a thread, the copies that complete on an
// mbarrier, the wgmma groups of a warp). Within a block actors are numbered: its threads first,
// then the agent of each thread's cp.async, then agents as they come up.
//
// Each actor has a clock, which steps on whenever somebody may learn what it did. The threads of a
// block have one clock together: what several of them do between two steps looks alike. An access
// is known by actor and clock; it happened before whoever knows the actor up to that clock. Not
// thread-safe; values may be copied between threads.
#ifndef TARSIA_PTX_RACE_ORDER_H_
#define TARSIA_PTX_RACE_ORDER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "ptx/table/code.h"
#include "ptx/table/findings.h"

namespace tarsia::ptx {

using Clock = uint32_t;

// Which blocks of a grid, by their row-major numbers, are of one cluster.
struct ClusterMap {
  Dim3 grid;
  Dim3 cluster;
  [[nodiscard]] bool Same(uint32_t a, uint32_t b) const;
};

// The clocks up to which actors of blocks are known. A value type; copies share their contents.
class Knowledge {
 public:
  // 0 for an actor that is not known.
  [[nodiscard]] Clock Of(uint32_t block, uint32_t actor) const;
  // The clocks of a block's actors, as far as they are known; null if none is.
  [[nodiscard]] const std::vector<Clock>* OfBlock(uint32_t block) const;
  // Whether any block but this is known.
  [[nodiscard]] bool KnowsOtherThan(uint32_t block) const {
    return parts_ != nullptr && !parts_->empty() &&
           (parts_->size() > 1 || parts_->front().block != block);
  }
  void Join(const Knowledge& other);
  // Makes an actor known up to a clock, at least. `actors`: how many the block has, a hint.
  void Raise(uint32_t block, uint32_t actor, Clock clock, uint32_t actors);
  [[nodiscard]] bool SameAs(const Knowledge& other) const { return parts_ == other.parts_; }

 private:
  using Clocks = std::vector<Clock>;
  struct Part {
    uint32_t block = 0;
    std::shared_ptr<Clocks> clocks;  // changed only while nobody else holds it
  };
  using Parts = std::vector<Part>;  // by block

  Parts& Own();
  static Clocks& Own(Part* part);

  std::shared_ptr<Parts> parts_;
};

// What an actor knows to have happened, and the part of it that the asynchronous proxy may rely on:
// that which a fence.proxy.async has followed.
struct Past {
  Knowledge all;
  Knowledge fenced;

  void Join(const Past& other) {
    all.Join(other.all);
    fenced.Join(other.fenced);
  }
  [[nodiscard]] bool SameAs(const Past& other) const {
    return all.SameAs(other.all) && fenced.SameAs(other.fenced);
  }
};

// The order of the lanes of a warp. Lane i is actor 32 * warp + i of its block.
class WarpOrder {
 public:
  // `threads`: of the block. `clock`: theirs, which must outlive this.
  WarpOrder(uint32_t block, uint32_t warp, uint32_t threads, Clock* clock);

  // Adds to `into` what the lanes did and know. What they do from now on is not part of it.
  void Release(uint32_t lanes, Past* into);
  // The lanes learn of what happened.
  void Acquire(uint32_t lanes, const Past& past);
  // The same, where what the lanes know already is part of it.
  void Adopt(uint32_t lanes, const Past& past);
  // The lanes learn that what an agent of their block did up to this clock is done.
  void Learn(uint32_t lanes, uint32_t actor, Clock clock);
  // All that the lanes did so far and know.
  [[nodiscard]] Past PastSoFar(uint32_t lanes) const;
  // fence.proxy.async: the asynchronous proxy may rely on all that the lanes know.
  void FenceProxy(uint32_t lanes);

  // Work of the lane's cp.async agent up to this clock is done and known to the lane.
  void FinishAsync(int lane, Clock clock) { async_done_[static_cast<size_t>(lane)] = clock; }
  [[nodiscard]] Clock AsyncDone(int lane) const { return async_done_[static_cast<size_t>(lane)]; }

  [[nodiscard]] uint32_t block() const { return block_; }
  [[nodiscard]] uint32_t ActorOf(int lane) const { return first_ + static_cast<uint32_t>(lane); }
  [[nodiscard]] uint32_t AsyncActorOf(int lane) const { return threads_ + ActorOf(lane); }
  [[nodiscard]] Clock clock() const { return *clock_; }
  [[nodiscard]] const Past& PastOf(int lane) const { return past_[static_cast<size_t>(lane)]; }
  // Clocks of the own block's actors that the lane knows; null if none.
  [[nodiscard]] const std::vector<Clock>* OwnBlock(int lane) const {
    return own_[static_cast<size_t>(lane)];
  }
  // The clock up to which the lane knows every thread of its block.
  [[nodiscard]] Clock FloorOf(int lane) const { return floor_[static_cast<size_t>(lane)]; }

 private:
  [[nodiscard]] Past JointPast(uint32_t lanes) const;
  void Refresh(uint32_t lanes);
  void AddSelf(int lane, Knowledge* into) const;

  uint32_t block_;
  uint32_t first_;
  uint32_t threads_;
  Clock* clock_;
  std::array<Past, kLanes> past_;
  std::array<const std::vector<Clock>*, kLanes> own_{};
  std::array<Clock, kLanes> floor_{};
  std::array<Clock, kLanes> async_done_{};
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_RACE_ORDER_H_
