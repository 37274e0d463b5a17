// The state that the blocks of one launch share.
#ifndef TARSIA_VM_LAUNCH_STATE_H_
#define TARSIA_VM_LAUNCH_STATE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "vm/interpreter.h"
#include "vm/plan.h"
#include "vm/shadow.h"

namespace tarsia::vm {

struct FreeMemory {
  void operator()(void* data) const { std::free(data); }
};

// Scratch of alloc.global, made by the first block of a launch that reaches the instruction.
struct GlobalScratch {
  bool ready = false;  // in this launch
  Region region;
  std::shared_ptr<AddressMap> map;
  std::unique_ptr<void, FreeMemory> memory;
  uint64_t room = 0;  // bytes of `memory`
  std::unique_ptr<Shadow> shadow;
};

// Used for one launch after another.
class LaunchState {
 public:
  explicit LaunchState(const Plan& p)
      : plan(p), pointers(p.kernel().params.size()), scratch(p.global.size()) {
    scalars.reserve(p.kernel().params.size());
  }
  // Begins and ends a launch. `o` must live until the end.
  void Begin(const LaunchOptions& o);
  void End();

  [[nodiscard]] const LaunchOptions& options() const { return *options_; }

  const Plan& plan;
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::vector<Region> pointers;   // by parameter
  std::vector<uint64_t> scalars;  // by parameter
  std::vector<std::unique_ptr<Shadow>> shadows;

  std::mutex mutex;  // guards `scratch` and the sinks
  std::vector<GlobalScratch> scratch;
  std::atomic<uint64_t> budget_used{0};
  // The lowest block that failed: blocks above it can stop.
  std::atomic<int64_t> failed_block{INT64_MAX};

  // Whether a block can stop. Checks from time to time whether the launch was cancelled.
  bool Stops(int64_t block) {
    StopCheck* const stop = options_->stop;
    if (stop != nullptr && stop->Ask() != StopReason::kNone) failed_block.store(-1);
    return failed_block.load(std::memory_order_relaxed) < block;
  }

  // By thread: the blocks below are done there, or will not run there.
  std::deque<std::atomic<int64_t>> first_unfinished;
  // Whether all blocks of lower linear index are done.
  [[nodiscard]] bool AllDoneBelow(int64_t block) const {
    return std::none_of(first_unfinished.begin(), first_unfinished.end(),
                        [block](const auto& first) { return first.load() < block; });
  }

  // Used only with --check, on one thread.
  void Report(const DiagInfo& info, const PlannedInst& at, const PlannedInst* other,
              const std::array<int64_t, 3>& block, Diagnostic diagnostic);
  std::vector<launch::Finding> TakeFindings();
  uint32_t next_stamp = 0;
  // By address of a semaphore: what those who lock it have seen.
  std::map<const uint8_t*, BlockClock> released;

 private:
  const LaunchOptions* options_ = nullptr;
  using Key = std::tuple<const DiagInfo*, const PlannedInst*, const PlannedInst*>;
  std::map<Key, size_t> known_;
  std::vector<launch::Finding> findings_;
};

}  // namespace tarsia::vm

#endif  // TARSIA_VM_LAUNCH_STATE_H_
