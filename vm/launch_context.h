// The memory of a launch: the state that its blocks share, and the tiles of each thread that runs
// blocks. It is made for the first launch of a plan and reused by later ones, so that they allocate
// nothing.
#ifndef TARSIA_VM_LAUNCH_CONTEXT_H_
#define TARSIA_VM_LAUNCH_CONTEXT_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "vm/agent.h"
#include "vm/host/scratch.h"
#include "vm/launch_state.h"

namespace tarsia::vm {

// The state of a thread that runs blocks.
struct BlockRunner {
  explicit BlockRunner(LaunchState& launch);
  BlockState block;
  Agent agent;
  host::HostScratch scratch;
};

// Used by one launch at a time.
class LaunchContext {
 public:
  explicit LaunchContext(const Plan& plan);

  // Prepares it for a launch of this many blocks. Returns the number of threads that there is
  // memory for; throws std::bad_alloc if there is not enough for one.
  int Begin(const LaunchOptions& options, int64_t blocks);
  void End();

  [[nodiscard]] LaunchState& state() { return state_; }
  [[nodiscard]] BlockRunner& runner(int thread) { return *runners_[static_cast<size_t>(thread)]; }

 private:
  LaunchState state_;
  std::vector<std::unique_ptr<BlockRunner>> runners_;
  const uint64_t runner_bytes_;
};

// The contexts of a plan that no launch uses. Thread-safe, and no thread waits for another.
class LaunchContexts {
 public:
  // This many concurrent launches of one plan reuse their memory.
  static constexpr size_t kKept = 32;

  LaunchContexts() = default;
  LaunchContexts(const LaunchContexts&) = delete;
  LaunchContexts& operator=(const LaunchContexts&) = delete;
  ~LaunchContexts();

  std::unique_ptr<LaunchContext> Take(const Plan& plan);
  // Keeps the context for another launch, or destroys it.
  void Return(std::unique_ptr<LaunchContext> context);

  // The time of a block in an earlier launch, in nanoseconds; 0: unknown.
  std::atomic<uint64_t> block_time{0};

 private:
  std::array<std::atomic<LaunchContext*>, kKept> contexts_{};
};

}  // namespace tarsia::vm

#endif  // TARSIA_VM_LAUNCH_CONTEXT_H_
