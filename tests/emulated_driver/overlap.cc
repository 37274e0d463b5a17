#include "tests/emulated_driver/overlap.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace tarsia::emulated {
namespace {

using namespace tarsia::cuda;

// Two threads, one of which runs at a time: that of the primary kernel, until it lets the other one
// run.
class Baton {
 public:
  // Called by the primary: hands over, and continues when the other waits or has ended.
  void LetSecondaryRun() {
    std::unique_lock lock(mutex_);
    secondary_runs_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !secondary_runs_; });
  }
  // Called by the secondary: continues when the primary hands over.
  void AwaitTurn() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return secondary_runs_; });
  }
  // Called by the secondary: hands over.
  void LetPrimaryRun() {
    const std::lock_guard lock(mutex_);
    secondary_runs_ = false;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool secondary_runs_ = false;
};

CuResult Run(std::span<const KernelAction> kernels, const std::function<void()>& wait) {
  Overlap overlap;
  overlap.dependency_wait = wait;
  if (kernels.size() == 1) return kernels[0](overlap);
  Baton baton;
  std::thread secondary;
  CuResult after = kSuccess;
  bool ended = false;
  overlap.dependents_may_start = [&] {
    secondary = std::thread([&] {
      baton.AwaitTurn();
      bool waited = false;
      after = Run(kernels.subspan(1), [&baton, &waited] {
        if (std::exchange(waited, true)) return;
        baton.LetPrimaryRun();
        baton.AwaitTurn();
      });
      ended = true;
      baton.LetPrimaryRun();
    });
    baton.LetSecondaryRun();
  };
  // A kernel ends only after the earlier ones.
  const CuResult own = kernels[0](overlap);
  if (wait) wait();
  if (!secondary.joinable()) return own;
  if (!ended) baton.LetSecondaryRun();
  secondary.join();
  return own != kSuccess ? own : after;
}

}  // namespace

CuResult RunOverlapped(std::span<const KernelAction> kernels) { return Run(kernels, nullptr); }

}  // namespace tarsia::emulated
