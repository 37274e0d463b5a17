#include "ptx/machine/cluster.h"

#include <algorithm>
#include <bit>

#include "ptx/table/diagnostics.h"

namespace tarsia::ptx {
namespace {

constexpr uint32_t kMaxRounds = 256;
constexpr uint64_t kShortLoop = 128;  // instructions of a warp that does nothing but wait
constexpr uint64_t kMaxBlocks = 16;   // 8 where a kernel has to run on every device

bool IsGiven(const Dim3& shape) { return shape.x != 0 || shape.y != 0 || shape.z != 0; }

Dim3 Required(const Function& entry) {
  const auto& required = entry.required_cluster;
  return {required[0], required[1], required[2]};
}

uint32_t Warps(const LaunchConfig& config) {
  return static_cast<uint32_t>((config.block.Count() + kLanes - 1) / kLanes);
}

Dim3 GridOf(const Dim3& blocks, const Dim3& shape) {
  return {blocks.x / shape.x, blocks.y / shape.y, blocks.z / shape.z};
}

}  // namespace

bool HasExplicitCluster(const Function& entry, const LaunchConfig& config) {
  return IsGiven(config.cluster) || IsGiven(Required(entry));
}

Result<Dim3> ClusterShape(const Function& entry, const LaunchConfig& config) {
  const Dim3 required = Required(entry);
  const Dim3 shape = IsGiven(config.cluster) ? config.cluster : required;
  const auto bad = [&](std::string_view why) {
    return MakeDiagnostic(diag::kBadCluster, {}, shape.x, shape.y, shape.z, why);
  };
  if (!IsGiven(shape)) {
    if (entry.explicit_cluster) return bad("the entry wants a launch that names its clusters");
    return Dim3{1, 1, 1};
  }
  if (IsGiven(required) && shape != required) {
    return bad(fmt::format("the entry requires {} x {} x {}", required.x, required.y, required.z));
  }
  if (shape.Count() == 0 || shape.x > kMaxBlocks || shape.y > kMaxBlocks || shape.z > kMaxBlocks ||
      shape.Count() > kMaxBlocks) {
    return bad("a cluster has 1 to 16 blocks");
  }
  if (entry.max_cluster_rank != 0 && shape.Count() > entry.max_cluster_rank) {
    return bad(fmt::format("the entry takes at most {} blocks", entry.max_cluster_rank));
  }
  const Dim3& grid = config.grid;
  if (grid.x % shape.x != 0 || grid.y % shape.y != 0 || grid.z % shape.z != 0) {
    return bad(fmt::format("the grid of {} x {} x {} blocks is not a multiple of it", grid.x,
                           grid.y, grid.z));
  }
  return shape;
}

// ---- the barrier -----------------------------------------------------------------------------

void ClusterBarrier::Arrive(uint32_t rank, Warp& warp, bool relaxed) {
  if (warp.checking()) warp.races().ReleaseTo(warp.mask(), relaxed, &arriving_);
  lanes_[rank * warps_ + warp.number()].arrived |= warp.mask();
}

void ClusterBarrier::Pass(uint32_t rank, Warp& warp, uint32_t mask) {
  lanes_[rank * warps_ + warp.number()].ready &= ~mask;
  if (warp.checking()) warp.races().order().Acquire(mask, passing_);
}

void ClusterBarrier::Wait(uint32_t rank, Warp& warp) {
  warp.divergence().split().state = Split::State::kCluster;
  waiters_.push_back({rank, &warp, &warp.divergence().split()});
}

void ClusterBarrier::TryComplete(const std::vector<std::unique_ptr<Block>>& blocks) {
  bool any = false;
  for (uint32_t rank = 0; rank < blocks.size(); ++rank) {
    for (uint32_t warp = 0; warp < warps_; ++warp) {
      const uint32_t arrived = Arrived(rank, warp);
      any = any || arrived != 0;
      if ((blocks[rank]->warp(warp).divergence().live() & ~arrived) != 0) return;
    }
  }
  if (!any) return;
  ++phase_;
  passing_ = std::move(arriving_);
  for (const auto& block : blocks) passing_.Join(block->barriers().ended());
  arriving_ = {};
  for (Lanes& lanes : lanes_) {
    lanes.ready |= lanes.arrived;
    lanes.arrived = 0;
  }
  const std::vector<Waiter> waiters = std::move(waiters_);
  waiters_.clear();
  for (const Waiter& waiter : waiters) {
    Pass(waiter.rank, *waiter.warp, waiter.split->mask);
    waiter.warp->divergence().Wake(waiter.split);
  }
}

std::string ClusterBarrier::Describe(const std::vector<std::unique_ptr<Block>>& blocks) const {
  int arrived = 0;
  int live = 0;
  for (uint32_t rank = 0; rank < blocks.size(); ++rank) {
    for (uint32_t warp = 0; warp < warps_; ++warp) {
      arrived += std::popcount(Arrived(rank, warp));
      live += std::popcount(blocks[rank]->warp(warp).divergence().live());
    }
  }
  return arrived == 0 ? "" : fmt::format("barrier.cluster has {} of {} threads", arrived, live);
}

// ---- the blocks ------------------------------------------------------------------------------

Cluster::Cluster(LaunchContext* launch, Worker* worker, uint64_t number)
    : launch_(launch),
      grid_(GridOf(launch->config->grid, shape())),
      index_(UnravelIndex(number, grid_)),
      barrier_(size(), Warps(*launch->config)) {
  for (uint32_t rank = 0; rank < size(); ++rank) {
    const Dim3 within = UnravelIndex(rank, shape());
    const Dim3 index{index_.x * shape().x + within.x, index_.y * shape().y + within.y,
                     index_.z * shape().z + within.z};
    blocks_.push_back(std::make_unique<Block>(launch, worker, this, rank, index));
  }
}

Block::State Cluster::Run(uint64_t budget) {
  bool done = true;
  bool idle = true;
  uint64_t ran = 0;
  for (const auto& block : blocks_) {
    if (block->Done()) continue;
    const Block::State state = block->Run(budget);
    ran += block->ran();
    if (state == Block::State::kFailed) return state;
    done = done && state == Block::State::kDone;
    idle = idle && state == Block::State::kIdle;
  }
  if (done) return Finish();
  const bool worked = async_.Turn(idle);
  if (ran > kShortLoop * blocks_.size() * blocks_[0]->warps()) NoteProgress();
  return !idle || worked ? Block::State::kRunning : GoOnIdle();
}

Block::State Cluster::Finish() {
  async_.Finish();
  if (!dropped_) {
    for (const auto& block : blocks_) block->mbarriers().ReportUnfinished();
  }
  return Block::State::kDone;
}

// Threads whose wait for an mbarrier times out may do something else then. If all they do is wait
// again, time and again, nobody ever goes on.
Block::State Cluster::GoOnIdle() {
  bool woken = false;
  if (++rounds_ <= kMaxRounds) {
    for (const auto& block : blocks_) {
      for (uint32_t i = 0; i < block->warps(); ++i) {
        woken = block->warp(i).divergence().WakeSuspended() || woken;
      }
    }
  }
  if (woken) return Block::State::kRunning;
  for (const auto& block : blocks_) {
    for (uint32_t i = 0; i < block->warps(); ++i) {
      woken = block->warp(i).divergence().StopGathering(true) || woken;
    }
  }
  if (woken) return Block::State::kRunning;
  if (!dropped_) ReportDeadlock();
  return Block::State::kFailed;
}

void Cluster::ReportDeadlock() {
  Finding finding;
  finding.kind = FindingKind::kDeadlock;
  finding.count = 1;
  finding.message = "no thread can go on";
  bool first = true;
  for (const auto& block : blocks_) {
    if (block->Done()) continue;
    for (uint32_t warp = 0; first && warp < block->warps(); ++warp) {
      finding.block = block->index();
      first = !block->warp(warp).divergence().FillPlace(&finding, false);
    }
    const Dim3 at = block->index();
    if (size() > 1) finding.message += fmt::format("; block {},{},{}", at.x, at.y, at.z);
    block->ReportStuckLanes();
    finding.message += block->DescribeWaits();
  }
  const std::string barrier = barrier_.Describe(blocks_);
  if (!barrier.empty()) finding.message += "; " + barrier;
  launch_->findings.Add(std::move(finding));
}

}  // namespace tarsia::ptx
