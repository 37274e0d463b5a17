// Runs a case on a witness and judges the result.
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
  // The failures, one per line, with the place and title of the case.
  [[nodiscard]] std::string Text(const Case& c) const;
};

// Outputs are poisoned, every buffer is guarded, inputs must not change.
CaseResult RunCase(const Case& c, const Witness& witness, Poison poison = Poison::kNan);
// The same with an existing program, for cases that share one.
CaseResult RunProgram(const Program& program, const Case& c, const Witness& witness,
                      Poison poison = Poison::kNan);

// Runs a case on every witness, with alternating poisons; returns all failures with the names of
// the witnesses. The case holds if there are none. `program` may be null.
CaseResult RunEverywhere(const Case& c, const Program* program = nullptr);

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_RUN_CASE_H_
