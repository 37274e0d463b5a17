// The interpreter with `--check`, on the program as it is after each pass of the compiler.
#ifndef TARSIA_TESTS_HARNESS_PASS_WITNESS_H_
#define TARSIA_TESTS_HARNESS_PASS_WITNESS_H_

#include "tests/harness/interpreter_witness.h"
#include "tests/harness/witness.h"

namespace tarsia::harness {

// One pass, after those before it. A form with a fault, and one that does not become a program
// again, is a fault of the witness; so is a program that `build` alone changes.
class PassWitness final : public Witness {
 public:
  // `pass` is the name of a pass.
  explicit PassWitness(std::string_view pass);
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] bool checks() const override { return true; }
  Outcome Run(const Program& program, const SourceFile& source,
              std::span<const Argument> arguments) const override;

 private:
  const std::string_view pass_;
  const std::string name_;
  const InterpreterWitness interpreter_{true};
};

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_PASS_WITNESS_H_
