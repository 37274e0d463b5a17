// Barriers of a block.
#include <atomic>

#include "ptx/exec/exec.h"
#include "ptx/machine/block.h"

namespace tarsia::ptx {
namespace {

// The barrier's number and count of threads, which must be the same in all lanes.
uint32_t UniformValue(Warp& warp, const Inst& inst, const Operand& operand, std::string_view what) {
  warp.undefined().Require(inst, operand, what);
  const int first = std::countr_zero(warp.mask());
  const auto value = warp.Get<uint32_t>(operand, first);
  ForLanes(warp.mask(), [&](int lane) {
    if (warp.Get<uint32_t>(operand, lane) == value) return;
    warp.Report(inst, FindingKind::kDivergence, lane, fmt::format("{} differs by lane", what));
  });
  return value;
}

Step ArriveAtBarrier(Warp& warp, const Inst& inst, int number_at, bool wait, uint32_t predicate) {
  if (inst.aligned) ReportMissingLanes(warp, inst);
  const uint32_t number = UniformValue(warp, inst, inst[number_at], "the number of the barrier");
  uint32_t threads = 0;
  if (inst.CountAt(number_at + 1) != 0) {
    threads = UniformValue(warp, inst, inst[number_at + 1], "the number of threads");
  }
  const bool go_on = warp.block().barriers().Arrive(number, threads, wait, inst, &warp, predicate);
  return go_on ? Step::kNext : Step::kMoved;
}

Step Reduce(Warp& warp, const Inst& inst) {
  const Operand& source = inst[3];
  warp.undefined().Require(inst, source, "the predicate");
  return ArriveAtBarrier(warp, inst, 1, true, warp.Predicate(source));
}

Step Sync(Warp& warp, const Inst& inst) { return ArriveAtBarrier(warp, inst, 0, true, 0); }
Step ArriveOnly(Warp& warp, const Inst& inst) { return ArriveAtBarrier(warp, inst, 0, false, 0); }

// Threads of a launch are in one process: a fence of the host is one of all scopes.
Step FenceAll(Warp& warp, const Inst& inst) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (warp.checking()) warp.races().NoteFence(inst, ScopeOf(inst));
  return Step::kNext;
}

// Lanes have come together.
void OrderLanes(Warp& warp, const Inst&) {
  if (!warp.checking()) return;
  Past past;
  warp.races().order().Release(warp.mask(), &past);
  warp.races().order().Adopt(warp.mask(), past);
}

Step FenceOfProxy(Warp& warp, const Inst&) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (warp.checking()) warp.races().order().FenceProxy(warp.mask());
  return Step::kNext;
}

}  // namespace

void ReportMissingLanes(Warp& warp, const Inst& inst) {
  const uint32_t missing = warp.divergence().live() & ~warp.mask();
  if (missing == 0) return;
  warp.Report(
      inst, FindingKind::kDivergence, std::countr_zero(warp.mask()),
      fmt::format("all lanes must come to it together, and lanes 0x{:08x} do not", missing));
}

PTX_BIND(BarSync) { return &Sync; }
PTX_BIND(BarArrive) { return &ArriveOnly; }
PTX_BIND(BarRedPopc) { return &Reduce; }
PTX_BIND(BarRedPred) { return &Reduce; }
PTX_BIND(BarrierSync) { return &Sync; }
PTX_BIND(BarrierArrive) { return &ArriveOnly; }
PTX_BIND(BarrierRedPopc) { return &Reduce; }
PTX_BIND(BarrierRedPred) { return &Reduce; }
PTX_BIND(BarWarpSync) {
  return
      [](Warp& warp, const Inst& i) { return warp.divergence().ActTogether(i, i[0], &OrderLanes); };
}
PTX_BIND(Membar) { return &FenceAll; }
PTX_BIND(Fence) {
  return [](Warp& warp, const Inst& i) {
    const bool releases = !i.Has(Mod::kAcquire) && !i.Has(Mod::kCta);
    if (releases) warp.block().mbarriers().FenceCluster();
    return FenceAll(warp, i);
  };
}
PTX_BIND(FenceProxy) {
  return [](Warp& warp, const Inst& i) {
    const bool shared = i.Has(Mod::kAsync) && !i.Has(Mod::kGlobal);
    if (shared) warp.block().mbarriers().FenceAsync();
    return i.Has(Mod::kAsync) ? FenceOfProxy(warp, i) : FenceAll(warp, i);
  };
}
PTX_BIND(Nanosleep) {
  return [](Warp& warp, const Inst&) {
    warp.divergence().NotePoll(1, false);  // who sleeps waits for others
    return Step::kNext;
  };
}
PTX_BIND(Griddepcontrol) {
  return [](Warp& warp, const Inst& i) {
    LaunchContext& launch = warp.launch();
    const bool waits = i.Has(Mod::kWait);
    std::atomic<uint64_t>& count = waits ? launch.dependency_waits : launch.dependents_launched;
    count.fetch_add(static_cast<uint64_t>(std::popcount(warp.mask())), std::memory_order_relaxed);
    if (!waits) {
      warp.block().ReleaseDependents();
    } else if (launch.config->dependency_wait) {
      std::call_once(launch.dependency_awaited, launch.config->dependency_wait);
    }
    return Step::kNext;
  };
}

}  // namespace tarsia::ptx
