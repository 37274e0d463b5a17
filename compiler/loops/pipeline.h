// The pass `pipeline`.
#ifndef TARSIA_COMPILER_LOOPS_PIPELINE_H_
#define TARSIA_COMPILER_LOOPS_PIPELINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/facts/program_facts.h"
#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// Makes the loads of a `for` with `pipeline n` asynchronous copies that run n - 1 turns ahead, into
// rings of n stages in shared memory:
// - in front of the loop, the copies of the first n - 1 turns, each turn a group;
// - the steady loop: it waits for the group of its turn, passes one barrier, after which no thread
//   reads the stage of the turn before, starts the copies of n - 1 turns later into that stage, and
//   computes;
// - the last turns, which start no copy that nobody would read. Their groups are empty, so that the
//   same wait is right.
// Rings that do not fit in shared memory get fewer stages. Loads stay that pipeline_plan.h refuses.
void Pipeline(tile::Form& form, Target target);

// What the pass does with a loop or one of its loads, for people.
struct PipelineDecision {
  uint32_t line = 0;
  std::string text;
  bool stays = false;  // as it is, although there is the hint
  std::string why;     // it stays
};
// Of the form before the pass, in the order of the text.
std::vector<PipelineDecision> DecidePipelines(tile::Form form, Target target);
// A line for each decision; empty if there is none.
std::string PipelineReport(tile::Form form, Target target);
// At the lines of loops and loads that stay as they are: why.
std::vector<LineAdvice> AdviceOnPipelines(tile::Form form, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LOOPS_PIPELINE_H_
