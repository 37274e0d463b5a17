#include "compiler/compile.h"

#include <utility>

#include "compiler/infer_layouts.h"
#include "compiler/llvm/generate.h"
#include "compiler/plan_shared.h"

namespace tarsia::compiler {

Result<CompiledKernel> Compile(const Program& program, Target target,
                               const CompileOptions& options) {
  TARSIA_TRY(const LayoutPlan layouts, InferLayouts(program));
  TARSIA_TRY(const SharedPlan shared, PlanShared(program, target));
  TARSIA_TRY(CompiledKernel out, Generate(program, layouts, shared, target, options));
  out.layouts = ToString(program, layouts);
  return out;
}

}  // namespace tarsia::compiler
