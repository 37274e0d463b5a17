// A block of threads at run time: its warps, shared memory and barriers. The inside of emulator.h.
#ifndef TARSIA_PTX_MACHINE_BLOCK_H_
#define TARSIA_PTX_MACHINE_BLOCK_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ptx/machine/barriers.h"
#include "ptx/machine/counter.h"
#include "ptx/machine/emulator.h"
#include "ptx/machine/mbarrier.h"
#include "ptx/machine/warp.h"
#include "ptx/machine/warpgroup.h"
#include "ptx/memory/origin.h"
#include "ptx/race/shadow.h"
#include "ptx/race/slot_steps.h"
#include "ptx/race/strong_reads.h"
#include "ptx/race/sync_table.h"

namespace tarsia::ptx {

class Cluster;

// The state that all blocks of a launch share.
struct LaunchContext {
  const Image* image = nullptr;
  const EntryImage* entry = nullptr;
  const LaunchConfig* config = nullptr;
  std::vector<uint8_t> parameters;  // a few bytes longer than the entry's
  std::vector<uint8_t> parameters_defined;
  MemoryRange parameter_range;  // both, without the extra bytes
  FindingLog findings;
  ClusterMap clusters;
  uint64_t grid_workspace = 0;  // the address of the grid's barrier; 0: there is none
  GlobalShadow shadow;
  SyncTable sync;
  CounterPool counters;
  std::mutex output_mutex;
  std::string output;
  std::atomic<uint64_t> next_cluster{0};  // to begin, of those that run
  std::atomic<uint64_t> warp_instructions{0};
  std::atomic<uint64_t> thread_instructions{0};
  std::atomic<uint64_t> blocks_done{0};
  std::atomic<uint64_t> dependents_launched{0};
  std::atomic<uint64_t> dependency_waits{0};
  std::atomic<uint64_t> blocks_released{0};  // that launched dependents or ended
  std::once_flag dependency_awaited;
  std::atomic<bool> stop{false};
};

// The state of one host thread that runs blocks.
struct Worker {
  explicit Worker(LaunchContext* launch)
      : counter(launch->counters.Add()), steps(&launch->shadow.trails()) {}
  Counter* counter;  // null in a launch that does not count
  SlotSteps steps;
  Conflicts conflicts;  // of the access that is being looked at
};

class Block {
 public:
  enum class State : uint8_t { kRunning, kIdle, kDone, kFailed };  // idle: all of it waits

  Block(LaunchContext* launch, Worker* worker, Cluster* cluster, uint32_t rank, const Dim3& index);

  // Runs every warp for a while.
  State Run(uint64_t budget);

  [[nodiscard]] LaunchContext& launch() { return *launch_; }
  // The worker of the host thread that runs the block.
  [[nodiscard]] Worker& worker() { return *worker_; }
  [[nodiscard]] Counter* counter() { return worker_->counter; }
  [[nodiscard]] Cluster& cluster() { return *cluster_; }
  [[nodiscard]] uint32_t rank() const { return rank_; }  // in its cluster
  [[nodiscard]] const Dim3& within() const { return within_; }
  [[nodiscard]] Dim3 index() const { return index_; }
  [[nodiscard]] uint32_t threads() const { return threads_; }
  [[nodiscard]] const Dim3& shape() const { return launch_->config->block; }
  [[nodiscard]] uint32_t warps() const { return static_cast<uint32_t>(warps_.size()); }
  [[nodiscard]] Warp& warp(uint32_t number) { return *warps_[number]; }
  [[nodiscard]] MemoryRange& shared() { return shared_; }
  // Whether all of its threads have ended.
  [[nodiscard]] bool Done() const;
  // "; warp 0: line 9: barrier 1 (lanes 0xffffffff)" and so on, of a block that is idle.
  std::string DescribeWaits();
  // Reports lanes that wait for others of their warp, which never come.
  void ReportStuckLanes();
  // The log of four warps; the last warpgroup may be incomplete.
  [[nodiscard]] WarpgroupLog& warpgroup(uint32_t number) { return warpgroups_[number]; }
  [[nodiscard]] RegisterPool& registers() { return registers_; }

  [[nodiscard]] Barriers& barriers() { return barriers_; }
  // Threads have ended: those that wait for them may go on.
  void ThreadsEnded();
  [[nodiscard]] uint32_t LiveThreads() const;

  // The block's row-major number within the grid.
  [[nodiscard]] uint32_t number() const { return number_; }
  // The one clock of its threads.
  [[nodiscard]] Clock* clock() { return &clock_; }
  // The accesses to its shared memory.
  [[nodiscard]] ShadowRange& shadow() { return shadow_; }
  // The last strong reads of its threads.
  [[nodiscard]] StrongReads& strong_reads() { return strong_reads_; }
  // Where undefined bits in its shared memory come from.
  [[nodiscard]] MemoryOrigins& origins() { return origins_; }
  // The agent of a warp's wgmma, and a fresh one.
  [[nodiscard]] uint32_t WgmmaActor(uint32_t warp) const { return 2 * threads_ + warp; }
  [[nodiscard]] uint32_t NewActor() { return WgmmaActor(warps()) + agents_++; }
  // The clock up to which the cp.async of a thread have been waited for.
  [[nodiscard]] Clock AsyncDone(uint32_t thread) const {
    return warps_[thread / kLanes]->races().order().AsyncDone(static_cast<int>(thread % kLanes));
  }
  [[nodiscard]] Mbarriers& mbarriers() { return mbarriers_; }
  // The block has executed griddepcontrol.launch_dependents, or ended.
  void ReleaseDependents();
  // Instructions that its warps ran in the last turn.
  [[nodiscard]] uint64_t ran() const { return ran_; }

 private:
  void ReportLimit();

  LaunchContext* launch_;
  Worker* worker_;
  Cluster* cluster_;
  uint32_t rank_;
  Dim3 within_;  // the same by dimension
  Dim3 index_;
  uint32_t number_;
  uint32_t threads_;
  std::vector<uint8_t> shared_data_;
  std::vector<uint8_t> shared_defined_;
  uint32_t agents_ = 0;
  bool released_ = false;  // its dependents
  Clock clock_ = 1;
  ShadowRange shadow_;
  MemoryOrigins origins_;
  StrongReads strong_reads_;
  uint64_t ran_ = 0;
  MemoryRange shared_;
  Mbarriers mbarriers_{this};
  std::vector<std::unique_ptr<Warp>> warps_;
  Barriers barriers_;
  std::vector<WarpgroupLog> warpgroups_;
  RegisterPool registers_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_BLOCK_H_
