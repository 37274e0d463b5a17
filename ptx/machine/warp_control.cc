// Divergence. A branch whose lanes differ makes a Join at the immediate post-dominator and a Split
// for each way; splits run in turn (so that one may wait for another), arrive at the join and go on
// as one when all of its lanes that have not ended are there. A call is a join at its return. At an
// .aligned instruction splits wait for each other too, and go on as one (GatherLanes): compilers
// let several ways lead there without meeting before.
#include <algorithm>
#include <array>

#include "ptx/machine/cluster.h"
#include "ptx/machine/mbarrier.h"
#include "ptx/machine/warp.h"
#include "ptx/machine/warpgroup.h"
#include "ptx/parse/function_address.h"

namespace tarsia::ptx {
namespace {

constexpr size_t kMaxFrames = 4096;
constexpr uint32_t kMaxPolls = 1024;  // before lanes at a join go on without those that poll

}  // namespace

void Warp::AddSplit(uint32_t mask, uint32_t pc, Frame* frame, Join* join) {
  auto split = std::make_unique<Split>();
  split->mask = mask;
  split->pc = pc;
  split->frame = frame;
  split->join = join;
  splits_.push_back(std::move(split));
}

void Warp::RemoveCurrent() {
  splits_.erase(splits_.begin() + static_cast<std::ptrdiff_t>(current_));
  if (current_ > 0) --current_;
}

Join* Warp::NewJoin(Frame* frame, uint32_t pc, uint32_t expected) {
  auto join = std::make_unique<Join>();
  join->parent = split().join;
  join->frame = frame;
  join->pc = pc;
  join->expected = expected;
  joins_.push_back(std::move(join));
  return joins_.back().get();
}

void Warp::FreeJoin(Join* join) {
  if (join->callee != nullptr) FreeFrame(join->callee);
  std::erase_if(joins_, [&](const auto& known) { return known.get() == join; });
}

// Lets the current split arrive at the joins where it stands. False if it has gone into one.
bool Warp::Arrive() {
  Split& now = split();
  while (now.join != nullptr && now.join->frame == now.frame && now.join->pc == now.pc) {
    Join* join = now.join;
    join->arrived |= now.mask;
    if (join->arrived != join->expected) {
      RemoveCurrent();
      return false;
    }
    now.mask = join->expected;
    now.join = join->parent;
    FreeJoin(join);
  }
  return true;
}

// Lanes that leave for good: the joins up to (and without) `until` do not wait for them any more.
void Warp::RemoveLanes(Join* join, const Join* until, uint32_t lanes) {
  while (join != until) {
    Join* parent = join->parent;
    join->expected &= ~lanes;
    join->arrived &= ~lanes;
    if (join->expected == 0) {
      FreeJoin(join);
    } else if (join->arrived == join->expected) {
      AddSplit(join->expected, join->pc, join->frame, parent);
      FreeJoin(join);
    }
    join = parent;
  }
}

Step Warp::Branch(const Inst& inst, uint32_t taken) {
  Split& now = split();
  if (taken == now.mask) {
    now.pc = inst.target;
    return Step::kMoved;
  }
  if (taken == 0) return Step::kNext;
  uint32_t targets[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    targets[lane] = (taken >> lane & 1) != 0 ? inst.target : now.pc + 1;
  }
  mask_ = now.mask;
  return BranchMany(inst, targets);
}

Step Warp::BranchMany(const Inst& inst, const uint32_t* target) {
  Split& now = split();
  const uint32_t first = target[std::countr_zero(mask_)];
  uint32_t rest = now.mask;
  const auto going_to = [&](uint32_t pc) {
    uint32_t lanes = 0;
    ForLanes(rest, [&](int lane) { lanes |= target[lane] == pc ? uint32_t{1} << lane : 0; });
    return lanes;
  };
  const uint32_t stay = going_to(first);
  now.pc = first;
  if (stay == now.mask) return Step::kMoved;
  const bool same_join = now.join != nullptr && now.join->callee == nullptr &&
                         now.join->frame == frame_ && now.join->pc == inst.join;
  if (inst.join != kNowhere && !same_join) now.join = NewJoin(frame_, inst.join, now.mask);
  rest &= ~stay;
  now.mask = stay;
  Join* join = now.join;
  while (rest != 0) {
    const uint32_t pc = target[std::countr_zero(rest)];
    const uint32_t lanes = going_to(pc);
    rest &= ~lanes;
    AddSplit(lanes, pc, frame_, join);
  }
  return Step::kMoved;
}

void Warp::NotePoll(uint32_t weight, bool outside) {
  yield_ = true;
  if (outside) block_->cluster().NotePollOutside();
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

void Warp::NoteProgress() {
  for (Join* join = split().join; join != nullptr; join = join->parent) join->polls = 0;
}

// ---- calls -----------------------------------------------------------------------------------

void Warp::CopyParams(const Function& callee, const Frame& from, const Frame& to,
                      const CallSite& site, bool back, uint32_t lanes) {
  const std::vector<Param>& params = back ? callee.results : callee.params;
  const std::vector<uint64_t>& offsets = back ? site.results : site.arguments;
  for (size_t i = 0; i < params.size(); ++i) {
    const uint64_t source = from.local_base + (back ? params[i].offset : offsets[i]);
    const uint64_t target = to.local_base + (back ? offsets[i] : params[i].offset);
    ForLanes(lanes, [&](int lane) {
      const Place a = LocalPlace(lane, source);
      const Place b = LocalPlace(lane, target);
      std::memcpy(b.data, a.data, params[i].bytes);
      std::memcpy(b.defined, a.defined, params[i].bytes);
      if (!origins_.empty()) origins_.Copy(lane, target, source, params[i].bytes);
    });
  }
}

Step Warp::Call(const Inst& inst) {
  Split& now = split();
  const CallSite& site = frame_->function->calls[inst.table];
  const Module& module = launch().image->module();
  uint32_t number = site.function;
  if (number == kIndirect) {
    // Those that call something else come here again, and wait for each other behind the call.
    const auto address_of = [&](int lane) { return Get<uint64_t>(inst.operands[0], lane); };
    const uint64_t first = address_of(std::countr_zero(mask_));
    uint32_t others = 0;
    ForLanes(mask_,
             [&](int lane) { others |= address_of(lane) != first ? uint32_t{1} << lane : 0; });
    number = FunctionAt(module, first);
    if (others != 0) {
      Join* all = NewJoin(frame_, now.pc + 1, now.mask);
      all->arrived = now.mask & ~mask_;
      now.join = all;
      AddSplit(others, now.pc, frame_, all);
      mask_ &= ~others;
      now.mask = mask_;
    }
  }
  const Function& callee = module.functions[number];
  uint64_t local_end = frame_->StaticEnd();
  for (const uint64_t top : frame_->tops) local_end = std::max(local_end, top);
  if (frames_.size() >= kMaxFrames || local_end + callee.local_bytes > kMaxLocal) {
    Report(inst, FindingKind::kLimit, std::countr_zero(mask_), "the stack is too deep");
    launch().stop.store(true);
    return Step::kMoved;
  }
  Frame* frame = NewFrame(number, frame_, mask_);
  CopyParams(callee, *frame_, *frame, site, false, mask_);
  Join* join = NewJoin(frame_, now.pc + 1, now.mask);
  join->callee = frame;
  join->arrived = now.mask & ~mask_;
  now.mask = mask_;
  now.pc = 0;
  now.frame = frame;
  now.join = join;
  return Step::kMoved;
}

Step Warp::Return() {
  Split& now = split();
  Join* call = now.join;
  while (call != nullptr && call->callee != frame_) call = call->parent;
  if (call == nullptr) return Exit(mask_);
  Frame* caller = call->frame;
  const Inst& site = caller->function->code[call->pc - 1];
  CopyParams(*frame_->function, *frame_, *caller, caller->function->calls[site.table], true, mask_);
  const uint32_t leaving = mask_;
  const uint32_t staying = now.mask & ~leaving;
  Join* inner = now.join;
  if (staying != 0) {
    AddSplit(staying, now.pc + 1, frame_, inner);
  }
  Split& gone = split();
  gone.mask = leaving;
  gone.frame = caller;
  gone.pc = call->pc;
  gone.join = call;
  RemoveLanes(inner, call, leaving);
  return Step::kMoved;
}

Step Warp::Exit(uint32_t lanes) {
  Split& now = split();
  Join* join = now.join;
  if (checking_) order_.Release(lanes, &block_->ended());
  live_ &= ~lanes;
  now.mask &= ~lanes;
  const bool all = now.mask == 0;
  if (all) {
    RemoveCurrent();
  } else {
    ++now.pc;
  }
  RemoveLanes(join, nullptr, lanes);
  for (const auto& other : splits_) {
    // They look again whom they wait for.
    const Split::State state = other->state;
    if (state == Split::State::kTogether) --gathering_;
    if (state == Split::State::kWarpSync || state == Split::State::kTogether) {
      other->state = Split::State::kReady;
    }
  }
  block_->ThreadsEnded();
  return Step::kMoved;
}

void Warp::Wake(Split* split) {
  split->state = Split::State::kReady;
  ++split->pc;
}

void Warp::FinishReduction(const Inst& inst, Frame* frame, uint32_t mask, uint32_t value) {
  Frame* const before = frame_;
  const uint32_t mask_before = mask_;
  Enter(frame);
  mask_ = mask;
  const Operand& dest = inst[0];
  ForLanes(mask, [&](int lane) { SetBits(dest, lane, value); });
  SetDefined(dest);
  mask_ = mask_before;
  if (before != nullptr) Enter(before);
}

// ---- lanes that act together -----------------------------------------------------------------

// Lets some lanes of the current split run its instruction as a split of their own; all meet again
// behind it.
void Warp::SendApart(uint32_t lanes) {
  Split& now = split();
  const bool meet = now.join != nullptr && now.join->frame == frame_ && now.join->pc == now.pc + 1;
  if (!meet) now.join = NewJoin(frame_, now.pc + 1, now.mask);
  now.mask &= ~lanes;
  AddSplit(lanes, now.pc, frame_, now.join);
}

bool Warp::SyncLanes(const Inst& inst, uint32_t members) {
  Split& now = split();
  if ((mask_ & ~members) != 0) {
    Report(inst, FindingKind::kDivergence, std::countr_zero(mask_ & ~members),
           fmt::format("lanes 0x{:08x} execute it and are not in its mask 0x{:08x}",
                       mask_ & ~members, members));
  }
  if ((members & ~live_) != 0) {
    Report(inst, FindingKind::kDivergence, std::countr_zero(members & ~live_),
           fmt::format("the mask 0x{:08x} names lanes 0x{:08x}, which do not exist or have ended",
                       members, members & ~live_));
  }
  const uint32_t wanted = members & live_;
  const auto waits_too = [&](const Split& other) {
    return other.state == Split::State::kWarpSync && other.pc == now.pc &&
           other.frame == now.frame && other.wanted == wanted;
  };
  uint32_t here = mask_;
  for (const auto& other : splits_) {
    if (waits_too(*other)) here |= other->executing;
  }
  if ((wanted & ~here) != 0) {
    now.state = Split::State::kWarpSync;
    now.wanted = wanted;
    now.executing = mask_;
    counted_ = 0;
    return false;
  }
  if (here == mask_) return true;
  for (const auto& other : splits_) {
    if (waits_too(*other)) Wake(other.get());
  }
  mask_ = here;
  counted_ = here;
  return true;
}

Step Warp::ActTogether(const Inst& inst, const Operand& members, void (*act)(Warp&, const Inst&)) {
  NeedDefined(inst, members, "the mask of lanes");
  const uint32_t executing = mask_;
  std::array<uint32_t, kLanes> groups{};
  int count = 0;
  bool all_here = true;
  for (uint32_t rest = executing; rest != 0;) {
    const auto mask = Get<uint32_t>(members, std::countr_zero(rest));
    uint32_t lanes = 0;
    ForLanes(rest, [&](int lane) {
      if (Get<uint32_t>(members, lane) == mask) lanes |= uint32_t{1} << lane;
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
    if (!SyncLanes(inst, Get<uint32_t>(members, std::countr_zero(mask_)))) return Step::kMoved;
    act(*this, inst);
    return Step::kNext;
  }
  for (int i = 0; i < count; ++i) {
    mask_ = groups[static_cast<size_t>(i)];
    act(*this, inst);
  }
  mask_ = executing;
  return Step::kNext;
}

// Whether a split waits where the current one is.
bool Warp::GathersWith(const Split& other) const {
  const Split& now = *splits_[current_];
  return other.state == Split::State::kTogether && other.pc == now.pc && other.frame == now.frame;
}

bool Warp::GatherLanes() {
  if (mask_ == live_) return true;
  Split& now = split();
  // Lanes whose guard does not hold have been here.
  if (now.alone_at == now.pc || mask_ != now.mask) return true;
  uint32_t here = now.mask;
  for (const auto& other : splits_) {
    if (GathersWith(*other)) here |= other->mask;
  }
  if (here == live_) {
    MergeGathered();
    return true;
  }
  now.state = Split::State::kTogether;
  ++gathering_;
  counted_ = 0;
  return false;
}

// All lanes of the warp are here, as several splits: they become the current one, and go on to the
// nearest join that all of them have before them.
void Warp::MergeGathered() {
  Split* const now = splits_[current_].get();
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
  now->mask = mask_ = counted_ = live_;
  gathering_ -= static_cast<uint32_t>(splits_.size()) - 1;
  std::erase_if(splits_, [&](const auto& other) { return other.get() != now; });
  current_ = 0;
}

bool Warp::StopGathering(bool all) {
  if (gathering_ == 0 && !all) return false;
  const auto may_come = [](const auto& split) {
    return split->state != Split::State::kTogether && split->state != Split::State::kWarpSync;
  };
  if (!all && std::ranges::any_of(splits_, may_come)) return false;
  bool any = false;
  for (const auto& split : splits_) {
    const Split::State state = split->state;
    if (state != Split::State::kTogether && state != Split::State::kWgmma) continue;
    split->state = Split::State::kReady;
    split->alone_at = split->pc;
    any = true;
  }
  gathering_ = 0;
  return any;
}

bool Warp::AwaitWarpgroup(uint32_t group) {
  Split& now = split();
  if (now.alone_at == now.pc) return true;
  const uint32_t first = number_ - number_ % kWarpgroupWarps;
  const uint32_t end = std::min(first + kWarpgroupWarps, block_->warps());
  for (uint32_t number = first; number < end; ++number) {
    Warp& other = block_->warp(number);
    if (other.wgmma().open > group || other.Done()) continue;
    now.state = Split::State::kWgmma;
    counted_ = 0;
    return false;
  }
  return true;
}

void Warp::WakeForWarpgroup() {
  for (const auto& split : splits_) {
    if (split->state == Split::State::kWgmma) split->state = Split::State::kReady;
  }
}

Step RunTogether(Warp& warp, const Inst& inst) {
  return warp.GatherLanes() ? inst.behind(warp, inst) : Step::kMoved;
}

void Warp::NeedAligned(const Inst& inst) {
  const uint32_t missing = live_ & ~mask_;
  const uint32_t ended = kAllLanes & ~live_;
  if (missing != 0) {
    Report(inst, FindingKind::kDivergence, std::countr_zero(mask_),
           fmt::format("all lanes must execute it together, and lanes 0x{:08x} do not", missing));
  } else if (ended != 0) {
    Report(inst, FindingKind::kDivergence, std::countr_zero(mask_),
           fmt::format("all lanes must execute it together, and lanes 0x{:08x} do not exist or "
                       "have ended",
                       ended));
  }
}

void Warp::ReportStuckLanes() {
  for (const auto& split : splits_) {
    if (split->state != Split::State::kWarpSync) continue;
    const Inst& inst = split->frame->function->code[split->pc];
    Report(inst, FindingKind::kDivergence, std::countr_zero(split->executing),
           fmt::format("lanes 0x{:08x} wait for lanes 0x{:08x}, which never come", split->executing,
                       split->wanted & ~split->executing));
  }
}

bool Warp::FillPlace(Finding* finding, bool running) const {
  const auto found = std::ranges::find_if(splits_, [running](const auto& split) {
    return (split->state == Split::State::kReady) == running;
  });
  if (found == splits_.end()) return false;
  const Split& split = **found;
  const Inst& inst = split.frame->function->code[split.pc];
  finding->location = inst.location;
  SetSource(launch().image->module(), inst, finding);
  finding->thread = ThreadOf(std::countr_zero(split.mask));
  return true;
}

std::string Warp::DescribeWaits() const {
  std::string text;
  for (const auto& split : splits_) {
    const Inst& inst =
        split->waits_at != nullptr ? *split->waits_at : split->frame->function->code[split->pc];
    if (!text.empty()) text += ", ";
    text += fmt::format("line {}: ", inst.location.line);
    switch (split->state) {
      case Split::State::kReady:
        text += "runs";
        break;
      case Split::State::kWarpSync:
      case Split::State::kTogether:
        text += "lanes of its warp";
        break;
      case Split::State::kBarrier:
        text += fmt::format("barrier {}", split->barrier);
        break;
      case Split::State::kCluster:
        text += "barrier.cluster";
        break;
      case Split::State::kRegisters:
        text += "registers";
        break;
      case Split::State::kMbarrier:
        text += split->mbarrier != nullptr ? split->mbarrier->Describe() : "mbarriers";
        break;
      case Split::State::kBulk:
        text += "bulk copies";
        break;
      case Split::State::kWgmma:
        text += "wgmma of its warpgroup";
        break;
    }
    text += fmt::format(" (lanes 0x{:08x})", split->mask);
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
