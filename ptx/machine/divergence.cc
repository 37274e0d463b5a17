// Branches, calls and joins.
#include "ptx/machine/divergence.h"

#include <algorithm>
#include <bit>

#include "ptx/machine/block.h"
#include "ptx/machine/warp.h"
#include "ptx/parse/function_address.h"

namespace tarsia::ptx {

Divergence::Divergence(Warp* warp, uint32_t lanes)
    : warp_(*warp), live_(lanes >= kLanes ? kAllLanes : (uint32_t{1} << lanes) - 1) {}

// ---- splits and joins ------------------------------------------------------------------------

void Divergence::AddSplit(uint32_t mask, uint32_t pc, Frame* frame, Join* join) {
  auto split = std::make_unique<Split>();
  split->mask = mask;
  split->pc = pc;
  split->frame = frame;
  split->join = join;
  splits_.push_back(std::move(split));
}

void Divergence::RemoveCurrent() {
  splits_.erase(splits_.begin() + static_cast<std::ptrdiff_t>(current_));
  if (current_ > 0) --current_;
}

Join* Divergence::NewJoin(uint32_t pc, uint32_t expected) {
  auto join = std::make_unique<Join>();
  join->parent = split().join;
  join->frame = split().frame;
  join->pc = pc;
  join->expected = expected;
  joins_.push_back(std::move(join));
  return joins_.back().get();
}

void Divergence::FreeJoin(Join* join) {
  if (join->callee != nullptr) warp_.frames().Free(join->callee);
  std::erase_if(joins_, [&](const auto& known) { return known.get() == join; });
}

bool Divergence::Pick() {
  for (size_t tried = 0; !splits_.empty() && tried <= splits_.size();) {
    current_ = (current_ + 1) % splits_.size();
    if (split().state != Split::State::kReady) {
      ++tried;
      continue;
    }
    if (Arrive()) return true;
    tried = 0;
  }
  return false;
}

bool Divergence::Arrive() {
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

void Divergence::RemoveLanes(Join* join, const Join* until, uint32_t lanes) {
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

// ---- branches --------------------------------------------------------------------------------

Step Divergence::Branch(const Inst& inst, uint32_t taken) {
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
  warp_.SetMask(now.mask);
  return BranchMany(inst, targets);
}

Step Divergence::BranchMany(const Inst& inst, const uint32_t* target) {
  Split& now = split();
  const uint32_t first = target[std::countr_zero(warp_.mask())];
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
                         now.join->frame == now.frame && now.join->pc == inst.join;
  if (inst.join != kNowhere && !same_join) now.join = NewJoin(inst.join, now.mask);
  rest &= ~stay;
  now.mask = stay;
  Join* join = now.join;
  while (rest != 0) {
    const uint32_t pc = target[std::countr_zero(rest)];
    const uint32_t lanes = going_to(pc);
    rest &= ~lanes;
    AddSplit(lanes, pc, now.frame, join);
  }
  return Step::kMoved;
}

// ---- calls and ends --------------------------------------------------------------------------

uint32_t Divergence::SplitIndirectCall(const Inst& inst) {
  Split& now = split();
  const uint32_t mask = warp_.mask();
  const auto address_of = [&](int lane) { return warp_.Get<uint64_t>(inst.operands[0], lane); };
  const uint64_t first = address_of(std::countr_zero(mask));
  uint32_t others = 0;
  ForLanes(mask, [&](int lane) { others |= address_of(lane) != first ? uint32_t{1} << lane : 0; });
  if (others != 0) {
    // They wait for each other after the call.
    Join* all = NewJoin(now.pc + 1, now.mask);
    all->arrived = now.mask & ~mask;
    now.join = all;
    AddSplit(others, now.pc, now.frame, all);
    now.mask = mask & ~others;
    warp_.SetMask(now.mask);
  }
  return FunctionAt(warp_.launch().image->module(), first);
}

Step Divergence::Call(const Inst& inst) {
  Split& now = split();
  Frame* const caller = now.frame;
  const CallSite& site = caller->function->calls[inst.table];
  const uint32_t number = site.function == kIndirect ? SplitIndirectCall(inst) : site.function;
  const Function& callee = warp_.launch().image->module().functions[number];
  const uint32_t mask = warp_.mask();
  if (!warp_.frames().HasRoomFor(callee, *caller)) {
    warp_.Report(inst, FindingKind::kLimit, std::countr_zero(mask), "the stack is too deep");
    warp_.launch().stop.store(true);
    return Step::kMoved;
  }
  Frame* frame = warp_.frames().Make(number, caller, mask);
  warp_.frames().CopyArguments(site, *caller, *frame, mask);
  Join* join = NewJoin(now.pc + 1, now.mask);
  join->callee = frame;
  join->arrived = now.mask & ~mask;
  now.mask = mask;
  now.pc = 0;
  now.frame = frame;
  now.join = join;
  return Step::kMoved;
}

Step Divergence::Return() {
  Split& now = split();
  const uint32_t leaving = warp_.mask();
  Frame* const callee = now.frame;
  Join* call = now.join;
  while (call != nullptr && call->callee != callee) call = call->parent;
  if (call == nullptr) return Exit(leaving);
  Frame* caller = call->frame;
  const Inst& inst = caller->function->code[call->pc - 1];
  warp_.frames().CopyResults(caller->function->calls[inst.table], *caller, *callee, leaving);
  const uint32_t staying = now.mask & ~leaving;
  Join* inner = now.join;
  if (staying != 0) AddSplit(staying, now.pc + 1, callee, inner);
  now.mask = leaving;
  now.frame = caller;
  now.pc = call->pc;
  now.join = call;
  RemoveLanes(inner, call, leaving);
  return Step::kMoved;
}

Step Divergence::Exit(uint32_t lanes) {
  Split& now = split();
  Join* join = now.join;
  Block& block = warp_.block();
  if (warp_.checking()) warp_.races().order().Release(lanes, &block.barriers().ended());
  live_ &= ~lanes;
  now.mask &= ~lanes;
  if (now.mask == 0) {
    RemoveCurrent();
  } else {
    ++now.pc;
  }
  RemoveLanes(join, nullptr, lanes);
  for (const auto& other : splits_) {
    // Those that wait for lanes of the warp count again.
    const Split::State state = other->state;
    if (state == Split::State::kGather) --gathering_;
    if (state == Split::State::kWarpSync || state == Split::State::kGather) {
      other->state = Split::State::kReady;
    }
  }
  block.ThreadsEnded();
  return Step::kMoved;
}

}  // namespace tarsia::ptx
