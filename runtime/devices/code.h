// The code of one kernel for one target, in every form that can be asked for.
#ifndef TARSIA_RUNTIME_DEVICES_CODE_H_
#define TARSIA_RUNTIME_DEVICES_CODE_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "compiler/assemble/assemble.h"
#include "compiler/compile.h"
#include "isa/program.h"

namespace tarsia::runtime {

// Immutable to the outside; thread-safe. Machine code is made when it is first asked for.
class Code {
 public:
  // What was compiled from an equal program before, in this process, is not compiled again. Errors:
  // those of compiler::Compile.
  static Result<std::shared_ptr<const Code>> Make(const Program& program, compiler::Target target,
                                                  const compiler::CompileOptions& options = {},
                                                  StopCheck* stop = nullptr);

  [[nodiscard]] compiler::Target target() const { return target_; }
  [[nodiscard]] const compiler::CompiledKernel& kernel() const { return kernel_; }
  // LLVM IR before optimisation; compiles once more, since nobody else wants it kept.
  [[nodiscard]] Result<std::string> LlvmIr() const;
  // The cubin and what ptxas says of it; lives as long as the code. Errors: those of
  // compiler::Assemble, `stop` (may be null). After an error the next to ask tries again.
  [[nodiscard]] Result<const compiler::Assembled*> Machine(StopCheck* stop = nullptr) const;
  // nvdisasm's text of the cubin.
  [[nodiscard]] Result<std::string> Sass() const;
  // How many instructions of each class it has, as compiler::MixText.
  [[nodiscard]] Result<std::string> Mix() const;

 private:
  Code(const Program& program, compiler::Target target, const compiler::CompileOptions& options,
       compiler::CompiledKernel kernel)
      : program_(program), target_(target), options_(options), kernel_(std::move(kernel)) {}

  const Program program_;
  const compiler::Target target_;
  const compiler::CompileOptions options_;
  const compiler::CompiledKernel kernel_;
  mutable std::timed_mutex assembling_;
  mutable std::optional<compiler::Assembled> machine_;
};

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_DEVICES_CODE_H_
