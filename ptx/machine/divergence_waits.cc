// Splits that wait for something outside their warp. Those that wait for something of the cluster
// (an mbarrier, bulk copies) sleep until it comes. A wait with a limit of time also ends after some
// turns, or at once when nobody in the cluster can do anything else.
#include <algorithm>
#include <bit>

#include "ptx/machine/block.h"
#include "ptx/machine/cluster.h"
#include "ptx/machine/divergence.h"
#include "ptx/machine/mbarrier.h"
#include "ptx/machine/warp.h"
#include "ptx/machine/warpgroup.h"

namespace tarsia::ptx {
namespace {

constexpr uint32_t kMaxPolls = 1024;  // before lanes at a join go on without those that poll

// What a split waits for.
std::string Awaited(const Split& split) {
  switch (split.state) {
    case Split::State::kReady:
      return "runs";
    case Split::State::kWarpSync:
    case Split::State::kGather:
      return "lanes of its warp";
    case Split::State::kBarrier:
      return fmt::format("barrier {}", split.barrier);
    case Split::State::kCluster:
      return "barrier.cluster";
    case Split::State::kRegisters:
      return "registers";
    case Split::State::kMbarrier:
      return split.mbarrier != nullptr ? split.mbarrier->Describe() : "mbarriers";
    case Split::State::kBulk:
      return "bulk copies";
    case Split::State::kWgmma:
      return "wgmma of its warpgroup";
  }
  return "";
}

}  // namespace

void Divergence::NotePoll(uint32_t weight, bool outside) {
  yields_ = true;
  if (outside) warp_.block().cluster().NotePollOutside();
  Join* join = split().join;
  while (join != nullptr && (join->arrived == 0 || join->callee != nullptr)) join = join->parent;
  if (join == nullptr) return;
  join->polls += weight;
  if (join->polls < kMaxPolls) return;
  AddSplit(join->arrived, join->pc, join->frame, join->parent);
  join->expected &= ~join->arrived;
  join->arrived = 0;
  join->polls = 0;
}

void Divergence::NoteProgress() {
  for (Join* join = split().join; join != nullptr; join = join->parent) join->polls = 0;
}

void Divergence::Wake(Split* split) {
  split->state = Split::State::kReady;
  ++split->pc;
}

// ---- sleep -----------------------------------------------------------------------------------

void Divergence::Suspend(const Inst& inst, Split::State state, const Mbarrier* mbarrier,
                         uint64_t turns, bool retries) {
  Split& now = split();
  now.state = state;
  now.waits_at = &inst;
  now.mbarrier = mbarrier;
  now.wake_turn = turn_ + turns;
  now.retries = retries;
  if (retries) counted_ = 0;
  ++suspended_;
}

void Divergence::Resume(Split* split, bool late) {
  split->state = Split::State::kReady;
  split->waits_at = nullptr;
  split->timed_out = late && split->retries;
  --suspended_;
}

void Divergence::BeginTurn() {
  ++turn_;
  if (suspended_ == 0) return;
  for (const auto& split : splits_) {
    if (split->waits_at != nullptr && turn_ >= split->wake_turn) Resume(split.get(), true);
  }
}

bool Divergence::WakeSuspended() {
  const bool any = suspended_ != 0;
  for (const auto& split : splits_) {
    if (split->waits_at != nullptr) Resume(split.get(), true);
  }
  return any;
}

void Divergence::WakeForMbarrier(const Mbarrier* mbarrier) {
  if (suspended_ == 0) return;
  for (const auto& split : splits_) {
    const bool waits = split->waits_at != nullptr && split->state == Split::State::kMbarrier &&
                       (split->mbarrier == mbarrier || split->mbarrier == nullptr);
    if (waits) Resume(split.get(), false);
  }
}

void Divergence::WakeForBulk() {
  if (suspended_ == 0) return;
  for (const auto& split : splits_) {
    const bool waits = split->waits_at != nullptr && split->state == Split::State::kBulk;
    if (waits) Resume(split.get(), false);
  }
}

// ---- warpgroups ------------------------------------------------------------------------------

bool Divergence::AwaitWarpgroup(uint32_t group) {
  Split& now = split();
  if (now.alone_at == now.pc) return true;
  Block& block = warp_.block();
  const uint32_t first = warp_.number() - warp_.number() % kWarpgroupWarps;
  const uint32_t end = std::min(first + kWarpgroupWarps, block.warps());
  for (uint32_t number = first; number < end; ++number) {
    Warp& other = block.warp(number);
    if (other.wgmma().open > group || other.Done()) continue;
    now.state = Split::State::kWgmma;
    counted_ = 0;
    return false;
  }
  return true;
}

void Divergence::WakeForWarpgroup() {
  for (const auto& split : splits_) {
    if (split->state == Split::State::kWgmma) split->state = Split::State::kReady;
  }
}

// ---- descriptions ----------------------------------------------------------------------------

bool Divergence::FillPlace(Finding* finding, bool running) const {
  const auto found = std::ranges::find_if(splits_, [running](const auto& split) {
    return (split->state == Split::State::kReady) == running;
  });
  if (found == splits_.end()) return false;
  const Split& split = **found;
  const Inst& inst = split.frame->function->code[split.pc];
  finding->location = inst.location;
  SetSource(warp_.launch().image->module(), inst, finding);
  finding->thread = warp_.ThreadOf(std::countr_zero(split.mask));
  return true;
}

std::string Divergence::DescribeWaits() const {
  std::string text;
  for (const auto& split : splits_) {
    const Inst& inst =
        split->waits_at != nullptr ? *split->waits_at : split->frame->function->code[split->pc];
    if (!text.empty()) text += ", ";
    text += fmt::format("line {}: {} (lanes 0x{:08x})", inst.location.line, Awaited(*split),
                        split->mask);
  }
  for (const auto& join : joins_) {
    if (join->arrived == 0 || join->callee != nullptr) continue;
    const Inst& inst = join->frame->function->code[join->pc];
    text += fmt::format(", line {}: others of its warp (lanes 0x{:08x})", inst.location.line,
                        join->arrived);
  }
  return text;
}

}  // namespace tarsia::ptx
