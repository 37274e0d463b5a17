#include "ptx/machine/warp.h"

#include <algorithm>
#include <atomic>

#include "ptx/machine/block.h"
#include "ptx/machine/counter.h"

namespace tarsia::ptx {

Warp::Warp(Block* block, uint32_t number, uint32_t lanes)
    : block_(block),
      number_(number),
      checking_(block->launch().config->checks),
      divergence_(this, lanes),
      frames_(this),
      undefined_(this),
      races_(this),
      memory_(this, &races_),
      async_(kLanes) {
  const EntryImage& entry = *launch().entry;
  const uint32_t function = launch().image->module().NumberOf(*entry.entry);
  divergence_.Begin(frames_.Make(function, nullptr, divergence_.live()));
}

LaunchContext& Warp::launch() const { return block_->launch(); }

Dim3 Warp::ThreadOf(int lane) const {
  return UnravelIndex(uint64_t{number_} * kLanes + static_cast<uint64_t>(lane), block_->shape());
}

BulkGroups& Warp::bulk(int lane) {
  while (bulk_.size() < kLanes) bulk_.emplace_back(block_->NewActor(), block_->NewActor());
  return bulk_[static_cast<size_t>(lane)];
}

// ---- the loop --------------------------------------------------------------------------------

uint64_t Warp::Run(uint64_t budget) {
  uint64_t ran = 0;
  uint64_t threads = 0;
  size_t polls = 0;                 // turns in a row that ended with a poll
  constexpr uint64_t kTurn = 1024;  // instructions before another split of the warp has its turn
  constexpr size_t kMaxPolls = 32;
  const std::atomic<bool>& stop = launch().stop;
  Counter* const counter = block_->counter();
  divergence_.BeginTurn();
  while (ran < budget && !stop.load(std::memory_order_relaxed) && PickSplit()) {
    const Ran now = RunSplit(std::min(budget - ran, kTurn), counter);
    ran += now.instructions;
    threads += now.threads;
    // All that these lanes can do is poll again; another warp or block may have more to do.
    polls = divergence_.yields() ? polls + 1 : 0;
    if (polls > kMaxPolls + divergence_.count()) break;
  }
  launch().thread_instructions.fetch_add(threads, std::memory_order_relaxed);
  return ran;
}

bool Warp::PickSplit() {
  const bool any = divergence_.Pick() || (divergence_.StopGathering(false) && divergence_.Pick());
  if (any) Enter(divergence_.split().frame);
  return any;
}

Warp::Ran Warp::RunSplit(uint64_t most, Counter* counter) {
  Ran ran;
  divergence_.ClearYield();
  while (ran.instructions < most) {
    Split& split = divergence_.split();
    const Inst& inst = frame_->function->code[split.pc];
    mask_ = inst.guarded ? Guard(inst) : split.mask;
    ++ran.instructions;
    ++clock_;
    ran.threads += static_cast<uint64_t>(std::popcount(mask_));
    if (mask_ != 0) {
      if (checking_ && inst.undef != UndefRule::kOwn) undefined_.Propagate(inst, mask_);
      const Step step = counter == nullptr ? inst.handler(*this, inst) : RunCounted(inst, counter);
      if (step == Step::kMoved) break;
    } else if (counter != nullptr) {
      RunCounted(inst, counter);
    }
    ++split.pc;
    if (split.join != nullptr && split.pc == split.join->pc) break;
    if (divergence_.yields()) break;
  }
  return ran;
}

// An instruction whose guard holds in no lane is counted and does nothing.
Step Warp::RunCounted(const Inst& inst, Counter* counter) {
  const uint32_t function = frame_->number;
  const auto number = static_cast<size_t>(&inst - frame_->function->code.data());
  if (mask_ == 0) {
    counter->CountExecution(function, number, 0);
    return Step::kNext;
  }
  divergence_.SetCounted(mask_);
  if (inst.aligned && !divergence_.GatherLanes()) return Step::kMoved;
  counter->CountAccess(*this, inst);
  const Step step = inst.handler(*this, inst);
  const uint32_t counted = divergence_.counted();
  if (counted != 0) counter->CountExecution(function, number, std::popcount(counted));
  return step;
}

void Warp::Enter(Frame* frame) {
  frame_ = frame;
  values_[0] = frame->values.data();
  values_[1] = frame->constants;
  undefined_.Enter(frame);
}

uint32_t Warp::Guard(const Inst& inst) {
  mask_ = divergence_.split().mask;
  if ((undefined_.Lanes(inst.guard) & mask_) != 0) {
    undefined_.Require(inst, inst.guard, "the guard");
  }
  return mask_ & Predicate(inst.guard);
}

// ---- operands --------------------------------------------------------------------------------

uint64_t Warp::Bits(const Operand& operand, int lane) const {
  if (operand.bytes == 0) return Predicate(operand) >> lane & 1;
  return LoadLaneBits(Values(operand), operand.bytes, lane);
}

void Warp::SetBits(const Operand& operand, int lane, uint64_t bits) {
  StoreLaneBits(Dest(operand), operand.bytes, lane, bits);
}

void Warp::FinishReduction(const Inst& inst, Frame* frame, uint32_t mask, uint32_t value) {
  Frame* const before = frame_;
  const Operand& dest = inst[0];
  Enter(frame);
  ForLanes(mask, [&](int lane) { SetBits(dest, lane, value); });
  undefined_.Clear(dest, mask);
  if (before != nullptr) Enter(before);
}

// ---- findings --------------------------------------------------------------------------------

Finding Warp::MakeFinding(const Inst& inst, FindingKind kind, int lane, std::string message) const {
  Finding finding;
  finding.kind = kind;
  finding.location = inst.location;
  SetSource(launch().image->module(), inst, &finding);
  finding.block = block_->index();
  finding.thread = ThreadOf(lane);
  finding.message = std::move(message);
  finding.count = 1;
  return finding;
}

void Warp::AddFinding(Finding finding, int lane) {
  if (!undefined_.IsExcused(lane)) launch().findings.Add(std::move(finding));
}

void Warp::Report(const Inst& inst, FindingKind kind, int lane, std::string message,
                  Severity severity) {
  Finding finding = MakeFinding(inst, kind, lane, std::move(message));
  finding.severity = severity;
  AddFinding(std::move(finding), lane);
}

}  // namespace tarsia::ptx
