// The memory of a launch: what its blocks share, and for each thread that runs blocks their tiles.
// It is made for the first launch of a plan and serves those that follow, so that they allocate
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

// What one thread runs blocks with.
struct BlockRunner {
  explicit BlockRunner(LaunchState& launch);
  BlockState block;
  Agent agent;
  host::HostScratch scratch;
};

// For one launch at a time.
class LaunchContext {
 public:
  explicit LaunchContext(const Plan& plan);

  // Readies it for a launch of so many blocks. Returns how many threads may run them: all that
  // there is memory for, but at least one, for want of which std::bad_alloc is thrown.
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
  // As many launches of one plan at once find their memory again.
  static constexpr size_t kKept = 32;

  LaunchContexts() = default;
  LaunchContexts(const LaunchContexts&) = delete;
  LaunchContexts& operator=(const LaunchContexts&) = delete;
  ~LaunchContexts();

  std::unique_ptr<LaunchContext> Take(const Plan& plan);
  // Keeps it for another launch, or drops it.
  void Return(std::unique_ptr<LaunchContext> context);

  // How long a block took in an earlier launch, in nanoseconds; 0: not known.
  std::atomic<uint64_t> block_time{0};

 private:
  std::array<std::atomic<LaunchContext*>, kKept> contexts_{};
};

}  // namespace tarsia::vm

#endif  // TARSIA_VM_LAUNCH_CONTEXT_H_
