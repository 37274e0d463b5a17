// The arguments of a launch, and its properties that are known before any block runs. The
// interpreter and compiled code share this contract.
#ifndef TARSIA_LAUNCH_ARGUMENTS_H_
#define TARSIA_LAUNCH_ARGUMENTS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "dtypes/dtype.h"
#include "support/diagnostic.h"
#include "support/inline_vector.h"

namespace tarsia::launch {

// Bound to a pointer parameter. `data` may be null if `bytes` is 0, and is aligned as
// Program::PointerAlignment says.
struct Buffer {
  void* data = nullptr;
  uint64_t bytes = 0;
  bool writable = false;
};

// Bound to a scalar parameter, whose type it must have.
struct ScalarValue {
  DType type;
  uint64_t code = 0;
};

// One argument of a launch; arguments are given by parameter.
using Argument = std::variant<Buffer, ScalarValue>;
// Arguments and codes of a launch need no allocation for kernels with up to this many parameters.
inline constexpr size_t kInlineParameters = 64;
using ArgumentList = InlineVector<Argument, kInlineParameters>;
using CodeList = InlineVector<uint64_t, kInlineParameters>;
// The codes of the scalars, by parameter; 0 for pointers.
CodeList CodesOf(std::span<const Argument> args);

// The properties of a launch that are known before any block runs.
struct LaunchShape {
  std::array<int64_t, 3> grid = {1, 1, 1};
  CodeList scalars;  // codes by parameter; 0 for pointers
  [[nodiscard]] bool Empty() const { return grid[0] == 0 || grid[1] == 0 || grid[2] == 0; }
};

// A view of a pointer parameter whose shape follows from parameters and constants.
struct PointerUse {
  uint32_t parameter = 0;
  Location location;
  DType type;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;         // the least size of a buffer
  bool row_major = false;     // whole, dense, the last dimension fastest
  bool unconditional = true;  // not within a loop or a branch, unless its condition is constant
  bool written = false;       // some instruction stores through it
  std::string text;           // "global<f16>[16, 64]"
};

// A fault of a launch that continues. Findings of one kind at one place are combined and counted.
struct Finding {
  Diagnostic diagnostic;  // the first of them
  std::array<int64_t, 3> block = {0, 0, 0};
  uint64_t count = 1;
};

}  // namespace tarsia::launch

#endif  // TARSIA_LAUNCH_ARGUMENTS_H_
