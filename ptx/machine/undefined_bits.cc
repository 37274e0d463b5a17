#include "ptx/machine/undefined_bits.h"

#include <bit>

#include "ptx/machine/block.h"
#include "ptx/machine/cluster.h"
#include "ptx/machine/warp.h"

namespace tarsia::ptx {
namespace {

// The first to read what nobody wrote is its origin.
Origin OrReader(Origin origin, const Inst& inst) {
  return origin.none() ? Origin::Of(inst) : origin;
}

}  // namespace

UndefinedBits::UndefinedBits(Warp* warp) : warp_(*warp), checking_(warp->checking()) {}

// ---- registers -------------------------------------------------------------------------------

uint64_t UndefinedBits::Bits(const Operand& operand, int lane) const {
  if ((Lanes(operand) >> lane & 1) == 0) return 0;
  const uint8_t* at = banks_[operand.bank] + operand.offset;
  const uint64_t low = LoadLaneBits(at, operand.bytes, lane);
  return operand.bytes <= 8 ? low : low | LoadLane<uint64_t>(at, lane * 2 + 1);
}

void UndefinedBits::Set(const Operand& operand, int lane, uint64_t bits) {
  if (bits == 0) return Set(operand, lane, 0, Origin());
  if (checking_) Set(operand, lane, bits, OriginOfResult(warp_.CurrentInst(), lane));
}

void UndefinedBits::Set(const Operand& operand, int lane, uint64_t bits, Origin origin) {
  if (!checking_) return;
  uint8_t* at = frame_->undef.data() + operand.offset;
  StoreLaneBits(at, operand.bytes, lane, bits);
  if (operand.bytes == 16 && bits != 0) StoreLane(at, lane * 2 + 1, ~uint64_t{0});
  uint32_t& lanes = frame_->undef_lanes[operand.flag];
  const uint32_t bit = uint32_t{1} << lane;
  lanes = bits != 0 ? lanes | bit : lanes & ~bit;
  frame_->load_sources.Forget(operand.flag, lane);
  if (bits == 0) return;
  if (frame_->origins.empty()) frame_->origins.resize(frame_->undef_lanes.size() * kLanes);
  frame_->origins[size_t{operand.flag} * kLanes + static_cast<size_t>(lane)] = origin;
}

bool UndefinedBits::AreThoseAt(const Operand& operand, int lane, uint64_t address) const {
  if (Bits(operand, lane) == 0) return true;
  const LoadSource* source = LoadSourceOf(operand, lane);
  return source != nullptr && source->first == address * 8;
}

void UndefinedBits::Propagate(const Inst& inst, uint32_t mask, uint32_t sources, uint32_t dests) {
  if ((sources & mask) != 0) return PropagateUndef(warp_, inst, (sources | dests) & mask);
  for (const Operand& operand : inst.operands) {
    if (operand.dest && operand.bank == 0) Clear(operand, mask);
  }
}

// ---- findings --------------------------------------------------------------------------------

void UndefinedBits::Require(const Inst& inst, const Operand& operand, std::string_view what) {
  const uint32_t lanes = Lanes(operand) & warp_.mask();
  if (lanes == 0) return;
  const int first = std::countr_zero(lanes);
  Report(inst, first, fmt::format("{} depends on bits that were never written", what),
         OrReader(OriginOf(operand, first), inst));
  frame_->undef_lanes[operand.flag] &= ~lanes;
  const uint64_t now = warp_.clock();
  excused_ = (excused_at_ == now ? excused_ : 0) | lanes;
  excused_at_ = now;
}

bool UndefinedBits::IsExcused(int lane) const {
  return excused_at_ == warp_.clock() && (excused_ >> lane & 1) != 0;
}

void UndefinedBits::RequireStored(const Inst& inst, const Operand& source, int lane, int bytes) {
  if ((Bits(source, lane) & AllBits(bytes)) == 0) return;
  Report(inst, lane, "stores bits to global memory that were never written",
         OrReader(OriginOf(source, lane), inst));
  Set(source, lane, 0, Origin());
}

void UndefinedBits::Report(const Inst& inst, int lane, std::string message, Origin origin) {
  Finding finding = warp_.MakeFinding(inst, FindingKind::kUninitialised, lane, std::move(message));
  origin.Describe(warp_.launch().image->module(), &finding);
  warp_.AddFinding(std::move(finding), lane);
}

// ---- origins ---------------------------------------------------------------------------------

Origin UndefinedBits::OriginOf(const Operand& operand, int lane) const {
  if (operand.bank != 0 || frame_->origins.empty()) return {};
  return frame_->origins[size_t{operand.flag} * kLanes + static_cast<size_t>(lane)];
}

Origin UndefinedBits::OriginOfResult(const Inst& inst, int lane) const {
  for (const Operand& source : inst.operands) {
    const bool undefined = !source.dest && (Lanes(source) >> lane & 1) != 0;
    if (undefined) return OrReader(OriginOf(source, lane), inst);
  }
  for (const Operand& source : inst.operands) {
    const uint32_t lanes = source.dest ? 0 : Lanes(source) & warp_.mask();
    if (lanes != 0) return OrReader(OriginOf(source, std::countr_zero(lanes)), inst);
  }
  return Origin::Of(inst);
}

Origin UndefinedBits::OriginOfLoad(const Inst& inst, Space space, int lane, uint64_t address,
                                   uint64_t bytes) const {
  space = ResolveGeneric(space, &address);
  Origin origin;
  if (space == Space::kShared) {
    Block& owner = warp_.memory().OwnerOf(address);
    origin = owner.origins().Find(0, address & (kSharedPeers - 1), bytes);
  }
  if (space == Space::kLocal) {
    origin = warp_.memory().local().origins().Find(lane, address, bytes);
    for (const Frame* frame = frame_; frame != nullptr && origin.none(); frame = frame->caller) {
      for (const FrameSlot& slot : frame->function->frame_slots) {
        const uint64_t at = address - frame->local_base;
        if (at - slot.offset < slot.bytes) origin = Origin::OfVariable(slot.variable);
      }
    }
  }
  return OrReader(origin, inst);
}

void UndefinedBits::NoteStore(const Inst& inst, const Operand& source, Space space, int lane,
                              uint64_t address, uint64_t bytes) {
  if (!checking_ || (Lanes(source) >> lane & 1) == 0) return;
  const Origin origin = OrReader(OriginOf(source, lane), inst);
  space = ResolveGeneric(space, &address);
  if (space == Space::kShared) {
    Block& owner = warp_.memory().OwnerOf(address);
    owner.origins().Set(0, address & (kSharedPeers - 1), bytes, origin);
  }
  if (space == Space::kLocal) warp_.memory().local().origins().Set(lane, address, bytes, origin);
}

void UndefinedBits::NoteAlloca(const Inst& inst, int lane, uint64_t address, uint64_t bytes) {
  if (checking_) warp_.memory().local().origins().Set(lane, address, bytes, Origin::Of(inst));
}

}  // namespace tarsia::ptx
