// What the four warps of a warpgroup do together: each notes the instructions for warpgroups that
// it executes, which have to be the same in all four, and all share the block's pool of registers.
#ifndef TARSIA_PTX_MACHINE_WARPGROUP_H_
#define TARSIA_PTX_MACHINE_WARPGROUP_H_

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "ptx/table/code.h"

namespace tarsia::ptx {

class Block;
class Warp;
struct Split;

inline constexpr uint32_t kWarpgroupWarps = 4;

// An execution of an instruction for a warpgroup.
struct WarpgroupStep {
  const Inst* inst = nullptr;
  std::array<uint64_t, 3> values{};  // of operands that have to be the same in all warps
};

// The executions that not all four warps have come to, in their order.
class WarpgroupLog {
 public:
  // The warp of this rank executes `step`. What another executed in its place, if that differs.
  std::optional<WarpgroupStep> Note(uint32_t rank, const WarpgroupStep& step);
  // The first step of others that a warp never came to; null if there is none.
  [[nodiscard]] const WarpgroupStep* LeftOut(uint32_t rank) const;

 private:
  std::array<uint64_t, kWarpgroupWarps> next_{};
  uint64_t first_ = 0;  // the number of steps_.front()
  std::deque<WarpgroupStep> steps_;
  bool differs_ = false;  // said once
};

// The registers that a block's warps have given back by setmaxnreg and others take.
class RegisterPool {
 public:
  // `registers` a thread at the start; 0: unknown, nothing is checked.
  RegisterPool(uint32_t registers, uint32_t warps) : held_(warps, registers) {}

  [[nodiscard]] bool known() const { return !held_.empty() && held_[0] != 0; }
  [[nodiscard]] uint32_t HeldBy(uint32_t warp) const { return held_[warp]; }
  [[nodiscard]] uint64_t free() const { return free_; }
  // Changes what each thread of a warp holds; false if there is too little.
  bool Resize(uint32_t warp, uint32_t registers);
  // A warp waits until there is enough for it.
  void Wait(Warp* warp, Split* split, uint32_t registers) {
    waiters_.push_back({warp, split, registers});
  }
  // Lets those go on for which there is enough now.
  void Serve();

 private:
  struct Waiter {
    Warp* warp = nullptr;
    Split* split = nullptr;
    uint32_t registers = 0;
  };
  std::vector<uint32_t> held_;  // by warp: of a thread
  uint64_t free_ = 0;           // of 32 threads
  std::vector<Waiter> waiters_;
};

// A warp executes an instruction for its whole warpgroup: reports what is not together.
void NoteWarpgroup(Warp& warp, const WarpgroupStep& step);
// At the end of a block: reports warps that left out what others of their warpgroup executed.
void ReportLeftOut(Block& block);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_WARPGROUP_H_
