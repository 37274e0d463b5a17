// The time that a thread spends in the library, without the time in the emulated driver.
#ifndef TARSIA_TESTS_UNIT_RUNTIME_OWN_TIME_H_
#define TARSIA_TESTS_UNIT_RUNTIME_OWN_TIME_H_

#include <chrono>

#include "tests/emulated_driver/hooks.h"
#include "tests/unit/runtime/cuda_testing.h"

namespace tarsia::cuda {

// The time of this thread outside of the driver.
class OwnTime {
 public:
  OwnTime() { Hook(Enter, Leave); }
  OwnTime(const OwnTime&) = delete;
  OwnTime& operator=(const OwnTime&) = delete;
  ~OwnTime() { Hook(nullptr, nullptr); }
  template <typename Call>
  static double Microseconds(const Call& call) {
    driver = {};
    const auto start = Clock::now();
    call();
    return std::chrono::duration<double, std::micro>(Clock::now() - start - driver).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static void Hook(void (*enter)(), void (*leave)()) {
    Symbol<emulated::AroundCallsHook>(emulated::kAroundCallsHook)(enter, leave);
  }
  static void Enter() { entered = Clock::now(); }
  static void Leave() { driver += Clock::now() - entered; }
  static inline Clock::time_point entered;
  static inline Clock::duration driver;
};

}  // namespace tarsia::cuda

#endif  // TARSIA_TESTS_UNIT_RUNTIME_OWN_TIME_H_
