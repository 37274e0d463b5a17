// Branches, calls and ends.
#include <algorithm>

#include "ptx/exec/builtins.h"
#include "ptx/exec/exec.h"
#include "ptx/machine/block.h"
#include "ptx/parse/function_address.h"

namespace tarsia::ptx {

PTX_BIND(Bra) {
  return [](Warp& warp, const Inst& i) { return warp.divergence().Branch(i, warp.mask()); };
}

PTX_BIND(Brx) {
  return [](Warp& warp, const Inst& i) {
    warp.undefined().Require(i, i.operands[0], "the target of the branch");
    const std::vector<uint32_t>& table = warp.frame().function->tables[i.table];
    uint32_t targets[kLanes];
    const uint32_t next = warp.divergence().split().pc + 1;
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
    return warp.divergence().BranchMany(i, targets);
  };
}

namespace {

// Whether all lanes have the address of a function that takes what the call gives.
bool CanCall(Warp& warp, const Inst& inst, const CallSite& site) {
  warp.undefined().Require(inst, inst.operands[0], "the address of the function");
  const Module& module = warp.launch().image->module();
  bool good = true;
  ForLanes(warp.mask(), [&](int lane) {
    const auto address = warp.Get<uint64_t>(inst.operands[0], lane);
    const uint32_t number = FunctionAt(module, address);
    std::string_view fault;
    if (number == kIndirect) {
      fault = "which is no function";
    } else if (!module.functions[number].errors.empty()) {
      fault = "a function whose text has errors";
    } else if (!site.targets.empty() && std::ranges::count(site.targets, number) == 0) {
      fault = "a function that .calltargets does not name";
    } else if (module.functions[number].params.size() != site.arguments.size() ||
               module.functions[number].results.size() != site.results.size()) {
      fault = "a function with another list of parameters or results";
    }
    if (fault.empty() || !good) return;
    good = false;
    warp.Report(inst, FindingKind::kOutOfBounds, lane,
                fmt::format("calls 0x{:x}, {}", address, fault));
  });
  if (!good) warp.launch().stop.store(true);
  return good;
}

}  // namespace

PTX_BIND(Call) {
  if (!inst.operands.empty()) {
    return [](Warp& warp, const Inst& i) {
      const CallSite& site = warp.frame().function->calls[i.table];
      return CanCall(warp, i, site) ? warp.divergence().Call(i) : Step::kMoved;
    };
  }
  return [](Warp& warp, const Inst& i) {
    const CallSite& site = warp.frame().function->calls[i.table];
    const Function& callee = warp.launch().image->module().functions[site.function];
    switch (callee.builtin) {
      case Builtin::kNone:
        return warp.divergence().Call(i);
      case Builtin::kVprintf:
        return Vprintf(warp, i, site);
      case Builtin::kAssertFail:
        return AssertFail(warp, i, site);
      case Builtin::kMalloc:
        return Malloc(warp, i, site);
      case Builtin::kFree:
        return Free(warp, i, site);
    }
    return Step::kNext;
  };
}

PTX_BIND(Ret) {
  return [](Warp& warp, const Inst&) { return warp.divergence().Return(); };
}

PTX_BIND(Exit) {
  return [](Warp& warp, const Inst&) { return warp.divergence().Exit(warp.mask()); };
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
