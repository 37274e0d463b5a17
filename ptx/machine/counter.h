// Counts while a launch runs (counts.h). A thread of the host has a counter of its own while it
// runs a block, so that counting needs no locks. The inside of emulator.h.
#ifndef TARSIA_PTX_MACHINE_COUNTER_H_
#define TARSIA_PTX_MACHINE_COUNTER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "ptx/count/counts.h"
#include "ptx/parse/module.h"

namespace tarsia::ptx {

// How an instruction is counted, apart from its executions. Found once, before the launch.
struct CountPlan {
  enum class Access : uint8_t { kNone, kLoad, kStore, kAtomic, kCopy, kLoadMatrix, kStoreMatrix };
  Access access = Access::kNone;
  bool barrier = false;
  int address = 0;                 // place of the operand
  uint32_t bytes = 0;              // that a lane touches; of kCopy its operand says it
  uint32_t matrices = 0;           // of kLoadMatrix and kStoreMatrix
  uint64_t tensor_operations = 0;  // of a warp
};
CountPlan PlanCounts(const Inst& inst);

// The plans of a module, by function and instruction.
using CountPlans = std::vector<std::vector<CountPlan>>;
CountPlans PlanCounts(const Module& module);

class Counter {
 public:
  explicit Counter(const CountPlans* plans) : plans_(plans), counts_(plans->size()) {}

  // Before an instruction runs in the lanes of warp.mask(): its operands say what memory it
  // touches.
  void CountAccess(Warp& warp, const Inst& inst);
  // When it has run, in as many lanes, which is once even if it waited for others.
  void CountExecution(uint32_t function, size_t number, int lanes);
  // The numbers of an instruction that the warp executes.
  Counts& At(Warp& warp, const Inst& inst);
  void AddTo(const Module& module, std::vector<InstructionCounts>* all) const;

 private:
  Counts& At(uint32_t function, size_t number);

  const CountPlans* plans_;
  std::vector<std::vector<Counts>> counts_;  // by function and instruction; empty if none ran
};

// The counters of a launch, as many as run at once.
class CounterPool {
 public:
  // Counts from now on.
  void Start(const Module& module);
  // One more counter, for the caller alone; null in a launch that does not count.
  Counter* Add();
  // All that was counted; call when nothing runs.
  [[nodiscard]] LaunchCounts Sum() const;

 private:
  const Module* module_ = nullptr;
  CountPlans plans_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Counter>> all_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_COUNTER_H_
