#include "compiler/llvm/generate.h"

#include <llvm/Support/raw_ostream.h>

#include <optional>
#include <utility>

#include "compiler/entry.h"
#include "compiler/llvm/backend.h"
#include "compiler/llvm/isolation.h"
#include "compiler/llvm/lower/emitter.h"
#include "compiler/step_timer.h"

namespace tarsia::compiler {
namespace {

// The memory that LLVM takes to compile a module that is emitted. Measured, with the emission: 0.9
// KB an instruction for kernels of 8,000 to 53,000 instructions, and 1.1 MB for one of 276.
uint64_t BytesToCompile(const llvm::Module& module) {
  return (uint64_t{1} << 19) + (uint64_t{1} << 10) * module.getInstructionCount();
}

Result<CompiledKernel> GenerateCode(const Program& program, const RuntimeChecks& checks,
                                    const LayoutPlan& layouts, const SharedPlan& shared,
                                    Target target, const CompileOptions& options, StopFlag& stop) {
  TARSIA_TRY(CompiledKernel entry, DescribeEntry(program, checks, target));
  StepTimer timer;
  Emitter emitter(program, checks, layouts, shared, target, std::move(entry), options, stop);
  TARSIA_CHECK(emitter.EmitKernel());
  CompiledKernel out = std::move(emitter.compiled());
  timer.Done("emit", out.steps);
  if (options.keep_llvm_ir) {
    llvm::raw_string_ostream stream(out.llvm_ir);
    emitter.module().print(stream, nullptr);
  }
  TARSIA_CHECK(LookForMemory(BytesToCompile(emitter.module()), out.name));
  TARSIA_TRY(out.ptx, EmitPtx(emitter.module(), target, stop));
  timer.Done("llvm", out.steps);
  return out;
}

}  // namespace

Result<CompiledKernel> Generate(const Program& program, const RuntimeChecks& checks,
                                const LayoutPlan& layouts, const SharedPlan& shared, Target target,
                                const CompileOptions& options, StopFlag& stop) {
  std::optional<Result<CompiledKernel>> out;
  TARSIA_CHECK(RunIsolated(
      [&] { out.emplace(GenerateCode(program, checks, layouts, shared, target, options, stop)); }));
  return *std::move(out);
}

}  // namespace tarsia::compiler
