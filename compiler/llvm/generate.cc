#include "compiler/llvm/generate.h"

#include <llvm/Support/raw_ostream.h>

#include "compiler/llvm/backend.h"
#include "compiler/llvm/emitter.h"

namespace tarsia::compiler {

Result<CompiledKernel> Generate(const Program& program, const LayoutPlan& layouts,
                                const SharedPlan& shared, Target target,
                                const CompileOptions& options) {
  Emitter emitter(program, layouts, shared, target, options);
  TARSIA_CHECK(emitter.EmitKernel());
  CompiledKernel out = std::move(emitter.kernel_info());
  if (options.keep_llvm_ir) {
    llvm::raw_string_ostream stream(out.llvm_ir);
    emitter.module().print(stream, nullptr);
  }
  TARSIA_TRY(out.ptx, EmitPtx(emitter.module(), target));
  return out;
}

}  // namespace tarsia::compiler
