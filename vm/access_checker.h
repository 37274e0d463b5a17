// Checks an agent's memory accesses for `--check`: reads of bytes that were never written, races,
// and asynchronous copies, whose bytes arrive at the wait.
#ifndef TARSIA_VM_ACCESS_CHECKER_H_
#define TARSIA_VM_ACCESS_CHECKER_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "vm/block_state.h"
#include "vm/memory_view.h"
#include "vm/plan.h"
#include "vm/shadow.h"

namespace tarsia::vm {

// An asynchronous copy that has been started and not delivered.
struct PendingCopy {
  const PlannedInst* inst = nullptr;
  MemoryView target;
  Box box;
  std::vector<uint8_t> data;
  uint64_t group = 0;
};

// The checker of one agent. Reports to the launch.
class AccessChecker {
 public:
  enum class Access : uint8_t { kRead, kWrite, kAtomic, kAtomicRead, kNone };

  explicit AccessChecker(BlockState& block) : block_(block) {}
  // Forgets the copies of the previous block.
  void Begin();
  // Before each instruction, on the only thread of a launch with checks.
  void Step() { stamp_ = ++block_.launch.next_stamp; }

  void Check(const PlannedInst& inst, const MemoryView& view, const Box& box, Access access);
  void StartCopy(PendingCopy copy);
  void CommitCopies() { ++open_group_; }
  void WaitForCopies(int64_t pending);
  // Accesses of this block before its current interval are over for those who acquire the semaphore
  // later; what was released to the semaphore is over for this block.
  void Release(const uint8_t* semaphore);
  void Acquire(const uint8_t* semaphore);
  // `griddep.wait` has been executed.
  void WaitForGrids() { waited_for_grids_ = true; }

 private:
  [[nodiscard]] Accessor Me(const PlannedInst& inst) const;
  // The kernel writes the memory, and an earlier one may still use it.
  void ReportEarly(const PlannedInst& inst, const MemoryView& view, Access access);
  void Report(const PlannedInst& inst, const MemoryView& view, FindingKind kind,
              const Accessor& other);

  BlockState& block_;
  uint32_t stamp_ = 0;
  std::deque<PendingCopy> copies_;
  uint64_t open_group_ = 0;
  BlockClock known_;
  bool waited_for_grids_ = false;
};

}  // namespace tarsia::vm

#endif  // TARSIA_VM_ACCESS_CHECKER_H_
