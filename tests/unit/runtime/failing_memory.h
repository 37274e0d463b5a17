// Simulates out of memory. This test binary has its own operator new and, except with sanitizers,
// malloc, calloc and realloc, which fail as a MemoryFails requests. With the thread sanitizer
// nothing fails and nothing is counted.
#ifndef TARSIA_TESTS_UNIT_RUNTIME_FAILING_MEMORY_H_
#define TARSIA_TESTS_UNIT_RUNTIME_FAILING_MEMORY_H_

#include <cstdint>

namespace tarsia::testing_memory {

inline constexpr int64_t kNever = INT64_MAX;

// Which allocations fail, by their number from 0.
struct Failures {
  int64_t first = kNever;
  int64_t second = kNever;
  bool all_after = false;    // all after `first` fail, too
  bool all_threads = false;  // count the requests of every thread; otherwise of this one
  bool with_malloc = false;  // and not only operator new
};

// While it lives, allocations fail as it requests. One at a time.
class MemoryFails {
 public:
  explicit MemoryFails(const Failures& wanted);
  ~MemoryFails();
  MemoryFails(const MemoryFails&) = delete;
  MemoryFails& operator=(const MemoryFails&) = delete;
  // Whether an allocation has failed, and the number of allocations.
  [[nodiscard]] bool happened() const;
  [[nodiscard]] int64_t requests() const;
};

// Allocations of this thread between the two always succeed and are not counted.
void BeginExempt();
void EndExempt();
// From here on, in any thread, the sanitizer does not report leaks.
void LeaksAreMeant();
// Whether requests are counted at all: not with the thread sanitizer.
bool RequestsAreCounted();
// Whether malloc can be made to fail: not under the sanitizers, which have their own.
bool MallocCanFail();
// Allocations of operator new in all threads that were not freed.
int64_t LiveAllocations();

}  // namespace tarsia::testing_memory

#endif  // TARSIA_TESTS_UNIT_RUNTIME_FAILING_MEMORY_H_
