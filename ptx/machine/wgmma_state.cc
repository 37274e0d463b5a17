#include "ptx/machine/wgmma_state.h"

#include <bit>

#include "ptx/machine/warp.h"
#include "ptx/table/bind.h"

namespace tarsia::ptx {
namespace {

void Report(Warp& warp, const Inst& inst, std::string message) {
  warp.Report(inst, FindingKind::kWgmma, std::countr_zero(warp.mask()), std::move(message));
}

void ReportTouched(Warp& warp, const Inst& inst, const RegisterMark& mark, std::string_view verb) {
  uint32_t line = 0;
  for (const WgmmaState::Group& group : warp.wgmma().pending) {
    if (group.number == mark.group) line = group.inst->location.line;
  }
  Report(warp, inst,
         fmt::format("{} a register of {} that the wgmma of line {} has in flight: its group has "
                     "not been waited for",
                     verb, mark.shape != 0 ? "the accumulator" : "matrix A", line));
}

// mov, of one register or of several that make a whole.
void CopyMarks(Warp& warp, const Inst& inst) {
  const WgmmaState& state = warp.wgmma();
  std::vector<RegisterMark>& marks = warp.frame().marks;
  RegisterMark moved;
  bool any = false;
  for (const Operand& source : inst.At(1)) {
    if (source.bank != 0) continue;
    const RegisterMark& mark = marks[source.flag];
    if (!any || mark.group > moved.group) {
      moved.group = mark.group;
      moved.shape = mark.shape;
    }
    moved.written = std::max(moved.written, mark.written);
    any = true;
  }
  if (!any) moved.written = state.fences;
  for (const Operand& dest : inst.At(0)) {
    RegisterMark& mark = marks[dest.flag];
    if (state.InFlight(mark) && !state.InFlight(moved)) ReportTouched(warp, inst, mark, "writes");
    mark = moved;
  }
}

void TouchRegisters(Warp& warp, const Inst& inst) {
  const WgmmaState& state = warp.wgmma();
  std::vector<RegisterMark>& marks = warp.frame().marks;
  for (const Operand& operand : inst.operands) {
    if (operand.bank != 0) continue;
    RegisterMark& mark = marks[operand.flag];
    if (state.InFlight(mark)) {
      ReportTouched(warp, inst, mark, operand.dest ? "writes" : "reads");
    }
    if (operand.dest) mark = {0, state.fences, 0};
  }
}

// A warp ends, and nobody has waited for its last groups.
void CheckPending(Warp& warp, const Inst& inst) {
  WgmmaState& state = warp.wgmma();
  if (state.pending.empty() || warp.mask() != warp.live()) return;
  const Inst& first = *state.pending.front().inst;
  Report(warp, inst,
         fmt::format("the warp ends, and the group of the wgmma of line {} was never {}",
                     first.location.line,
                     state.pending.front().number == state.open ? "committed" : "waited for"));
  state.pending.clear();
}

void CheckFence(Warp& warp, const Inst& inst, const RegisterMark& mark, std::string_view what) {
  const WgmmaState& state = warp.wgmma();
  if (mark.written == state.fences) {
    Report(warp, inst,
           fmt::format("{} was written after the last wgmma.fence: one has to come between", what));
  } else if (state.fences == 1) {
    Report(warp, inst, "a wgmma.fence has to come before the first wgmma");
  }
}

}  // namespace

Step RunWatched(Warp& warp, const Inst& inst) {
  if (inst.op == Op::kMov) {
    CopyMarks(warp, inst);
  } else if (inst.op == Op::kExit || (inst.op == Op::kRet && warp.frame().caller == nullptr)) {
    CheckPending(warp, inst);
  } else {
    TouchRegisters(warp, inst);
  }
  return inst.watched(warp, inst);
}

void UseAccumulators(Warp& warp, const Inst& inst, std::span<const Operand> registers,
                     uint32_t shape) {
  const WgmmaState& state = warp.wgmma();
  std::vector<RegisterMark>& marks = warp.frame().marks;
  for (const Operand& operand : registers) {
    RegisterMark& mark = marks[operand.flag];
    if (state.InFlight(mark) && mark.shape != shape) {
      ReportTouched(warp, inst, mark, "accumulates, in another shape, into");
    }
    CheckFence(warp, inst, mark, "the accumulator");
    mark = {state.open, 0, shape};
  }
}

void UseFragments(Warp& warp, const Inst& inst, std::span<const Operand> registers) {
  const WgmmaState& state = warp.wgmma();
  std::vector<RegisterMark>& marks = warp.frame().marks;
  for (const Operand& operand : registers) {
    if (operand.bank != 0) continue;
    RegisterMark& mark = marks[operand.flag];
    if (state.InFlight(mark) && mark.shape != 0)
      ReportTouched(warp, inst, mark, "takes as matrix A");
    CheckFence(warp, inst, mark, "a register of matrix A");
    mark.group = state.open;
    mark.shape = 0;
  }
}

}  // namespace tarsia::ptx
