#include "ptx/machine/warpgroup.h"

#include <algorithm>

#include "ptx/machine/block.h"

namespace tarsia::ptx {
namespace {

constexpr size_t kMostSteps = size_t{1} << 16;  // by which a warp may be ahead and is still checked

// wgmma has a kind of its own.
FindingKind KindOf(const Inst& inst) {
  return inst.op == Op::kSetmaxnreg ? FindingKind::kDivergence : FindingKind::kWgmma;
}

}  // namespace

std::optional<WarpgroupStep> WarpgroupLog::Note(uint32_t rank, const WarpgroupStep& step) {
  const uint64_t at = next_[rank]++ - first_;
  std::optional<WarpgroupStep> other;
  if (at < steps_.size()) {
    const WarpgroupStep& known = steps_[at];
    const bool same = known.inst == step.inst && known.values == step.values;
    if (!same && !differs_) other = known;
    differs_ = differs_ || !same;
  } else if (at == steps_.size() && at < kMostSteps) {
    steps_.push_back(step);
  }
  while (!steps_.empty() && std::ranges::min(next_) > first_) {
    steps_.pop_front();
    ++first_;
  }
  return other;
}

const WarpgroupStep* WarpgroupLog::LeftOut(uint32_t rank) const {
  const uint64_t at = next_[rank] - first_;
  return differs_ || at >= steps_.size() ? nullptr : &steps_[at];
}

bool RegisterPool::Resize(uint32_t warp, uint32_t registers) {
  uint32_t& held = held_[warp];
  if (registers > held && registers - held > free_) return false;
  free_ = free_ + held - registers;
  held = registers;
  return true;
}

void RegisterPool::Serve() {
  std::erase_if(waiters_, [&](const Waiter& waiter) {
    if (!Resize(waiter.warp->number(), waiter.registers)) return false;
    waiter.warp->divergence().Wake(waiter.split);
    return true;
  });
}

void NoteWarpgroup(Warp& warp, const WarpgroupStep& step) {
  const Inst& inst = *step.inst;
  const int lane = std::countr_zero(warp.mask());
  const uint32_t group = warp.number() / kWarpgroupWarps;
  const uint32_t warps = warp.block().warps() - group * kWarpgroupWarps;
  if (warps < kWarpgroupWarps) {
    return warp.Report(inst, KindOf(inst), lane,
                       fmt::format("all four warps of a warpgroup must execute it, and the block "
                                   "has {} of this one",
                                   warps));
  }
  const auto other = warp.block().warpgroup(group).Note(warp.number() % kWarpgroupWarps, step);
  if (!other) return;
  if (other->inst != &inst) {
    return warp.Report(inst, KindOf(inst), lane,
                       fmt::format("all four warps of a warpgroup must execute it, and another "
                                   "executes line {} in its place",
                                   other->inst->location.line));
  }
  warp.Report(inst, KindOf(inst), lane,
              "its operands differ from those of another warp of the warpgroup");
}

void ReportLeftOut(Block& block) {
  for (uint32_t number = 0; number < block.warps(); ++number) {
    const uint32_t group = number / kWarpgroupWarps;
    const WarpgroupStep* step = block.warpgroup(group).LeftOut(number % kWarpgroupWarps);
    const bool whole = (group + 1) * kWarpgroupWarps <= block.warps();
    if (step == nullptr || !whole) continue;
    block.warp(number).Report(*step->inst, KindOf(*step->inst), 0,
                              fmt::format("all four warps of a warpgroup must execute it, and warp "
                                          "{} ends without it",
                                          number));
  }
}

}  // namespace tarsia::ptx
