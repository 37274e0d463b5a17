// The interpreter as a witness, plain and with `--check`.
#ifndef TARSIA_TESTS_HARNESS_INTERPRETER_WITNESS_H_
#define TARSIA_TESTS_HARNESS_INTERPRETER_WITNESS_H_

#include "tests/harness/witness.h"

namespace tarsia::harness {

class InterpreterWitness final : public Witness {
 public:
  explicit InterpreterWitness(bool check) : check_(check) {}
  [[nodiscard]] std::string_view name() const override {
    return check_ ? "interpreter --check" : "interpreter";
  }
  [[nodiscard]] bool checks() const override { return check_; }
  Outcome Run(const Program& program, const SourceFile& source,
              std::span<const Argument> arguments) const override;

 private:
  bool check_;
};

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_INTERPRETER_WITNESS_H_
