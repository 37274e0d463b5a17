// Functions for tests that the emulated driver exports besides CUDA, under these names (dlsym),
// with C linkage. All are thread-safe.
#ifndef TARSIA_TESTS_EMULATED_DRIVER_HOOKS_H_
#define TARSIA_TESTS_EMULATED_DRIVER_HOOKS_H_

#include <cstdint>

namespace tarsia::emulated {

// The objects that are alive, and the calls since the library was loaded or reset.
struct Counts {
  uint64_t contexts = 0;  // alive, including primary ones
  uint64_t retained = 0;  // retains of primary contexts that were not released
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
  uint64_t modules = 0;
  uint64_t streams = 0;
  uint64_t events = 0;
  uint64_t graphs = 0;
  uint64_t graph_execs = 0;
  uint64_t pending = 0;    // operations without a wait
  uint64_t abandoned = 0;  // objects that were alive when their context was destroyed
  uint64_t calls = 0;
  uint64_t launches = 0;  // kernels that were run

  // Whether nothing is alive, and no object was destroyed with its context.
  [[nodiscard]] bool Clean() const {
    return contexts + retained + allocations + modules + streams + events + graphs + graph_execs +
               abandoned ==
           0;
  }
};

// Starts over like a new process: destroys every object, clears counts and reports, reads the
// environment (settings.h) again. cuInit must be called again.
inline constexpr const char* kResetHook = "tarsia_emulated_reset";
using ResetHook = void (*)();
inline constexpr const char* kCountsHook = "tarsia_emulated_counts";
using CountsHook = void (*)(Counts* counts);
// Copies the text of all findings since the reset, at most `size` bytes with a final zero; returns
// the length of the whole text.
inline constexpr const char* kReportHook = "tarsia_emulated_report";
using ReportHook = uint64_t (*)(char* buffer, uint64_t size);
// Calls `enter` before and `leave` after the work of every driver function, on the calling thread;
// null: nothing. Tests of failing allocations exclude the simulation with them, because a GPU runs
// kernels without the host's memory.
inline constexpr const char* kAroundCallsHook = "tarsia_emulated_around_calls";
using AroundCallsHook = void (*)(void (*enter)(), void (*leave)());

}  // namespace tarsia::emulated

#endif  // TARSIA_TESTS_EMULATED_DRIVER_HOOKS_H_
