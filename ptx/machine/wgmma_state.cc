#include "ptx/machine/wgmma_state.h"

#include <bit>

#include "ptx/machine/warp.h"
#include "ptx/table/bind.h"

namespace tarsia::ptx {
namespace {

void Report(Warp& warp, const Inst& inst, std::string message) {
  warp.Report(inst, FindingKind::kWgmma, std::countr_zero(warp.mask()), std::move(message));
}

void ReportInFlight(Warp& warp, const Inst& inst, const RegisterUse& use, std::string_view verb) {
  uint32_t line = 0;
  for (const WgmmaState::Group& group : warp.wgmma().pending) {
    if (group.number == use.group) line = group.inst->location.line;
  }
  Report(warp, inst,
         fmt::format("{} a register of {} that the wgmma of line {} has in flight: its group has "
                     "not been waited for",
                     verb, use.shape != 0 ? "the accumulator" : "matrix A", line));
}

// mov, of one register or of several that make a whole.
void CopyUses(Warp& warp, const Inst& inst) {
  const WgmmaState& state = warp.wgmma();
  std::vector<RegisterUse>& uses = warp.frame().uses;
  RegisterUse moved;
  bool any = false;
  for (const Operand& source : inst.At(1)) {
    if (source.bank != 0) continue;
    const RegisterUse& use = uses[source.flag];
    if (!any || use.group > moved.group) {
      moved.group = use.group;
      moved.shape = use.shape;
    }
    moved.written = std::max(moved.written, use.written);
    any = true;
  }
  if (!any) moved.written = state.fences;
  for (const Operand& dest : inst.At(0)) {
    RegisterUse& use = uses[dest.flag];
    if (state.InFlight(use) && !state.InFlight(moved)) ReportInFlight(warp, inst, use, "writes");
    use = moved;
  }
}

void TouchRegisters(Warp& warp, const Inst& inst) {
  const WgmmaState& state = warp.wgmma();
  std::vector<RegisterUse>& uses = warp.frame().uses;
  for (const Operand& operand : inst.operands) {
    if (operand.bank != 0) continue;
    RegisterUse& use = uses[operand.flag];
    if (state.InFlight(use)) {
      ReportInFlight(warp, inst, use, operand.dest ? "writes" : "reads");
    }
    if (operand.dest) use = {0, state.fences, 0};
  }
}

// A warp ends, and nobody has waited for its last groups.
void CheckPending(Warp& warp, const Inst& inst) {
  WgmmaState& state = warp.wgmma();
  if (state.pending.empty() || warp.mask() != warp.divergence().live()) return;
  const Inst& first = *state.pending.front().inst;
  Report(warp, inst,
         fmt::format("the warp ends, and the group of the wgmma of line {} was never {}",
                     first.location.line,
                     state.pending.front().number == state.open ? "committed" : "waited for"));
  state.pending.clear();
}

void CheckFence(Warp& warp, const Inst& inst, const RegisterUse& use, std::string_view what) {
  const WgmmaState& state = warp.wgmma();
  if (use.written == state.fences) {
    Report(warp, inst,
           fmt::format("{} was written after the last wgmma.fence: one has to come between", what));
  } else if (state.fences == 1) {
    Report(warp, inst, "a wgmma.fence has to come before the first wgmma");
  }
}

}  // namespace

Step RunWgmmaChecked(Warp& warp, const Inst& inst) {
  if (inst.op == Op::kMov) {
    CopyUses(warp, inst);
  } else if (inst.op == Op::kExit || (inst.op == Op::kRet && warp.frame().caller == nullptr)) {
    CheckPending(warp, inst);
  } else {
    TouchRegisters(warp, inst);
  }
  return inst.wgmma_checked(warp, inst);
}

void UseAccumulators(Warp& warp, const Inst& inst, std::span<const Operand> registers,
                     uint32_t shape) {
  const WgmmaState& state = warp.wgmma();
  std::vector<RegisterUse>& uses = warp.frame().uses;
  for (const Operand& operand : registers) {
    RegisterUse& use = uses[operand.flag];
    if (state.InFlight(use) && use.shape != shape) {
      ReportInFlight(warp, inst, use, "accumulates, in another shape, into");
    }
    CheckFence(warp, inst, use, "the accumulator");
    use = {state.open, 0, shape};
  }
}

void UseFragments(Warp& warp, const Inst& inst, std::span<const Operand> registers) {
  const WgmmaState& state = warp.wgmma();
  std::vector<RegisterUse>& uses = warp.frame().uses;
  for (const Operand& operand : registers) {
    if (operand.bank != 0) continue;
    RegisterUse& use = uses[operand.flag];
    if (state.InFlight(use) && use.shape != 0) ReportInFlight(warp, inst, use, "takes as matrix A");
    CheckFence(warp, inst, use, "a register of matrix A");
    use.group = state.open;
    use.shape = 0;
  }
}

}  // namespace tarsia::ptx
