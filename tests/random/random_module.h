// Random valid programs, made from the table of instructions (isa/isa.def): a row whose operands
// are of the usual kinds needs nothing here. A program depends only on its seed.
#ifndef TARSIA_TESTS_RANDOM_RANDOM_MODULE_H_
#define TARSIA_TESTS_RANDOM_RANDOM_MODULE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dtypes/dtype.h"
#include "isa/instruction.h"

namespace tarsia {

struct RandomOptions {
  // Programs whose meaning is fully defined and the same for every witness, bit for bit: all loops
  // end, nothing is read before it is written, asynchronous copies are waited for, no two blocks
  // write one element, sums of floats are exact in any order, no approximate function. Each kernel
  // stores its results through its output pointers; constants have defaults.
  bool executable = false;
  // Occasionally a tile or a tensor of up to 256 x 128, more than threads can exchange at once.
  bool large = false;
  int max_kernels = 3;
  int targets = 12;  // pairs of instruction and element type drawn for a module
  // Only these pairs, if there are any.
  std::optional<Opcode> opcode;
};

struct RandomArgument {
  enum class Kind : uint8_t { kScalar, kInput, kOutput, kInOut };
  Kind kind = Kind::kScalar;
  std::string name;
  DType dtype;
  int64_t elements = 0;  // of a pointer
  int64_t value = 0;     // of a scalar
  bool small = false;    // a pointer to complex numbers whose parts are small integers
};

struct RandomKernel {
  std::string name;
  std::vector<RandomArgument> arguments;  // only for executable programs
  int64_t blocks = 1;
};

struct RandomProgram {
  std::string text;
  std::vector<RandomKernel> kernels;
};

RandomProgram MakeRandomProgram(uint64_t seed, const RandomOptions& options = {});

}  // namespace tarsia

#endif  // TARSIA_TESTS_RANDOM_RANDOM_MODULE_H_
