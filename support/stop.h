// Cancelling work: because a callback requests it, or because it takes too long.
#ifndef TARSIA_SUPPORT_STOP_H_
#define TARSIA_SUPPORT_STOP_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace tarsia {

enum class StopReason : uint8_t {
  kNone,
  kCancelled,  // the callback requested it
  kTimeLimit,
  kExit,  // the process ends
};

// Checks whether work is to be cancelled. All functions are thread-safe; the callback runs on the
// thread that checks, one call at a time and at most every few milliseconds.
class StopCheck {
 public:
  // The time between two checks. Code that waits for something else checks as often.
  static constexpr std::chrono::milliseconds kInterval{5};

  StopCheck() = default;  // never cancels
  // `cancel` may be null, and 0 means no limit. The time starts here.
  explicit StopCheck(std::function<bool()> cancel,
                     std::chrono::milliseconds limit = std::chrono::milliseconds(0))
      : cancel_(std::move(cancel)), limit_(limit) {}
  StopCheck(const StopCheck&) = delete;
  StopCheck& operator=(const StopCheck&) = delete;

  [[nodiscard]] bool active() const { return cancel_ != nullptr || limit_.count() != 0; }
  [[nodiscard]] std::chrono::milliseconds limit() const { return limit_; }
  // Why the work is to stop. Once there is a reason, it does not change.
  StopReason Ask() {
    const StopReason known = reason();
    if (known != StopReason::kNone || !active()) return known;
    const Clock::time_point now = Clock::now();
    if (now.time_since_epoch().count() < next_.load(std::memory_order_relaxed)) return known;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return known;
    if (cancel_ != nullptr && cancel_()) {
      reason_.store(StopReason::kCancelled);
    } else if (limit_.count() != 0 && now - begin_ >= limit_) {
      reason_.store(StopReason::kTimeLimit);
    }
    next_.store((Clock::now() + kInterval).time_since_epoch().count());
    return reason();
  }
  // The result of the checks so far.
  [[nodiscard]] StopReason reason() const { return reason_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool stopped() const { return reason() != StopReason::kNone; }

 private:
  using Clock = std::chrono::steady_clock;

  std::function<bool()> cancel_;
  std::chrono::milliseconds limit_{0};
  const Clock::time_point begin_ = Clock::now();
  std::atomic<Clock::rep> next_{0};
  std::atomic<StopReason> reason_{StopReason::kNone};
  std::mutex mutex_;
};

// The flag that the work itself reads. Another thread sets it, or, with a check, reading it makes
// the check.
class StopFlag {
 public:
  explicit StopFlag(StopCheck* check = nullptr) : check_(check) {}
  void Set(StopReason reason) { reason_.store(reason, std::memory_order_relaxed); }
  [[nodiscard]] StopReason Ask() {
    if (check_ != nullptr && check_->Ask() != StopReason::kNone) Set(check_->reason());
    return reason_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool Stopped() { return Ask() != StopReason::kNone; }

 private:
  StopCheck* check_;
  std::atomic<StopReason> reason_{StopReason::kNone};
};

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_STOP_H_
