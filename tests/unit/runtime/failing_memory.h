// Memory that runs out on purpose. This test binary has an operator new and, but for the
// sanitizers, a malloc, calloc and realloc of its own, which fail where a MemoryFails says so.
#ifndef TARSIA_TESTS_UNIT_RUNTIME_FAILING_MEMORY_H_
#define TARSIA_TESTS_UNIT_RUNTIME_FAILING_MEMORY_H_

#include <cstdint>

namespace tarsia::testing_memory {

inline constexpr int64_t kNever = INT64_MAX;

// Which requests for memory fail, by their number from 0.
struct Failures {
  int64_t first = kNever;
  int64_t second = kNever;
  bool all_after = false;    // whatever follows `first` fails, too
  bool all_threads = false;  // count the requests of every thread; otherwise of this one
  bool with_malloc = false;  // and not of operator new alone
};

// While one lives, memory fails as it says. One at a time.
class MemoryFails {
 public:
  explicit MemoryFails(const Failures& failures);
  ~MemoryFails();
  MemoryFails(const MemoryFails&) = delete;
  MemoryFails& operator=(const MemoryFails&) = delete;
  // Whether some request has failed, and how many there were.
  [[nodiscard]] bool happened() const;
  [[nodiscard]] int64_t requests() const;
};

// Requests of this thread between the two always succeed and do not count.
void BeginExempt();
void EndExempt();
// What is not freed from here on, in any thread, is no leak to the sanitizer.
void LeaksAreMeant();
// Whether malloc can be made to fail: not under the sanitizers, which have their own.
bool MallocCanFail();
// Requests of operator new in all threads that were not freed.
int64_t LiveAllocations();

}  // namespace tarsia::testing_memory

#endif  // TARSIA_TESTS_UNIT_RUNTIME_FAILING_MEMORY_H_
