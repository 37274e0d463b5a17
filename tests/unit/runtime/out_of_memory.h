// Calls of the C API while allocations fail: alone, in pairs, or all from one on, on this thread or
// on all. Each time the call must report it, leak nothing, and work when it is called again.
#ifndef TARSIA_TESTS_UNIT_RUNTIME_OUT_OF_MEMORY_H_
#define TARSIA_TESTS_UNIT_RUNTIME_OUT_OF_MEMORY_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "tarsia/tarsia.h"
#include "tests/settings.h"
#include "tests/unit/runtime/failing_memory.h"

namespace tarsia::testing_memory {

using Call = std::function<tarsia_status()>;

// The result of one failure: the outcome of the call, and whether any allocation failed.
struct Outcome {
  tarsia_status status = TARSIA_STATUS_OK;
  bool failed = false;
  int64_t requests = 0;
};

inline Outcome With(const Failures& failures, const Call& call) {
  Outcome out;
  const MemoryFails fails(failures);
  out.status = call();
  out.failed = fails.happened();
  out.requests = fails.requests();
  return out;
}

inline std::string Text(const Failures& failures) {
  return "request " + std::to_string(failures.first) +
         (failures.all_after ? " and all after" : "") +
         (failures.second == kNever ? "" : " and request " + std::to_string(failures.second));
}

// A call while some allocations fail: it works or reports out of memory, leaks nothing except
// tables that are made once, and works afterwards.
inline Outcome Try(const Failures& failures, const Call& call) {
  const int64_t before = LiveAllocations();
  const Outcome out = With(failures, call);
  if (out.status != TARSIA_STATUS_OK) {
    EXPECT_EQ(out.status, TARSIA_STATUS_OUT_OF_MEMORY)
        << Text(failures) << ": " << tarsia_last_error();
    EXPECT_STRNE(tarsia_last_error(), "");
    EXPECT_TRUE(out.failed);
  }
  EXPECT_LE(LiveAllocations(), before + 64) << Text(failures);
  return out;
}

inline void ExpectWorks(const Call& call) {
  EXPECT_EQ(call(), TARSIA_STATUS_OK) << tarsia_last_error();
}

// Fails every allocation alone; returns their number.
inline int64_t FailEachAlone(const Call& call, Failures failures = {}) {
  for (failures.first = 0; failures.first < 1'000'000; ++failures.first) {
    if (!Try(failures, call).failed || testing::Test::HasFailure()) break;
  }
  ExpectWorks(call);
  return failures.first;
}

// Fails all allocations from each one on.
inline void FailFromEach(const Call& call, Failures failures = {}) {
  failures.all_after = true;
  for (failures.first = 0; failures.first < 1'000'000; ++failures.first) {
    if (!Try(failures, call).failed || testing::Test::HasFailure()) break;
  }
  ExpectWorks(call);
}

inline void FailPairs(const Call& call, int64_t requests, int pairs, Failures failures = {}) {
  std::mt19937_64 random(Seed(1));
  std::uniform_int_distribution<int64_t> any(0, requests);
  for (int i = 0; i < pairs && !testing::Test::HasFailure(); ++i) {
    failures.first = any(random);
    failures.second = any(random);
    Try(failures, call);
  }
  ExpectWorks(call);
}

// Fails a sample of allocations: alone, with another one, with all later ones. Does not check
// leaks.
inline void FailSome(const Call& call, int64_t requests, Failures failures) {
  std::mt19937_64 random(Seed(1));
  std::uniform_int_distribution<int64_t> any(0, requests);
  const int samples = IsLong() ? 2000 : 15;
  for (int i = 0; i < samples * 3 && !testing::Test::HasFailure(); ++i) {
    failures.first = any(random);
    failures.second = i % 3 == 1 ? any(random) : kNever;
    failures.all_after = i % 3 == 2;
    const Outcome out = With(failures, call);
    if (out.status != TARSIA_STATUS_OK) {
      EXPECT_EQ(out.status, TARSIA_STATUS_OUT_OF_MEMORY)
          << Text(failures) << ": " << tarsia_last_error();
    }
    ExpectWorks(call);
  }
}

// All three, without and with malloc. At least `least` requests are expected.
inline void FailAll(const Call& call, int64_t least, bool all_threads = false) {
  ExpectWorks(call);  // first, to make everything that is made once per process
  for (const bool with_malloc : {false, true}) {
    if (with_malloc && !MallocCanFail()) continue;
    Failures failures;
    failures.with_malloc = with_malloc;
    failures.all_threads = all_threads;
    const int64_t requests = FailEachAlone(call, failures);
    EXPECT_GE(requests, least);
    FailFromEach(call, failures);
    FailPairs(call, requests, IsLong() ? 2000 : 100, failures);
  }
}

}  // namespace tarsia::testing_memory

#endif  // TARSIA_TESTS_UNIT_RUNTIME_OUT_OF_MEMORY_H_
