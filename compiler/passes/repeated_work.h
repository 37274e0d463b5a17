// Which instructions of a program with layouts do the same work in several warps.
#ifndef TARSIA_COMPILER_PASSES_REPEATED_WORK_H_
#define TARSIA_COMPILER_PASSES_REPEATED_WORK_H_

#include <vector>

#include "compiler/facts/program_facts.h"
#include "isa/program.h"

namespace tarsia::compiler {

// Of each `dot` whose result has fewer parts than the block has warps, by line: that some warps
// repeat the work of others, or compute padding, and what would mend it. The program is one after
// the pass `layouts`.
std::vector<LineAdvice> AdviceOnRepeatedWork(const Program& program);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_REPEATED_WORK_H_
