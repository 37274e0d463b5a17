// A cluster of blocks at run time: blocks that are resident together, see each other's shared
// memory and meet at barriers of their own. A launch without clusters has clusters of one block.
// All of a cluster runs on one host thread. The inside of emulator.h.
#ifndef TARSIA_PTX_MACHINE_CLUSTER_H_
#define TARSIA_PTX_MACHINE_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ptx/machine/async_work.h"
#include "ptx/machine/block.h"
#include "ptx/machine/emulator.h"
#include "support/result.h"

namespace tarsia::ptx {

// The shape of the clusters of a launch: what the launch asks for or the entry requires, {1, 1, 1}
// if neither does. An error if they do not agree, or the grid is not a multiple of it.
Result<Dim3> ClusterShape(const Function& entry, const LaunchConfig& config);

// Whether the launch or its entry says anything of clusters.
bool HasExplicitCluster(const Function& entry, const LaunchConfig& config);

// barrier.cluster: all threads of the cluster that have not ended arrive, and then may pass.
class ClusterBarrier {
 public:
  ClusterBarrier(uint32_t blocks, uint32_t warps) : warps_(warps), lanes_(size_t{blocks} * warps) {}

  // Lanes of a warp of block `rank` that have arrived and not been let through.
  [[nodiscard]] uint32_t Arrived(uint32_t rank, uint32_t warp) const {
    return lanes_[rank * warps_ + warp].arrived;
  }
  // Lanes that have arrived and may pass.
  [[nodiscard]] uint32_t Ready(uint32_t rank, uint32_t warp) const {
    return lanes_[rank * warps_ + warp].ready;
  }
  // How often all have met.
  [[nodiscard]] uint64_t phase() const { return phase_; }

  // The one place where threads arrive, handing on what they did unless they are `relaxed`.
  void Arrive(uint32_t rank, Warp& warp, bool relaxed);
  // The one place where threads that have been waiting, or need not wait, go through.
  void Pass(uint32_t rank, Warp& warp, uint32_t mask);
  // Threads wait until all have arrived.
  void Wait(uint32_t rank, Warp& warp);
  // Lets all through if nobody is missing.
  void TryComplete(const std::vector<std::unique_ptr<Block>>& blocks);
  // "barrier.cluster has 32 of 64 threads", or nothing if nobody has arrived.
  [[nodiscard]] std::string Describe(const std::vector<std::unique_ptr<Block>>& blocks) const;

 private:
  struct Lanes {
    uint32_t arrived = 0;
    uint32_t ready = 0;
  };
  struct Waiter {
    uint32_t rank = 0;
    Warp* warp = nullptr;
    Split* split = nullptr;
  };
  uint32_t warps_;
  std::vector<Lanes> lanes_;  // by warp of block
  std::vector<Waiter> waiters_;
  Past arriving_;  // what happened before the arrivals of this phase
  Past passing_;   // and of the last that is complete
  uint64_t phase_ = 0;
};

class Cluster {
 public:
  // The cluster of this number of the launch, x fastest.
  Cluster(LaunchContext* launch, Worker* worker, uint64_t number);

  // Runs every block for a while.
  Block::State Run(uint64_t budget);

  [[nodiscard]] const Dim3& shape() const { return launch_->clusters.cluster; }
  // The cluster's place in the grid of clusters, and the size of that grid.
  [[nodiscard]] const Dim3& index() const { return index_; }
  [[nodiscard]] const Dim3& grid() const { return grid_; }
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(shape().Count()); }
  [[nodiscard]] Block& block(uint32_t rank) { return *blocks_[rank]; }
  [[nodiscard]] const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }
  [[nodiscard]] ClusterBarrier& barrier() { return barrier_; }
  [[nodiscard]] AsyncWork& async() { return async_; }
  // Something happened that threads may wait for.
  void NoteProgress() { rounds_ = 0; }
  // A thread looks in vain for what may come from outside of the cluster.
  void NotePollOutside() {
    polled_ = true;
    NoteProgress();
  }
  // Whether one has done so since this was asked last.
  bool TakePolled() { return std::exchange(polled_, false); }
  // Work that threads may wait for was wrong and reported, and never comes: that they wait in vain
  // is not reported again.
  void NoteDropped() { dropped_ = true; }
  void ThreadsEnded() { barrier_.TryComplete(blocks_); }

 private:
  // What happens when all threads have ended, or none can go on by itself.
  Block::State Finish();
  Block::State GoOnIdle();
  void ReportDeadlock();

  LaunchContext* launch_;
  Dim3 grid_;
  Dim3 index_;
  std::vector<std::unique_ptr<Block>> blocks_;
  ClusterBarrier barrier_;
  AsyncWork async_;
  bool polled_ = false;
  bool dropped_ = false;
  uint32_t rounds_ = 0;  // of waking threads that wait for nothing new, since there was progress
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_CLUSTER_H_
