// How the work of a launch is spread over its blocks: the turns of each loop, by block. They are
// counted by running the scalars of the program, as a launch does, and nothing else: no memory is
// needed.
#ifndef TARSIA_VM_TURNS_H_
#define TARSIA_VM_TURNS_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "isa/program.h"
#include "support/diagnostic.h"
#include "support/result.h"
#include "vm/interpreter.h"

namespace tarsia::vm {

struct LoopTurns {
  Location location;
  size_t inst = 0;                // in Kernel::code
  std::vector<int64_t> by_block;  // by linear index

  [[nodiscard]] int64_t Total() const;
  [[nodiscard]] int64_t Longest() const;
  [[nodiscard]] int64_t Shortest() const;
  // By how much the longest block exceeds the mean, in parts of the mean: what the others wait for,
  // if all run at the same time. 0 without turns.
  [[nodiscard]] double Tail() const;
};

// Of the loops in the order of the text. `scalars`: codes by parameter. Errors: a loop or a
// condition that depends on memory, a grid that does not fit, an error of a scalar instruction.
Result<std::vector<LoopTurns>> CountTurns(const Plan& plan, std::span<const uint64_t> scalars);

}  // namespace tarsia::vm

#endif  // TARSIA_VM_TURNS_H_
