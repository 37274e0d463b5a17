#include "runtime/weights/parallel.h"

#include <algorithm>
#include <atomic>

#include "support/first_exception.h"
#include "vm/worker_pool.h"

namespace tarsia {
namespace {

class Loop final : public vm::WorkerPool::Job {
 public:
  Loop(int64_t count, const std::function<void(int64_t)>& work) : count_(count), work_(work) {}

  void Help(int /*seat*/) noexcept override {
    while (Step()) {
    }
  }
  // Makes one call; false when there is none left.
  bool Step() noexcept {
    if (stop_.load(std::memory_order_relaxed)) return false;
    const int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= count_) return false;
    try {
      work_(i);
    } catch (...) {
      failure_.Keep();
      stop_.store(true, std::memory_order_relaxed);
    }
    done_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void Stop() { stop_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] int64_t done() const { return done_.load(std::memory_order_relaxed); }
  void Rethrow() { failure_.Rethrow(); }

 private:
  const int64_t count_;
  const std::function<void(int64_t)>& work_;
  std::atomic<int64_t> next_{0};
  std::atomic<int64_t> done_{0};
  std::atomic<bool> stop_{false};
  FirstException failure_;
};

}  // namespace

bool ParallelFor(int64_t count, const std::function<void(int64_t)>& work,
                 const Progress& progress) {
  if (progress && !progress(0, static_cast<uint64_t>(count))) return false;
  Loop loop(count, work);
  bool cancelled = false;
  {
    vm::WorkerPool::Call call(loop);
    const int64_t helpers = std::min<int64_t>(count, vm::HardwareThreads()) - 1;
    if (helpers > 0) call.Make(static_cast<int>(helpers));
    while (loop.Step()) {
      if (progress && !progress(static_cast<uint64_t>(loop.done()), static_cast<uint64_t>(count))) {
        cancelled = true;
        loop.Stop();
      }
    }
  }
  loop.Rethrow();
  return !cancelled;
}

}  // namespace tarsia
