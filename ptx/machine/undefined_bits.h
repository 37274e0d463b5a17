// The undefined bits of a warp's registers: which they are, where they come from, and the findings
// about their use.
#ifndef TARSIA_PTX_MACHINE_UNDEFINED_BITS_H_
#define TARSIA_PTX_MACHINE_UNDEFINED_BITS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "ptx/machine/frames.h"
#include "ptx/memory/load_source.h"
#include "ptx/memory/origin.h"
#include "ptx/table/code.h"

namespace tarsia::ptx {

class Warp;

class UndefinedBits {
 public:
  // The warp must outlive this.
  explicit UndefinedBits(Warp* warp);

  // The frame of the lanes that execute.
  void Enter(Frame* frame) {
    frame_ = frame;
    banks_[0] = frame->undef.data();
    banks_[1] = frame->zeros;
  }

  // ---- registers ---------------------------------------------------------------------------
  // The lanes in which an operand has undefined bits.
  [[nodiscard]] uint32_t Lanes(const Operand& operand) const {
    return operand.bank != 0 ? 0 : frame_->undef_lanes[operand.flag];
  }
  [[nodiscard]] uint64_t Bits(const Operand& operand, int lane) const;
  // Sets the undefined bits of a lane. Unless their origin is given, it is that of the sources of
  // the instruction, or the instruction itself.
  void Set(const Operand& operand, int lane, uint64_t bits);
  void Set(const Operand& operand, int lane, uint64_t bits, Origin origin);
  // Makes a destination defined in some lanes.
  void Clear(const Operand& operand, uint32_t lanes) {
    frame_->undef_lanes[operand.flag] &= ~lanes;
  }
  // Where a lane's undefined bits were loaded from; null if they were not loaded, or have changed.
  [[nodiscard]] const LoadSource* LoadSourceOf(const Operand& operand, int lane) const {
    return operand.bank != 0 ? nullptr : frame_->load_sources.Find(operand.flag, lane);
  }
  // To be called after Set.
  void SetLoadSource(const Operand& operand, int lane, const LoadSource& source) {
    if (checking_) frame_->load_sources.Set(operand.flag, lane, source);
  }
  // Whether a lane's undefined bits, if it has any, are those of memory at an address.
  [[nodiscard]] bool AreThoseAt(const Operand& operand, int lane, uint64_t address) const;
  // Computes the undefined bits of the destinations in the executing lanes, before the instruction
  // runs.
  void Propagate(const Inst& inst, uint32_t mask) {
    uint32_t sources = 0;
    uint32_t dests = 0;
    for (const Operand& operand : inst.operands) {
      if (operand.bank == 0) (operand.dest ? dests : sources) |= frame_->undef_lanes[operand.flag];
    }
    if (((sources | dests) & mask) != 0) Propagate(inst, mask, sources, dests);
  }

  // ---- findings ----------------------------------------------------------------------------
  // Bits that have been reported count as defined from then on.

  // Reports the executing lanes in which an operand that decides something is undefined.
  void Require(const Inst& inst, const Operand& operand, std::string_view what);
  // Reports undefined bits (among the low `bytes` bytes) of a source that an instruction stores to
  // global memory.
  void RequireStored(const Inst& inst, const Operand& source, int lane, int bytes);
  void Report(const Inst& inst, int lane, std::string message, Origin origin);
  // Whether undefined bits of the current instruction were reported for a lane: whatever else it
  // does wrong there is a consequence.
  [[nodiscard]] bool IsExcused(int lane) const;

  // ---- origins -----------------------------------------------------------------------------
  // Where undefined bits of a lane of a register come from: none if nobody wrote it.
  [[nodiscard]] Origin OriginOf(const Operand& operand, int lane) const;
  // The origin of a lane's result: that of the sources, in this lane first, else the instruction.
  [[nodiscard]] Origin OriginOfResult(const Inst& inst, int lane) const;
  // Where undefined bits that an instruction reads in memory come from.
  [[nodiscard]] Origin OriginOfLoad(const Inst& inst, Space space, int lane, uint64_t address,
                                    uint64_t bytes) const;
  // Notes the origin of undefined bits that are stored in memory, unless that is global.
  void NoteStore(const Inst& inst, const Operand& source, Space space, int lane, uint64_t address,
                 uint64_t bytes);
  // Notes the bytes of an alloca, which nobody has written.
  void NoteAlloca(const Inst& inst, int lane, uint64_t address, uint64_t bytes);

 private:
  // The same for an instruction with undefined bits in some lanes of its sources or destinations.
  void Propagate(const Inst& inst, uint32_t mask, uint32_t sources, uint32_t dests);

  Warp& warp_;
  const bool checking_;
  Frame* frame_ = nullptr;
  const uint8_t* banks_[2] = {};
  uint64_t excused_at_ = 0;  // the warp's clock at the instruction that excused_ is about
  uint32_t excused_ = 0;     // lanes
};

// Undefined bits of the destinations from those of the sources, by the instruction's UndefRule
// (undef.cc).
void PropagateUndef(Warp& warp, const Inst& inst, uint32_t lanes);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_UNDEFINED_BITS_H_
