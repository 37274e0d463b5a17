// A warp at run time: 32 lanes that execute instructions together. It has the loop and what
// instructions read and write; the parts have the rest. Handlers of instructions see this.
#ifndef TARSIA_PTX_MACHINE_WARP_H_
#define TARSIA_PTX_MACHINE_WARP_H_

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/machine/bulk_groups.h"
#include "ptx/machine/cp_async.h"
#include "ptx/machine/divergence.h"
#include "ptx/machine/frames.h"
#include "ptx/machine/race_probe.h"
#include "ptx/machine/undefined_bits.h"
#include "ptx/machine/warp_memory.h"
#include "ptx/machine/wgmma_state.h"
#include "ptx/memory/image.h"
#include "ptx/table/code.h"
#include "ptx/table/findings.h"
#include "ptx/table/lanes.h"

namespace tarsia::ptx {

class Block;
class Counter;
struct LaunchContext;

class Warp {
 public:
  Warp(Block* block, uint32_t number, uint32_t lanes);
  Warp(const Warp&) = delete;
  Warp& operator=(const Warp&) = delete;

  // Runs until every split waits or has ended, or about `budget` instructions. Returns how many
  // instructions ran.
  uint64_t Run(uint64_t budget);

  [[nodiscard]] bool Done() const { return divergence_.Done(); }
  [[nodiscard]] uint32_t number() const { return number_; }
  [[nodiscard]] Block& block() { return *block_; }
  [[nodiscard]] LaunchContext& launch() const;
  [[nodiscard]] Dim3 ThreadOf(int lane) const;
  // Whether the launch looks for findings.
  [[nodiscard]] bool checking() const { return checking_; }

  // ---- parts -------------------------------------------------------------------------------
  [[nodiscard]] Divergence& divergence() { return divergence_; }
  [[nodiscard]] Frames& frames() { return frames_; }
  [[nodiscard]] WarpMemory& memory() { return memory_; }
  [[nodiscard]] RaceProbe& races() { return races_; }
  [[nodiscard]] UndefinedBits& undefined() { return undefined_; }
  [[nodiscard]] const UndefinedBits& undefined() const { return undefined_; }
  // The asynchronous work of a lane, and of the warp.
  [[nodiscard]] CpAsyncState& async(int lane) { return async_[static_cast<size_t>(lane)]; }
  [[nodiscard]] BulkGroups& bulk(int lane);
  [[nodiscard]] WgmmaState& wgmma() { return wgmma_; }

  // ---- the instruction that runs -----------------------------------------------------------
  // Lanes that execute it: the split's, without those whose guard does not hold.
  [[nodiscard]] uint32_t mask() const { return mask_; }
  void SetMask(uint32_t mask) { mask_ = mask; }
  [[nodiscard]] Frame& frame() { return *frame_; }
  [[nodiscard]] const Inst& CurrentInst() { return frame_->function->code[divergence_.split().pc]; }
  // How many instructions the warp has run.
  [[nodiscard]] uint64_t clock() const { return clock_; }
  // Lanes whose last .cc instruction carried (or borrowed).
  [[nodiscard]] uint32_t& carry() { return carry_; }

  // ---- operands ----------------------------------------------------------------------------
  [[nodiscard]] const uint8_t* Values(const Operand& operand) const {
    return values_[operand.bank] + operand.offset;
  }
  [[nodiscard]] uint8_t* Dest(const Operand& operand) {
    return frame_->values.data() + operand.offset;
  }
  template <typename T>
  [[nodiscard]] T Get(const Operand& operand, int lane) const {
    return LoadLane<T>(Values(operand), lane);
  }
  // The lanes of a predicate, negated if the operand says so.
  [[nodiscard]] uint32_t Predicate(const Operand& operand) const {
    const auto lanes = LoadLane<uint32_t>(Values(operand), 0);
    return operand.negated ? ~lanes : lanes;
  }
  // Sets the predicate of the executing lanes.
  void SetPredicate(const Operand& operand, uint32_t lanes) {
    uint8_t* at = Dest(operand);
    StoreLane(at, 0, (LoadLane<uint32_t>(at, 0) & ~mask_) | (lanes & mask_));
  }
  // A lane of any width up to 64 bits.
  [[nodiscard]] uint64_t Bits(const Operand& operand, int lane) const;
  void SetBits(const Operand& operand, int lane, uint64_t bits);
  [[nodiscard]] uint64_t Address(const Operand& operand, int lane) const {
    const uint64_t base =
        operand.bytes == 4 ? Get<uint32_t>(operand, lane) : Get<uint64_t>(operand, lane);
    return base + static_cast<uint64_t>(operand.addend);
  }
  // Gives lanes that have waited in a frame the result of barrier.red.
  void FinishReduction(const Inst& inst, Frame* frame, uint32_t mask, uint32_t value);

  // ---- findings ----------------------------------------------------------------------------
  void Report(const Inst& inst, FindingKind kind, int lane, std::string message,
              Severity severity = Severity::kCertain);
  // The same in two steps.
  [[nodiscard]] Finding MakeFinding(const Inst& inst, FindingKind kind, int lane,
                                    std::string message) const;
  void AddFinding(Finding finding, int lane);

 private:
  bool PickSplit();
  // How many instructions ran, and how many of threads.
  struct Ran {
    uint64_t instructions = 0;
    uint64_t threads = 0;
  };
  // Runs the current split until it ends, waits or polls, or the most instructions ran.
  Ran RunSplit(uint64_t most, Counter* counter);
  Step RunCounted(const Inst& inst, Counter* counter);
  void Enter(Frame* frame);
  uint32_t Guard(const Inst& inst);

  Block* block_;
  uint32_t number_;
  uint32_t mask_ = 0;
  const uint8_t* values_[2] = {};
  Frame* frame_ = nullptr;
  const bool checking_;
  uint64_t clock_ = 0;
  uint32_t carry_ = 0;
  Divergence divergence_;
  Frames frames_;
  UndefinedBits undefined_;
  RaceProbe races_;
  WarpMemory memory_;
  std::vector<CpAsyncState> async_;  // by lane
  std::vector<BulkGroups> bulk_;     // by lane; empty until one is used
  WgmmaState wgmma_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_WARP_H_
