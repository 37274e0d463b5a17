// Runs the IR of single elements as PTX kernels on the emulator (ptx/): the same arrays and
// operations as HostCode, for any target.
#ifndef TARSIA_TESTS_UNIT_COMPILER_EMULATED_CODE_H_
#define TARSIA_TESTS_UNIT_COMPILER_EMULATED_CODE_H_

#include <memory>
#include <string>
#include <vector>

#include "ptx/machine/emulator.h"
#include "tests/unit/compiler/host_code.h"

namespace tarsia::compiler {

class EmulatedCode {
 public:
  EmulatedCode(const std::vector<Operation>& operations, Target target);
  // Why there is no code, or the error of the last run, or "".
  [[nodiscard]] const std::string& error() const { return error_; }
  // Where the results of approximate instructions lie from now on.
  void Approximate(ptx::Approximations approximations) { approximations_ = approximations; }
  // Results for as many elements as the first operand has.
  void Run(const Operation& operation, const std::vector<const Codes*>& operands, Codes& result);

 private:
  uint64_t Put(const Codes& codes);

  std::string error_;
  ptx::Approximations approximations_ = ptx::Approximations::kBest;
  std::shared_ptr<const ptx::Module> module_;
  ptx::Memory memory_;
  std::unique_ptr<ptx::Image> image_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_TESTS_UNIT_COMPILER_EMULATED_CODE_H_
