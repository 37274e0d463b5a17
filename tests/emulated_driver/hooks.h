// What a test may ask of the emulated driver besides CUDA: functions that the library exports under
// these names (dlsym), with C linkage. All are thread-safe.
#ifndef TARSIA_TESTS_EMULATED_DRIVER_HOOKS_H_
#define TARSIA_TESTS_EMULATED_DRIVER_HOOKS_H_

#include <cstdint>

namespace tarsia::emulated {

// What is alive, and what was done since the library was loaded or reset.
struct Counts {
  uint64_t contexts = 0;  // alive, primary ones among them
  uint64_t retained = 0;  // retains of primary contexts that were not released
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
  uint64_t modules = 0;
  uint64_t streams = 0;
  uint64_t events = 0;
  uint64_t graphs = 0;
  uint64_t graph_execs = 0;
  uint64_t pending = 0;    // operations that nobody has waited for
  uint64_t abandoned = 0;  // objects that were alive when their context was destroyed
  uint64_t calls = 0;
  uint64_t launches = 0;  // kernels that were run

  // Nothing is alive, and nothing was left to a context to clean up.
  [[nodiscard]] bool Clean() const {
    return contexts + retained + allocations + modules + streams + events + graphs + graph_execs +
               abandoned ==
           0;
  }
};

// As a new process: destroys every object, forgets counts and reports, reads the environment
// (settings.h) again. cuInit is to be called anew.
inline constexpr const char* kResetHook = "tarsia_emulated_reset";
using ResetHook = void (*)();
inline constexpr const char* kCountsHook = "tarsia_emulated_counts";
using CountsHook = void (*)(Counts* counts);
// Copies the text of all findings since the reset, at most `size` bytes with a final zero; returns
// the length of the whole text.
inline constexpr const char* kReportHook = "tarsia_emulated_report";
using ReportHook = uint64_t (*)(char* buffer, uint64_t size);
// Calls `enter` before every function of the driver does its work and `leave` behind it, on the
// thread that called; null: nothing. A test that lets memory run out leaves the simulation out of
// it with these: a GPU runs kernels without the host's memory.
inline constexpr const char* kAroundCallsHook = "tarsia_emulated_around_calls";
using AroundCallsHook = void (*)(void (*enter)(), void (*leave)());

}  // namespace tarsia::emulated

#endif  // TARSIA_TESTS_EMULATED_DRIVER_HOOKS_H_
