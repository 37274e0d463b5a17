// Versions of the bytecode. Each row of isa.def and of ops.def names the minor version that
// introduced it.
#ifndef TARSIA_ISA_VERSION_H_
#define TARSIA_ISA_VERSION_H_

#include <compare>
#include <cstdint>

namespace tarsia {

struct BytecodeVersion {
  uint16_t major = 0;
  uint16_t minor = 1;
  friend auto operator<=>(const BytecodeVersion&, const BytecodeVersion&) = default;
};
// The newest version that is written and read.
inline constexpr BytecodeVersion kBytecodeVersion{0, 4};

}  // namespace tarsia

#endif  // TARSIA_ISA_VERSION_H_
