// Runs a case on a witness and judges what came out.
#ifndef TARSIA_TESTS_HARNESS_RUN_CASE_H_
#define TARSIA_TESTS_HARNESS_RUN_CASE_H_

#include <string>
#include <vector>

#include "tests/harness/case.h"
#include "tests/harness/memory.h"
#include "tests/harness/program.h"
#include "tests/harness/witness.h"

namespace tarsia::harness {

struct CaseResult {
  std::vector<std::string> failures;  // none: the case holds
  std::vector<Tensor> outputs;        // of Case::outputs; none when the launch failed
  [[nodiscard]] bool ok() const { return failures.empty(); }
  // The failures, one a line, with the place and title of the case.
  [[nodiscard]] std::string Text(const Case& c) const;
};

// Outputs are poisoned, every buffer is guarded, inputs must not change.
CaseResult RunCase(const Case& c, const Witness& witness, Poison poison = Poison::kNan);
// The same with a program that was made from the case before, for cases that share one.
CaseResult RunProgram(const Program& program, const Case& c, const Witness& witness,
                      Poison poison = Poison::kNan);

// Runs a case on every witness, the poisons taking turns; the failures of all, with their names.
// The case holds if there are none. `program` may be null.
CaseResult RunEverywhere(const Case& c, const Program* program = nullptr);

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_RUN_CASE_H_
