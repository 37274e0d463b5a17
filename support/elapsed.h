// Time that was spent.
#ifndef TARSIA_SUPPORT_ELAPSED_H_
#define TARSIA_SUPPORT_ELAPSED_H_

#include <chrono>
#include <cstdint>

namespace tarsia {

inline uint64_t NanosecondsSince(std::chrono::steady_clock::time_point start) {
  const auto spent = std::chrono::steady_clock::now() - start;
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count());
}

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_ELAPSED_H_
