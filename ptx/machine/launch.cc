#include <algorithm>
#include <deque>
#include <thread>

#include "ptx/machine/block_order.h"
#include "ptx/machine/cluster.h"
#include "ptx/machine/emulator.h"
#include "ptx/table/diagnostics.h"
#include "support/first_exception.h"

namespace tarsia::ptx {
namespace {

constexpr uint64_t kQuantum = 4096;  // instructions of a warp before the next has its turn
constexpr int kPatience = 16;        // turns of a block before another is begun beside it
constexpr uint64_t kMaxThreads = 1024;

Status CheckBlock(const Function& entry, const Dim3& block) {
  const auto bad = [&](std::string_view why) {
    return MakeDiagnostic(diag::kBadBlock, {}, block.x, block.y, block.z, why);
  };
  if (block.Count() == 0 || block.x > kMaxThreads || block.y > kMaxThreads || block.z > 64 ||
      block.Count() > kMaxThreads) {
    return bad("a block has 1 to 1024 threads");
  }
  const auto& required = entry.required_threads;
  if (required[0] != 0 && block != Dim3{required[0], required[1], required[2]}) {
    return bad(
        fmt::format("the entry requires {} x {} x {}", required[0], required[1], required[2]));
  }
  const auto& most = entry.max_threads;
  if (most[0] != 0 && block.Count() > uint64_t{most[0]} * most[1] * most[2]) {
    return bad(fmt::format("the entry takes at most {}", uint64_t{most[0]} * most[1] * most[2]));
  }
  return OkStatus();
}

Status CheckLaunch(const EntryImage& image, const LaunchConfig& config) {
  TARSIA_CHECK(CheckBlock(*image.entry, config.block));
  const Dim3& grid = config.grid;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > INT32_MAX || grid.y > UINT16_MAX ||
      grid.z > UINT16_MAX) {
    return MakeDiagnostic(diag::kBadGrid, {}, grid.x, grid.y, grid.z);
  }
  if (config.parameters.size() != image.entry->param_bytes) {
    return MakeDiagnostic(diag::kBadParameters, {}, image.entry->name, image.entry->param_bytes,
                          config.parameters.size());
  }
  const uint64_t room = config.max_shared + image.reserved;
  if (image.dynamic_offset > room || config.dynamic_shared > room - image.dynamic_offset) {
    return MakeDiagnostic(diag::kTooMuchShared, {}, image.dynamic_offset + config.dynamic_shared,
                          room);
  }
  return OkStatus();
}

// The numbers of the clusters that are to run, and the one after the last; a block's number is
// that of its cluster, where these are of one block.
uint64_t FirstCluster(const LaunchContext& launch) {
  return launch.config->first_block / launch.clusters.cluster.Count();
}
uint64_t EndCluster(const LaunchContext& launch) {
  const uint64_t end = std::min(launch.config->end_block, launch.config->grid.Count());
  return std::max((end + launch.clusters.cluster.Count() - 1) / launch.clusters.cluster.Count(),
                  FirstCluster(launch));
}
uint64_t BlockCount(const LaunchContext& launch) {
  return (EndCluster(launch) - FirstCluster(launch)) * launch.clusters.cluster.Count();
}

// As many host threads as are asked for, but no more than have something to do.
int ThreadsOf(const LaunchContext& launch) {
  const uint64_t clusters = EndCluster(launch) - FirstCluster(launch);
  const auto most = static_cast<uint64_t>(std::max(1, launch.config->host_threads));
  return static_cast<int>(std::min(most, std::max<uint64_t>(clusters, 1)));
}

void NoteDone(LaunchContext* launch) {
  const uint64_t blocks = launch->clusters.cluster.Count();
  const uint64_t done = launch->blocks_done.fetch_add(blocks) + blocks;
  if (!launch->config->progress) return;
  const std::lock_guard lock(launch->output_mutex);
  launch->config->progress(done, BlockCount(*launch));
}

void ReleaseDependents(const Cluster& cluster) {
  for (const auto& block : cluster.blocks()) block->ReleaseDependents();
}

bool NobodyWants(LaunchContext* launch) {
  StopCheck* const stop = launch->config->stop;
  return stop != nullptr && stop->Ask() != StopReason::kNone;
}

// Runs clusters (of one block, if nothing else is asked for) in the order that the seed says. One
// that takes long may wait for another, so that further ones are begun beside it.
void RunBlocks(LaunchContext* launch) {
  Worker worker(launch);
  const uint64_t blocks = launch->clusters.cluster.Count();
  const uint64_t first = FirstCluster(*launch);
  const uint64_t count = EndCluster(*launch) - first;
  const BlockOrder order(count, launch->config->seed);
  std::deque<std::unique_ptr<Cluster>> resident;
  bool more = true;
  while (!launch->stop.load()) {
    const bool room =
        resident.size() * blocks < std::max<uint32_t>(1, launch->config->resident_blocks);
    if (more && room) {
      const uint64_t number = launch->next_cluster.fetch_add(1);
      more = number < count;
      if (more) {
        resident.push_front(std::make_unique<Cluster>(launch, &worker, first + order[number]));
      }
    }
    if (resident.empty()) return;
    std::unique_ptr<Cluster> cluster = std::move(resident.front());
    resident.pop_front();
    Block::State state = Block::State::kRunning;
    for (int turn = 0; turn < kPatience && state == Block::State::kRunning; ++turn) {
      state = NobodyWants(launch) ? Block::State::kFailed : cluster->Run(kQuantum);
      // Whose turn it waits for may want the core: there may be more host threads than cores.
      if (cluster->TakePolled()) std::this_thread::yield();
    }
    switch (state) {
      case Block::State::kRunning:
      case Block::State::kIdle:
        resident.push_back(std::move(cluster));
        break;
      case Block::State::kDone:
        ReleaseDependents(*cluster);
        NoteDone(launch);
        break;
      case Block::State::kFailed:
        launch->stop.store(true);
        break;
    }
  }
}

// On `threads` host threads, or as many as can be had. What one throws, for want of memory most of
// all, stops the launch and is thrown here once no thread is left.
void RunOnThreads(LaunchContext* launch, int threads) {
  FirstException exception;
  const auto work = [&]() noexcept {
    try {
      RunBlocks(launch);
    } catch (...) {
      exception.Keep();
      launch->stop.store(true);
    }
  };
  std::vector<std::thread> helpers;
  try {
    for (int i = 1; i < threads; ++i) helpers.emplace_back(work);
  } catch (...) {  // NOLINT(bugprone-empty-catch): fewer threads do the same
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  exception.Rethrow();
}

// The memory of the grid's barrier, for entries that ask for it: as many bytes as cooperative
// groups want, zero at first.
class GridWorkspace {
 public:
  explicit GridWorkspace(Memory* memory) : memory_(memory) {}
  ~GridWorkspace() {
    if (address_ != 0) (void)memory_->Free(address_).ok();
  }
  GridWorkspace(const GridWorkspace&) = delete;
  GridWorkspace& operator=(const GridWorkspace&) = delete;

  Status Make() {
    TARSIA_TRY(address_, memory_->Allocate(kBytes));
    return memory_->Fill(address_, 0, 1, kBytes);
  }
  [[nodiscard]] uint64_t address() const { return address_; }

 private:
  static constexpr uint64_t kBytes = 64;
  Memory* memory_;
  uint64_t address_ = 0;
};

}  // namespace

void Block::ReleaseDependents() {
  if (released_) return;
  released_ = true;
  const bool last = launch_->blocks_released.fetch_add(1) + 1 == BlockCount(*launch_);
  if (last && launch_->config->dependents_may_start) launch_->config->dependents_may_start();
}

Result<LaunchReport> Launch(const Image& image, std::string_view entry,
                            const LaunchConfig& config) {
  LaunchContext launch;
  launch.image = &image;
  launch.entry = image.FindEntry(entry);
  launch.config = &config;
  if (launch.entry == nullptr) return MakeDiagnostic(diag::kNoEntry, {}, entry);
  if (launch.entry->refusal) return *launch.entry->refusal;
  TARSIA_CHECK(CheckLaunch(*launch.entry, config));
  launch.clusters.grid = config.grid;
  TARSIA_TRY(launch.clusters.cluster, ClusterShape(*launch.entry->entry, config));
  const int threads = ThreadsOf(launch);
  launch.shadow.SetShared(threads > 1);
  launch.parameters.assign(config.parameters.begin(), config.parameters.end());
  launch.parameters_defined.assign(config.parameters.size(), 0xFF);
  launch.parameters.resize(config.parameters.size() + 16);
  launch.parameters_defined.resize(config.parameters.size() + 16);
  launch.parameter_range = {0, config.parameters.size(), launch.parameters.data(),
                            launch.parameters_defined.data(), true};
  GridWorkspace workspace(&image.memory());
  if (launch.entry->grid_workspace && config.cooperative) TARSIA_CHECK(workspace.Make());
  launch.grid_workspace = workspace.address();
  if (config.counts) launch.counters.Start(image.module());
  RunOnThreads(&launch, threads);
  LaunchReport report;
  report.findings = launch.findings.Take();
  report.output = std::move(launch.output);
  report.warp_instructions = launch.warp_instructions;
  report.thread_instructions = launch.thread_instructions;
  report.blocks = launch.blocks_done;
  report.dependents_launched = launch.dependents_launched;
  report.dependency_waits = launch.dependency_waits;
  report.finished = report.blocks == BlockCount(launch);
  report.shadow_bytes = launch.shadow.bytes();
  report.shadowed_bytes = launch.shadow.touched();
  report.counts = launch.counters.Sum();
  return report;
}

}  // namespace tarsia::ptx
