// The first exception of several threads, for the one that waits for them.
#ifndef TARSIA_SUPPORT_FIRST_EXCEPTION_H_
#define TARSIA_SUPPORT_FIRST_EXCEPTION_H_

#include <atomic>
#include <exception>

namespace tarsia {

class FirstException {
 public:
  // In a catch block: keeps the exception if it is the first. Allocates nothing, so that it can be
  // called when there is no memory left. Thread-safe.
  void Keep() noexcept {
    if (!taken_.exchange(true)) exception_ = std::current_exception();
  }
  // Throws what was kept, if anything, once every thread that may call Keep has ended.
  void Rethrow() const {
    if (exception_ != nullptr) std::rethrow_exception(exception_);
  }

 private:
  std::atomic<bool> taken_{false};
  std::exception_ptr exception_;
};

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_FIRST_EXCEPTION_H_
