// Clusters: the barrier of all their threads, and addresses in each other's shared memory.
#include "ptx/machine/cluster.h"
#include "ptx/exec/exec.h"

namespace tarsia::ptx {

namespace {

// ---- the barrier -----------------------------------------------------------------------------

Step ArriveAtCluster(Warp& warp, const Inst& inst) {
  if (inst.aligned) ReportMissingLanes(warp, inst);
  Block& block = warp.block();
  ClusterBarrier& barrier = block.cluster().barrier();
  const uint32_t again = warp.mask() & (barrier.Arrived(block.rank(), warp.number()) |
                                        barrier.Ready(block.rank(), warp.number()));
  if (again != 0) {
    warp.Report(inst, FindingKind::kDivergence, std::countr_zero(again),
                "arrives at barrier.cluster again without a wait in between");
  }
  if (!inst.Has(Mod::kRelaxed)) block.mbarriers().FenceCluster();
  barrier.Arrive(block.rank(), warp, inst.Has(Mod::kRelaxed));
  block.cluster().ThreadsEnded();
  warp.divergence().NoteProgress();
  return Step::kNext;
}

Step WaitForCluster(Warp& warp, const Inst& inst) {
  if (inst.aligned) ReportMissingLanes(warp, inst);
  const uint32_t rank = warp.block().rank();
  ClusterBarrier& barrier = warp.block().cluster().barrier();
  const uint32_t arrived = barrier.Arrived(rank, warp.number());
  const uint32_t never = warp.mask() & ~(arrived | barrier.Ready(rank, warp.number()));
  if (never != 0) {
    warp.Report(inst, FindingKind::kDivergence, std::countr_zero(never),
                "waits for barrier.cluster without having arrived");
  }
  if ((warp.mask() & arrived) != 0) {
    barrier.Wait(rank, warp);
    return Step::kMoved;
  }
  barrier.Pass(rank, warp, warp.mask());
  return Step::kNext;
}

// ---- addresses -------------------------------------------------------------------------------

// The address within the shared space; false, with a finding, if a generic one is of another.
bool SharedAddress(Warp& warp, const Inst& inst, int lane, uint64_t* address) {
  if (inst.space == Space::kShared || ResolveGeneric(Space::kGeneric, address) == Space::kShared) {
    return true;
  }
  warp.Report(inst, FindingKind::kOutOfBounds, lane,
              fmt::format("0x{:x} is no address of shared memory", *address));
  return false;
}

Step Mapa(Warp& warp, const Inst& inst) {
  const uint32_t size = warp.block().cluster().size();
  ForLanes(warp.mask(), [&](int lane) {
    uint64_t address = warp.Bits(inst[1], lane);
    const uint64_t rank = warp.Get<uint32_t>(inst[2], lane);
    const uint64_t window = inst.space == Space::kShared ? 0 : kSharedWindow;
    uint64_t mapped = 0;
    if (rank >= size) {
      warp.Report(inst, FindingKind::kOutOfBounds, lane,
                  fmt::format("rank {} of a cluster of {} blocks", rank, size));
    } else if (SharedAddress(warp, inst, lane, &address)) {
      mapped = window + ((address & (kSharedPeers - 1)) | (rank + 1) << kRankShift);
    }
    warp.SetBits(inst[0], lane, mapped);
  });
  return Step::kNext;
}

Step Getctarank(Warp& warp, const Inst& inst) {
  ForLanes(warp.mask(), [&](int lane) {
    uint64_t address = warp.Bits(inst[1], lane);
    uint64_t rank = 0;
    if (SharedAddress(warp, inst, lane, &address)) {
      rank = address < kSharedPeers ? warp.block().rank() : (address >> kRankShift) - 1;
    }
    warp.SetBits(inst[0], lane, rank);
  });
  return Step::kNext;
}

}  // namespace

PTX_BIND(ClusterArrive) { return &ArriveAtCluster; }
PTX_BIND(ClusterWait) { return &WaitForCluster; }
PTX_BIND(Mapa) { return &Mapa; }
PTX_BIND(Getctarank) { return &Getctarank; }

}  // namespace tarsia::ptx
