// Measures the steps of a compilation.
#ifndef TARSIA_COMPILER_STEP_TIMER_H_
#define TARSIA_COMPILER_STEP_TIMER_H_

#include <chrono>
#include <string_view>
#include <vector>

#include "compiler/compile.h"

namespace tarsia::compiler {

class StepTimer {
 public:
  // A step is done that began where the one before it ended, or with the timer.
  void Done(std::string_view name, std::vector<CompileStep>& steps) {
    const Clock::time_point now = Clock::now();
    steps.push_back({name, now - last_});
    last_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_STEP_TIMER_H_
