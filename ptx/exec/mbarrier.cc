// mbarrier and its fences.
#include "ptx/exec/exec.h"
#include "ptx/machine/async_work.h"
#include "ptx/machine/cluster.h"

namespace tarsia::ptx {
namespace {

constexpr uint64_t kTryTurns = 64;  // of a block, until a try_wait gives up
constexpr uint64_t kTestTurns = 4;  // until a thread tests again
constexpr uint32_t kPollWeight = 64;

// Makes the address of an operand one of the shared space.
bool SharedAddress(const Issuer& by, const Operand& operand, uint64_t* address) {
  *address = by.warp->Address(operand, by.lane);
  const uint64_t whole = *address;
  if (ResolveGeneric(by.inst->space, address) == Space::kShared) return true;
  by.Report(FindingKind::kOutOfBounds,
            fmt::format("an mbarrier at 0x{:x}, which is not in shared memory", whole));
  return false;
}

// f(issuer, mbarrier) for each executing lane whose mbarrier is there.
template <typename F>
void ForMbarriers(Warp& warp, const Inst& inst, const Operand& operand, const F& f) {
  warp.undefined().Require(inst, operand, "the address of the mbarrier");
  ForLanes(warp.mask(), [&](int lane) {
    const Issuer by{&warp, &inst, lane};
    uint64_t address = 0;
    if (!SharedAddress(by, operand, &address)) return;
    Mbarrier* mbarrier = FindMbarrier(by, address);
    if (mbarrier == nullptr) return;
    if (mbarrier->RequireVisible(by, false)) by.Note(address, Access::kAtomic);
    f(by, *mbarrier);
  });
}

// The same for an object of the own block, which need not be there.
template <typename F>
void ForOwnPlaces(Warp& warp, const Inst& inst, const F& f) {
  warp.undefined().Require(inst, inst[0], "the address of the mbarrier");
  ForLanes(warp.mask(), [&](int lane) {
    const Issuer by{&warp, &inst, lane};
    uint64_t address = 0;
    if (SharedAddress(by, inst[0], &address)) f(by, address);
  });
}

Step Init(Warp& warp, const Inst& inst) {
  warp.undefined().Require(inst, inst[1], "the count of the mbarrier");
  ForOwnPlaces(warp, inst, [&](const Issuer& by, uint64_t address) {
    warp.block().mbarriers().Init(by, address, warp.Get<uint32_t>(inst[1], by.lane));
  });
  return Step::kNext;
}

Step Inval(Warp& warp, const Inst& inst) {
  ForOwnPlaces(warp, inst, [&](const Issuer& by, uint64_t address) {
    warp.block().mbarriers().Invalidate(by, address);
  });
  return Step::kNext;
}

Step ChangeBytes(Warp& warp, const Inst& inst) {
  warp.undefined().Require(inst, inst[1], "the count of bytes");
  ForMbarriers(warp, inst, inst[0], [&](const Issuer& by, Mbarrier& mbarrier) {
    const int64_t bytes = warp.Get<uint32_t>(inst[1], by.lane);
    inst.Has(Mod::kExpectTx) ? mbarrier.ExpectBytes(by, bytes)
                             : mbarrier.CompleteBytes(by, bytes, 0);
  });
  return Step::kNext;
}

Step Arrive(Warp& warp, const Inst& inst) {
  const bool has_value = inst.CountAt(2) != 0;
  if (has_value) warp.undefined().Require(inst, inst[2], "the count");
  const bool drop = inst.Has(Mod::kArriveDrop);
  ForLanes(warp.mask(), [&](int lane) { warp.SetBits(inst[0], lane, 0); });
  warp.undefined().Clear(inst[0], warp.mask());
  ForMbarriers(warp, inst, inst[1], [&](const Issuer& by, Mbarrier& mbarrier) {
    const uint32_t value = has_value ? warp.Get<uint32_t>(inst[2], by.lane) : 1;
    uint64_t state = 0;
    if (inst.Has(Mod::kExpectTx)) {
      mbarrier.ExpectBytes(by, value);
      state = mbarrier.Arrive(by, 1, drop);
    } else if (inst.Has(Mod::kNoComplete)) {
      state = mbarrier.ArriveWithoutCompleting(by, value, drop);
    } else {
      state = mbarrier.Arrive(by, value, drop);
    }
    warp.SetBits(inst[0], by.lane, state);
  });
  warp.divergence().NoteProgress();
  return Step::kNext;
}

// Which executing lanes' phases have completed; also the mbarrier if all lanes have one in common.
struct Waited {
  uint32_t done = 0;
  const Mbarrier* common = nullptr;
};

Waited Test(Warp& warp, const Inst& inst) {
  Waited waited;
  waited.done = warp.mask();  // where there is no mbarrier nothing is waited for
  bool first = true;
  ForMbarriers(warp, inst, inst[1], [&](const Issuer& by, Mbarrier& mbarrier) {
    waited.common = first || waited.common == &mbarrier ? &mbarrier : nullptr;
    first = false;
    bool done = false;
    if (inst.Has(Mod::kParity)) {
      const auto parity = warp.Get<uint32_t>(inst[2], by.lane);
      if (parity > 1) {
        by.Report(FindingKind::kMbarrier, fmt::format("a parity of {} is not 0 or 1", parity));
      }
      done = mbarrier.HasCompletedParity(parity & 1);
    } else {
      done = mbarrier.HasCompleted(by, warp.Get<uint64_t>(inst[2], by.lane));
    }
    if (done) {
      mbarrier.Acquire(by);
    } else {
      waited.done &= ~(uint32_t{1} << by.lane);
    }
  });
  return waited;
}

// try_wait sleeps until the phase completes or its time is over, and runs again then. test_wait
// says at once how it is; who tests in vain lets others have a turn.
Step Wait(Warp& warp, const Inst& inst) {
  warp.undefined().Require(inst, inst[2], inst.Has(Mod::kParity) ? "the parity" : "the state");
  const Waited waited = Test(warp, inst);
  Split& split = warp.divergence().split();
  const bool tries = inst.Has(Mod::kTryWait);
  if (waited.done == 0 && tries && !split.timed_out) {
    warp.divergence().Suspend(inst, Split::State::kMbarrier, waited.common, kTryTurns, true);
    return Step::kMoved;
  }
  split.timed_out = false;
  warp.SetPredicate(inst[0], waited.done);
  warp.undefined().Clear(inst[0], warp.mask());
  if (waited.done != 0) {
    warp.divergence().NoteProgress();
    return Step::kNext;
  }
  warp.divergence().NotePoll(kPollWeight, false);
  if (!tries)
    warp.divergence().Suspend(inst, Split::State::kMbarrier, waited.common, kTestTurns, false);
  return Step::kNext;
}

// All copies that the thread has begun, then an arrival.
Step ArriveWithCopies(Warp& warp, const Inst& inst) {
  ForMbarriers(warp, inst, inst[0], [&](const Issuer& by, Mbarrier& mbarrier) {
    if (!inst.Has(Mod::kNoinc)) mbarrier.ExpectArrival(by);
    CpAsyncState& state = warp.async(by.lane);
    AsyncOperation operation;
    operation.by = by;
    operation.proxy = Proxy::kGeneric;
    operation.ends = AsyncOperation::Ends::kWithArrival;
    operation.copies = state.delivered + state.copies.size();
    operation.clock = state.clock++;
    operation.completions.push_back({&mbarrier.block(), mbarrier.address(), 0});
    warp.block().cluster().async().Issue(std::move(operation));
  });
  return Step::kNext;
}

Step FenceInit(Warp& warp, const Inst& inst) {
  warp.block().mbarriers().FenceInit(warp);
  if (warp.checking()) warp.races().NoteFence(inst, Strength::kCluster);
  return Step::kNext;
}

}  // namespace

PTX_BIND(MbarrierInit) { return &Init; }
PTX_BIND(MbarrierInval) { return &Inval; }
PTX_BIND(MbarrierBytes) { return &ChangeBytes; }
PTX_BIND(MbarrierArrive) {
  // In another block's memory the state cannot be had.
  return inst.Has(Mod::kSharedCluster) && !inst[0].sink ? nullptr : &Arrive;
}
PTX_BIND(MbarrierArriveExpectTx) {
  return inst.Has(Mod::kSharedCluster) && !inst[0].sink ? nullptr : &Arrive;
}
PTX_BIND(MbarrierArriveNoComplete) { return &Arrive; }
PTX_BIND(MbarrierWait) {
  return inst.CountAt(3) != 0 && !inst.Has(Mod::kTryWait) ? nullptr : &Wait;
}
PTX_BIND(MbarrierWaitParity) {
  return inst.CountAt(3) != 0 && !inst.Has(Mod::kTryWait) ? nullptr : &Wait;
}
PTX_BIND(MbarrierPendingCount) {
  return [](Warp& warp, const Inst& i) {
    ForLanes(warp.mask(), [&](int lane) {
      warp.SetBits(i[0], lane, Mbarrier::PendingOf(warp.Get<uint64_t>(i[1], lane)));
    });
    return Step::kNext;
  };
}
PTX_BIND(CpAsyncMbarrier) { return &ArriveWithCopies; }
PTX_BIND(FenceMbarrierInit) { return &FenceInit; }

}  // namespace tarsia::ptx
