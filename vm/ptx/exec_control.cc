// Branches, calls and ends.
#include "vm/ptx/block.h"
#include "vm/ptx/builtins.h"
#include "vm/ptx/exec.h"

namespace tarsia::ptx {

PTX_BIND(Bra) {
  return [](Warp& warp, const Inst& i) { return warp.Branch(i, warp.mask()); };
}

PTX_BIND(Brx) {
  return [](Warp& warp, const Inst& i) {
    warp.NeedDefined(i, i.operands[0], "the target of the branch");
    const std::vector<uint32_t>& table = warp.frame().function->tables[i.table];
    uint32_t targets[kLanes];
    const uint32_t next = warp.split().pc + 1;
    for (int lane = 0; lane < kLanes; ++lane) targets[lane] = next;
    bool good = true;
    ForLanes(warp.mask(), [&](int lane) {
      const auto index = warp.Get<uint32_t>(i.operands[0], lane);
      if (index < table.size()) {
        targets[lane] = table[index];
        return;
      }
      good = false;
      warp.Report(i, FindingKind::kOutOfBounds, lane,
                  fmt::format("index {} of {} targets", index, table.size()));
    });
    if (!good) {
      warp.launch().stop.store(true);
      return Step::kMoved;
    }
    return warp.BranchMany(i, targets);
  };
}

PTX_BIND(Call) {
  return [](Warp& warp, const Inst& i) {
    const CallSite& site = warp.frame().function->calls[i.table];
    const Function& callee = warp.launch().image->module().functions[site.function];
    switch (callee.builtin) {
      case Builtin::kNone:
        return warp.Call(i);
      case Builtin::kVprintf:
        return Vprintf(warp, i, site);
      case Builtin::kAssertFail:
        return AssertFail(warp, i, site);
    }
    return Step::kNext;
  };
}

PTX_BIND(Ret) {
  return [](Warp& warp, const Inst&) { return warp.Return(); };
}

PTX_BIND(Exit) {
  return [](Warp& warp, const Inst&) { return warp.Exit(warp.mask()); };
}

PTX_BIND(Trap) {
  return [](Warp& warp, const Inst& i) {
    warp.Report(i, FindingKind::kTrap, std::countr_zero(warp.mask()), "trap");
    warp.launch().stop.store(true);
    return Step::kMoved;
  };
}

PTX_BIND(Brkpt) {
  return [](Warp&, const Inst&) { return Step::kNext; };
}

}  // namespace tarsia::ptx
