// What is proven of each access to a tile in memory: which of its elements exist, and ranges and
// divisors of its indices. The proofs use relations between the scalars of a program (relations.h).
#ifndef TARSIA_COMPILER_FACTS_PROGRAM_FACTS_H_
#define TARSIA_COMPILER_FACTS_PROGRAM_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/facts/facts.h"
#include "isa/program.h"

namespace tarsia::compiler {

// An access of `count` elements along one dimension. Indices count from the beginning of the
// whole tile, not of a slice of it; those that exist are low <= i < high.
struct IndexFacts {
  int64_t count = 0;
  Facts first;              // the index of the first element
  bool above_low = false;   // all elements are at least `low`
  bool below_high = false;  // all elements are below `high`
  // Texts for a report; empty unless CollectProgramFacts was called with `text`.
  std::string first_text;
  std::string high_text;
  std::string advice;  // what would prove `below_high`; empty if no such assumption is known
};

struct AccessFacts {
  size_t inst = 0;     // number of the instruction
  size_t operand = 0;  // of the instruction: a tile in memory with indices
  std::vector<IndexFacts> dims;
};

struct ProgramFacts {
  std::vector<AccessFacts> accesses;  // in the order of the program

  // Null: nothing is known of this access.
  [[nodiscard]] const AccessFacts* Find(size_t inst, size_t operand) const;
};

// The facts hold in every block of every launch that the host accepts. `text`: also write the texts
// of IndexFacts.
ProgramFacts CollectProgramFacts(const Program& program, bool text = false);

// The report of `--emit facts`: for each access, by line, what is proven along each dimension, what
// is not, and which assumption would prove it.
std::string FactsText(const Program& program);

// What would make a line cheaper, and why: "add `assume %n % 64 == 0`: without it the access is
// masked".
struct LineAdvice {
  uint32_t line = 0;
  std::string text;
  int64_t saves = 0;  // cycles of a warp by the formula of the cost; 0: none, or it does not say
};
// What would prove more of the accesses; each once, by line.
std::vector<LineAdvice> AdviceOn(const Program& program);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_FACTS_PROGRAM_FACTS_H_
