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
      barriers_(this, (threads_ + kLanes - 1) / kLanes),
      warpgroups_(threads_ / (kLanes * kWarpgroupWarps) + 1),
      registers_(launch->entry->entry->max_registers, (threads_ + kLanes - 1) / kLanes) {
  const uint64_t bytes = SharedBytes(*launch);
  shared_data_.resize(bytes + 16);
  shared_defined_.resize(bytes + 16);
  shared_ = {kSharedBase, bytes, shared_data_.data(), shared_defined_.data(), false};
  const uint32_t warps = (threads_ + kLanes - 1) / kLanes;
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
  for (const auto& warp : warps_)
    count += static_cast<uint32_t>(std::popcount(warp->divergence().live()));
  return count;
}

void Block::ThreadsEnded() {
  for (const auto& warp : warps_) warp->divergence().WakeForWarpgroup();
  barriers_.ThreadsEnded();
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
    std::string text = warp->divergence().DescribeWaits();
    if (text == last) continue;
    add(warp->number());
    last = std::move(text);
    first = warp->number();
  }
  add(warps());
  return waits + barriers_.Describe();
}

void Block::ReportStuckLanes() {
  for (const auto& warp : warps_) warp->divergence().ReportStuckLanes();
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
    if (warp->divergence().FillPlace(&finding, true)) break;
  }
  launch_->findings.Add(std::move(finding));
}

}  // namespace tarsia::ptx
