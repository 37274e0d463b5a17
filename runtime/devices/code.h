// The code of one kernel for one target, in all its forms.
#ifndef TARSIA_RUNTIME_DEVICES_CODE_H_
#define TARSIA_RUNTIME_DEVICES_CODE_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "compiler/assemble/assemble.h"
#include "compiler/compile.h"
#include "compiler/facts/program_facts.h"
#include "compiler/loops/loop_cost.h"
#include "compiler/passes/predicted_work.h"
#include "compiler/tile/form.h"
#include "isa/program.h"
#include "runtime/devices/kernel_image.h"

namespace tarsia::runtime {

// Logically immutable; thread-safe. Machine code is made on first use. PTX and machine code are
// kept on disk (runtime/cache/disk_cache.h).
class Code final : public KernelImage {
 public:
  // An equal program that this process, or one before it, has already compiled is not compiled
  // again. Errors: those of
  // compiler::Compile.
  static Result<std::shared_ptr<const Code>> Make(const Program& program, compiler::Target target,
                                                  const compiler::CompileOptions& options = {},
                                                  StopCheck* stop = nullptr);

  // That of a kernel: the image itself, or what a file holds of it.
  static std::shared_ptr<const Code> Of(const Program& program,
                                        const std::shared_ptr<const KernelImage>& image);

  [[nodiscard]] compiler::Target target() const override { return target_; }
  [[nodiscard]] const compiler::CompiledKernel& kernel() const override { return kernel_; }
  [[nodiscard]] const std::vector<std::string>& without() const override {
    return options_.without;
  }
  [[nodiscard]] Result<KernelImage::Machine> FindMachine(StopCheck* stop) const override;
  // LLVM IR before optimisation; compiles again, because it is not kept.
  [[nodiscard]] Result<std::string> LlvmIr() const;
  // The layout of each register tile and who asked for it, as in compiler::LayoutReport.
  [[nodiscard]] std::string Layouts() const;
  // What is proven of each access to memory, after the passes, as in compiler::FactsText.
  [[nodiscard]] Result<std::string> Facts() const;
  // What a warp does by the formula of the cost, by line, as in compiler::PredictWorkByLine, and
  // what would make it less.
  struct Prediction {
    std::vector<compiler::LineWork> work;
    std::vector<compiler::LineAdvice> advice;
    std::vector<compiler::LoopCost> loops;
  };
  [[nodiscard]] Result<Prediction> Predict() const;
  // The cubin and the report of ptxas; lives as long as the code. Errors: those of
  // compiler::Assemble, `stop` (may be null). After an error the next call tries again.
  [[nodiscard]] Result<const compiler::Assembled*> Assembled(StopCheck* stop = nullptr) const;
  // nvdisasm's text of the cubin.
  [[nodiscard]] Result<std::string> Sass() const;
  // The number of instructions of each class, as in compiler::MixText.
  [[nodiscard]] Result<std::string> Mix() const;

 private:
  // The program before the pass `layouts`, and that of which the code is made.
  struct Forms {
    compiler::tile::Form open;    // before the pass `layouts`
    compiler::tile::Form staged;  // before the pass `pipeline`
    compiler::tile::Form last;
  };
  [[nodiscard]] Forms RunPasses() const;
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
