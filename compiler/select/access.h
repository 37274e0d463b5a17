// The widest accesses to memory.
#ifndef TARSIA_COMPILER_SELECT_ACCESS_H_
#define TARSIA_COMPILER_SELECT_ACCESS_H_

#include <cstdint>

namespace tarsia::compiler {

inline constexpr int64_t kWidestAccess = 16;  // bytes of a thread

// The largest power of two, at most kWidestAccess, that divides a number of bytes.
constexpr int UnitOf(int64_t bytes) {
  int64_t unit = 1;
  while (unit < kWidestAccess && bytes % (unit * 2) == 0) unit *= 2;
  return static_cast<int>(unit);
}

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_ACCESS_H_
