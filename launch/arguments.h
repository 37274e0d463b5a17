// What a launch is given, and what is known of it before any block runs: the contract of everything
// that launches a program, the interpreter and compiled code alike.
#ifndef TARSIA_LAUNCH_ARGUMENTS_H_
#define TARSIA_LAUNCH_ARGUMENTS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "dtypes/dtype.h"
#include "layout/inline_vector.h"
#include "support/diagnostic.h"

namespace tarsia::launch {

// Bound to a pointer parameter. `data` may be null if `bytes` is 0. Any alignment.
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
struct LaunchArgs {
  std::vector<Argument> params;
  // NOLINTNEXTLINE(google-explicit-constructor): whoever owns arguments can give them.
  operator std::span<const Argument>() const { return params; }
};
// Arguments and codes of a launch: no allocation for kernels with so many parameters.
inline constexpr size_t kInlineParameters = 64;
using ArgumentList = InlineVector<Argument, kInlineParameters>;
using CodeList = InlineVector<uint64_t, kInlineParameters>;
// The codes of the scalars, by parameter; 0 for pointers.
CodeList CodesOf(std::span<const Argument> args);

// What is known of a launch before any block runs.
struct LaunchShape {
  std::array<int64_t, 3> grid = {1, 1, 1};
  CodeList scalars;  // codes by parameter; of pointers 0
  [[nodiscard]] bool Empty() const { return grid[0] == 0 || grid[1] == 0 || grid[2] == 0; }
};

// A view of a pointer parameter whose shape follows from parameters and constants.
struct PointerUse {
  uint32_t parameter = 0;
  Location location;
  DType type;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;         // what a buffer must have at least
  bool row_major = false;     // whole, dense, the last dimension fastest
  bool unconditional = true;  // not within a loop or a branch, unless its condition is constant
  bool written = false;       // some instruction stores through it
  std::string text;           // "global<f16>[16, 64]"
};

// What was found wrong with a launch that goes on. Findings of one kind at one place are one, and
// counted.
struct Finding {
  Diagnostic diagnostic;  // of the first
  std::array<int64_t, 3> block = {0, 0, 0};
  uint64_t count = 1;
};

}  // namespace tarsia::launch

#endif  // TARSIA_LAUNCH_ARGUMENTS_H_
