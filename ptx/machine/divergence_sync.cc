// Lanes of a warp that act together: those that a mask names, and all at an .aligned instruction.
#include <algorithm>
#include <array>
#include <bit>

#include "ptx/machine/block.h"
#include "ptx/machine/divergence.h"
#include "ptx/machine/warp.h"
#include "ptx/table/bind.h"

namespace tarsia::ptx {

void Divergence::SendApart(uint32_t lanes) {
  Split& now = split();
  const bool meet =
      now.join != nullptr && now.join->frame == now.frame && now.join->pc == now.pc + 1;
  if (!meet) now.join = NewJoin(now.pc + 1, now.mask);
  now.mask &= ~lanes;
  AddSplit(lanes, now.pc, now.frame, now.join);
}

bool Divergence::SyncLanes(const Inst& inst, uint32_t members) {
  Split& now = split();
  const uint32_t mask = warp_.mask();
  if ((mask & ~members) != 0) {
    warp_.Report(inst, FindingKind::kDivergence, std::countr_zero(mask & ~members),
                 fmt::format("lanes 0x{:08x} execute it and are not in its mask 0x{:08x}",
                             mask & ~members, members));
  }
  if ((members & ~live_) != 0) {
    warp_.Report(
        inst, FindingKind::kDivergence, std::countr_zero(members & ~live_),
        fmt::format("the mask 0x{:08x} names lanes 0x{:08x}, which do not exist or have ended",
                    members, members & ~live_));
  }
  const uint32_t wanted = members & live_;
  const auto waits_too = [&](const Split& other) {
    return other.state == Split::State::kWarpSync && other.pc == now.pc &&
           other.frame == now.frame && other.wanted == wanted;
  };
  uint32_t here = mask;
  for (const auto& other : splits_) {
    if (waits_too(*other)) here |= other->executing;
  }
  if ((wanted & ~here) != 0) {
    now.state = Split::State::kWarpSync;
    now.wanted = wanted;
    now.executing = mask;
    counted_ = 0;
    return false;
  }
  if (here == mask) return true;
  for (const auto& other : splits_) {
    if (waits_too(*other)) Wake(other.get());
  }
  warp_.SetMask(here);
  counted_ = here;
  return true;
}

Step Divergence::ActTogether(const Inst& inst, const Operand& members,
                             void (*act)(Warp&, const Inst&)) {
  warp_.undefined().Require(inst, members, "the mask of lanes");
  const uint32_t executing = warp_.mask();
  std::array<uint32_t, kLanes> groups{};
  int count = 0;
  bool all_here = true;
  for (uint32_t rest = executing; rest != 0;) {
    const auto mask = warp_.Get<uint32_t>(members, std::countr_zero(rest));
    uint32_t lanes = 0;
    ForLanes(rest, [&](int lane) {
      if (warp_.Get<uint32_t>(members, lane) == mask) lanes |= uint32_t{1} << lane;
    });
    rest &= ~lanes;
    all_here = all_here && lanes == (mask & live_);
    groups[static_cast<size_t>(count++)] = lanes;
  }
  if (count > 1 && !all_here) {
    // Those whose masks differ need not come together.
    SendApart(executing & ~groups[0]);
    return Step::kMoved;
  }
  if (count == 1) {
    const auto mask = warp_.Get<uint32_t>(members, std::countr_zero(executing));
    if (!SyncLanes(inst, mask)) return Step::kMoved;
    act(warp_, inst);
    return Step::kNext;
  }
  for (int i = 0; i < count; ++i) {
    warp_.SetMask(groups[static_cast<size_t>(i)]);
    act(warp_, inst);
  }
  warp_.SetMask(executing);
  return Step::kNext;
}

// ---- .aligned instructions -------------------------------------------------------------------

bool Divergence::GathersWith(const Split& other) const {
  const Split& now = *splits_[current_];
  return other.state == Split::State::kGather && other.pc == now.pc && other.frame == now.frame;
}

bool Divergence::GatherLanes() {
  if (warp_.mask() == live_) return true;
  Split& now = split();
  // Lanes whose guard does not hold have been here.
  if (now.alone_at == now.pc || warp_.mask() != now.mask) return true;
  uint32_t here = now.mask;
  for (const auto& other : splits_) {
    if (GathersWith(*other)) here |= other->mask;
  }
  if (here == live_) {
    MergeGathered();
    return true;
  }
  now.state = Split::State::kGather;
  ++gathering_;
  counted_ = 0;
  return false;
}

// All lanes of the warp are here, as several splits: they become the current one, and go on to the
// nearest join that all of them have before them.
void Divergence::MergeGathered() {
  Split* const now = &split();
  const auto is_before = [](const Join* join, const Split& other) {
    const Join* at = other.join;
    while (at != nullptr && at != join) at = at->parent;
    return at == join;
  };
  Join* common = now->join;
  while (!std::ranges::all_of(splits_, [&](const auto& it) { return is_before(common, *it); })) {
    common = common->parent;
  }
  for (const auto& other : splits_) RemoveLanes(other->join, common, other->mask);
  now->join = common;
  now->mask = counted_ = live_;
  warp_.SetMask(live_);
  gathering_ -= static_cast<uint32_t>(splits_.size()) - 1;
  std::erase_if(splits_, [&](const auto& other) { return other.get() != now; });
  current_ = 0;
}

bool Divergence::StopGathering(bool all) {
  if (gathering_ == 0 && !all) return false;
  const auto may_come = [](const auto& split) {
    return split->state != Split::State::kGather && split->state != Split::State::kWarpSync;
  };
  if (!all && std::ranges::any_of(splits_, may_come)) return false;
  bool any = false;
  for (const auto& split : splits_) {
    const Split::State state = split->state;
    if (state != Split::State::kGather && state != Split::State::kWgmma) continue;
    split->state = Split::State::kReady;
    split->alone_at = split->pc;
    any = true;
  }
  gathering_ = 0;
  return any;
}

Step RunTogether(Warp& warp, const Inst& inst) {
  return warp.divergence().GatherLanes() ? inst.wrapped(warp, inst) : Step::kMoved;
}

void Divergence::RequireAligned(const Inst& inst) {
  const uint32_t missing = live_ & ~warp_.mask();
  const uint32_t ended = kAllLanes & ~live_;
  if (missing == 0 && ended == 0) return;
  const std::string why = missing != 0
                              ? fmt::format("and lanes 0x{:08x} do not", missing)
                              : fmt::format("and lanes 0x{:08x} do not exist or have ended", ended);
  warp_.Report(inst, FindingKind::kDivergence, std::countr_zero(warp_.mask()),
               "all lanes must execute it together, " + why);
}

void Divergence::ReportStuckLanes() {
  for (const auto& split : splits_) {
    if (split->state != Split::State::kWarpSync) continue;
    const Inst& inst = split->frame->function->code[split->pc];
    warp_.Report(inst, FindingKind::kDivergence, std::countr_zero(split->executing),
                 fmt::format("lanes 0x{:08x} wait for lanes 0x{:08x}, which never come",
                             split->executing, split->wanted & ~split->executing));
  }
}

}  // namespace tarsia::ptx
