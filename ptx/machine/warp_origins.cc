// Where undefined bits of a warp's registers and of what it reads come from, and their reports.
#include "ptx/machine/block.h"
#include "ptx/machine/cluster.h"
#include "ptx/machine/warp.h"

namespace tarsia::ptx {

Origin Warp::OriginOf(const Operand& operand, int lane) const {
  if (operand.bank != 0 || frame_->origins.empty()) return {};
  return frame_->origins[size_t{operand.flag} * kLanes + static_cast<size_t>(lane)];
}

Origin Warp::OriginOfResult(const Inst& inst, int lane) const {
  const auto of = [&](const Operand& source, int at) {
    const Origin origin = OriginOf(source, at);
    return origin.none() ? Origin::Of(inst) : origin;  // the first to read it
  };
  for (const Operand& source : inst.operands) {
    if (!source.dest && (UndefLanes(source) >> lane & 1) != 0) return of(source, lane);
  }
  for (const Operand& source : inst.operands) {
    if (source.dest) continue;
    const uint32_t lanes = UndefLanes(source) & mask_;
    if (lanes != 0) return of(source, std::countr_zero(lanes));
  }
  return Origin::Of(inst);
}

Origin Warp::OriginOfLoad(const Inst& inst, Space space, int lane, uint64_t address,
                          uint64_t bytes) const {
  space = Narrow(space, &address);
  Origin origin;
  if (space == Space::kShared) {
    origin = OwnerOf(address).origins().Find(0, address & (kSharedPeers - 1), bytes);
  }
  if (space == Space::kLocal) {
    origin = origins_.Find(lane, address, bytes);
    for (const Frame* frame = frame_; frame != nullptr && origin.none(); frame = frame->caller) {
      for (const FrameSlot& slot : frame->function->frame_slots) {
        const uint64_t at = address - frame->local_base;
        if (at - slot.offset < slot.bytes) origin = Origin::OfVariable(slot.variable);
      }
    }
  }
  return origin.none() ? Origin::Of(inst) : origin;
}

void Warp::NoteUndefStore(const Inst& inst, const Operand& source, Space space, int lane,
                          uint64_t address, uint64_t bytes) {
  if (!checking_ || (UndefLanes(source) >> lane & 1) == 0) return;
  const Origin known = OriginOf(source, lane);
  const Origin origin = known.none() ? Origin::Of(inst) : known;
  space = Narrow(space, &address);
  if (space == Space::kShared) {
    OwnerOf(address).origins().Set(0, address & (kSharedPeers - 1), bytes, origin);
  }
  if (space == Space::kLocal) origins_.Set(lane, address, bytes, origin);
}

void Warp::NoteAlloca(const Inst& inst, int lane, uint64_t address, uint64_t bytes) {
  if (checking_) origins_.Set(lane, address, bytes, Origin::Of(inst));
}

void Warp::ReportUndefined(const Inst& inst, int lane, std::string message, Origin origin) {
  Finding finding = MakeFinding(inst, FindingKind::kUninitialised, lane, std::move(message));
  origin.Describe(launch().image->module(), &finding);
  AddFinding(std::move(finding), lane);
}

void Warp::NeedDefinedStore(const Inst& inst, const Operand& source, int lane, int bytes) {
  if ((Undef(source, lane) & AllBits(bytes)) == 0) return;
  const Origin origin = OriginOf(source, lane);
  ReportUndefined(inst, lane, "stores bits to global memory that were never written",
                  origin.none() ? Origin::Of(inst) : origin);
  SetUndef(source, lane, 0, Origin());
}

}  // namespace tarsia::ptx
