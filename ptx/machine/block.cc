#include "ptx/machine/block.h"

#include <algorithm>

#include "ptx/machine/cluster.h"

namespace tarsia::ptx {
namespace {

uint64_t SharedBytes(const LaunchContext& launch) {
  return launch.entry->dynamic_offset + launch.config->dynamic_shared;
}

}  // namespace

Block::Block(LaunchContext* launch, Worker* worker, Cluster* cluster, uint32_t rank,
             const Dim3& index)
    : launch_(launch),
      worker_(worker),
      cluster_(cluster),
      rank_(rank),
      within_(UnravelIndex(rank, cluster->shape())),
      index_(index),
      number_(static_cast<uint32_t>(RavelIndex(index, launch->config->grid))),
      threads_(static_cast<uint32_t>(launch->config->block.Count())),
      shadow_(SharedBytes(*launch)),
      warpgroups_(threads_ / (kLanes * kWarpgroupWarps) + 1),
      registers_(launch->entry->entry->max_registers, (threads_ + kLanes - 1) / kLanes) {
  const uint64_t bytes = SharedBytes(*launch);
  shared_data_.resize(bytes + 16);
  shared_defined_.resize(bytes + 16);
  shared_ = {kSharedBase, bytes, shared_data_.data(), shared_defined_.data(), false};
  const uint32_t warps = (threads_ + kLanes - 1) / kLanes;
  for (Barrier& barrier : barriers_) barrier.arrived_lanes.resize(warps);
  for (uint32_t warp = 0; warp < warps; ++warp) {
    const uint32_t lanes = std::min<uint32_t>(kLanes, threads_ - warp * kLanes);
    warps_.push_back(std::make_unique<Warp>(this, warp, lanes));
  }
}

Block::State Block::Run(uint64_t budget) {
  bool done = true;
  uint64_t ran = 0;
  for (const auto& warp : warps_) {
    ran += warp->Run(budget);
    if (launch_->stop.load(std::memory_order_relaxed)) return State::kFailed;
    done = done && warp->Done();
  }
  ran_ = ran;
  const uint64_t total = launch_->warp_instructions.fetch_add(ran) + ran;
  if (done) {
    ReportLeftOut(*this);
    return State::kDone;
  }
  if (ran == 0) return State::kIdle;
  if (launch_->config->instruction_limit != 0 && total > launch_->config->instruction_limit) {
    ReportLimit();
    return State::kFailed;
  }
  return State::kRunning;
}

bool Block::Done() const {
  return std::ranges::all_of(warps_, [](const auto& warp) { return warp->Done(); });
}

uint32_t Block::LiveThreads() const {
  uint32_t count = 0;
  for (const auto& warp : warps_) count += static_cast<uint32_t>(std::popcount(warp->live()));
  return count;
}

bool Block::ArriveAt(uint32_t number, uint32_t threads, bool wait, const Inst& inst, Warp* warp,
                     uint32_t predicate) {
  if (number >= kBarriers) {
    warp->Report(inst, FindingKind::kDivergence, std::countr_zero(warp->mask()),
                 fmt::format("barrier {} does not exist; a block has {}", number, kBarriers));
    return true;
  }
  Barrier& barrier = barriers_[number];
  const uint32_t mask = warp->mask();
  uint32_t& lanes = barrier.arrived_lanes[warp->number()];
  // A count is in whole warps: lanes that the block does not have, or that have ended, come along.
  const uint32_t coming = mask | (lanes == 0 && threads != 0 ? ~warp->live() : 0);
  if (barrier.arrived == 0 && barrier.waiters.empty()) {
    barrier.threads = threads;
  } else if (barrier.threads != threads) {
    warp->Report(inst, FindingKind::kDivergence, std::countr_zero(mask),
                 fmt::format("barrier {} is used with {} and with {} threads at once (0: all)",
                             number, barrier.threads, threads));
  }
  lanes |= mask;
  barrier.arrived += static_cast<uint32_t>(std::popcount(coming));
  barrier.true_count += static_cast<uint32_t>(std::popcount(predicate & mask));
  if (warp->checking()) warp->order().Release(mask, &barrier.past);
  if (wait) {
    Split& split = warp->split();
    split.state = Split::State::kBarrier;
    split.barrier = number;
    barrier.waiters.push_back({warp, &split, &inst, &warp->frame(), mask});
  }
  TryComplete(number);
  return !wait;
}

// The waiters find what barrier.red gives in their destination and go on.
bool Block::TryComplete(uint32_t number) {
  Barrier& barrier = barriers_[number];
  const uint32_t needed = barrier.threads != 0 ? barrier.threads : LiveThreads();
  if (barrier.arrived < needed || barrier.arrived == 0) return false;
  const std::vector<Barrier::Waiter> waiters = std::move(barrier.waiters);
  const uint32_t true_count = barrier.true_count;
  const uint32_t total = barrier.arrived;
  Past past = std::move(barrier.past);
  if (barrier.threads == 0) past.Join(ended_);
  barrier.past = {};
  barrier.waiters.clear();
  barrier.arrived = 0;
  barrier.true_count = 0;
  std::ranges::fill(barrier.arrived_lanes, 0);
  for (const Barrier::Waiter& waiter : waiters) {
    if (waiter.warp->checking()) waiter.warp->order().Adopt(waiter.mask, past);
    if (!waiter.inst->Has(Mod::kRed)) {
      waiter.warp->Wake(waiter.split);
      continue;
    }
    uint32_t value = true_count;
    if (waiter.inst->Has(Mod::kAnd)) value = true_count == total ? 1 : 0;
    if (waiter.inst->Has(Mod::kOr)) value = true_count != 0 ? 1 : 0;
    waiter.warp->FinishReduction(*waiter.inst, waiter.frame, waiter.mask, value);
    waiter.warp->Wake(waiter.split);
  }
  return true;
}

void Block::ThreadsEnded() {
  for (const auto& warp : warps_) warp->WakeForWarpgroup();
  for (uint32_t i = 0; i < kBarriers; ++i) {
    if (!barriers_[i].waiters.empty()) TryComplete(i);
  }
  cluster_->ThreadsEnded();
}

// Where each warp stands, those that stand alike together, and what barriers miss.
std::string Block::DescribeWaits() {
  std::string waits;
  std::string last;
  uint32_t first = 0;
  const auto add = [&](uint32_t end) {
    if (last.empty()) return;
    const bool one = first + 1 == end;
    waits += one ? fmt::format("; warp {}: {}", first, last)
                 : fmt::format("; warps {} to {}: {}", first, end - 1, last);
  };
  for (const auto& warp : warps_) {
    std::string text = warp->DescribeWaits();
    if (text == last) continue;
    add(warp->number());
    last = std::move(text);
    first = warp->number();
  }
  add(warps());
  for (uint32_t i = 0; i < kBarriers; ++i) {
    const Barrier& barrier = barriers_[i];
    if (barrier.arrived == 0) continue;
    waits += fmt::format("; barrier {} has {} of {} threads", i, barrier.arrived,
                         barrier.threads != 0 ? barrier.threads : LiveThreads());
  }
  return waits;
}

void Block::ReportStuckLanes() {
  for (const auto& warp : warps_) warp->ReportStuckLanes();
}

// At the place of the first threads that run.
void Block::ReportLimit() {
  Finding finding;
  finding.kind = FindingKind::kLimit;
  finding.block = index_;
  finding.count = 1;
  finding.message = fmt::format("the launch ran more than {} instructions of warps{}",
                                launch_->config->instruction_limit, DescribeWaits());
  for (const auto& warp : warps_) {
    if (warp->FillPlace(&finding, true)) break;
  }
  launch_->findings.Add(std::move(finding));
}

}  // namespace tarsia::ptx
