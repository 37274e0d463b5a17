// What is proven of each access to a tile in memory, from relations between the scalars of a
// program: which of its elements exist, and ranges and divisors of its indices.
#ifndef TARSIA_COMPILER_FACTS_PROGRAM_FACTS_H_
#define TARSIA_COMPILER_FACTS_PROGRAM_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/facts/facts.h"
#include "isa/program.h"

namespace tarsia::compiler {

// Of an access of `count` elements along one dimension. Indices count from the beginning of the
// whole tile, not of a slice of it; those that exist are low <= i < high.
struct IndexFacts {
  int64_t count = 0;
  Facts first;              // the index of the first element
  bool above_low = false;   // all elements are at least `low`
  bool below_high = false;  // all elements are below `high`
  // For people; only where they are asked for.
  std::string first_text;
  std::string high_text;
  std::string advice;  // what would prove `below_high`; empty if nothing is known to
};

struct AccessFacts {
  size_t inst = 0;     // number of the instruction
  size_t operand = 0;  // of the instruction: a tile in memory with indices
  std::vector<IndexFacts> dims;
};

struct ProgramFacts {
  std::vector<AccessFacts> accesses;  // in the order of the program

  // Null: nothing is known.
  [[nodiscard]] const AccessFacts* Find(size_t inst, size_t operand) const;
};

// They hold in every block of every launch that the host accepts. `text`: with the parts for
// people.
ProgramFacts CollectProgramFacts(const Program& program, bool text = false);

// For each access by its line: what is proven along each dimension, what is not, and what would
// help.
std::string FactsText(const Program& program);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_FACTS_PROGRAM_FACTS_H_
