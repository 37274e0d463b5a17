// The compiler and the PTX emulator as a witness: a program is compiled for one target, its PTX is
// run on the CPU. A finding of the emulator (an access outside of a buffer, a use of unwritten
// bits, a race, a barrier that not all threads reach) is a fault.
#ifndef TARSIA_TESTS_HARNESS_EMULATOR_WITNESS_H_
#define TARSIA_TESTS_HARNESS_EMULATOR_WITNESS_H_

#include <string>
#include <vector>

#include "compiler/target.h"
#include "tests/harness/witness.h"

namespace tarsia::harness {

class EmulatorWitness final : public Witness {
 public:
  // `without`: passes of the compiler to leave out.
  explicit EmulatorWitness(compiler::Target target, std::vector<std::string> without = {});
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] compiler::Target target() const { return target_; }
  [[nodiscard]] int target_number() const override { return static_cast<int>(target_) + 1; }
  [[nodiscard]] std::string CodeOf(const Program& program, const SourceFile& source) const override;
  Outcome Run(const Program& program, const SourceFile& source,
              std::span<const Argument> arguments) const override;

 private:
  compiler::Target target_;
  std::vector<std::string> without_;
  std::string name_;
};

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_EMULATOR_WITNESS_H_
