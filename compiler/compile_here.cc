#include "compiler/compile_here.h"

#include <utility>

#include "compiler/diagnostics.h"
#include "compiler/infer_layouts.h"
#include "compiler/llvm/generate.h"
#include "compiler/plan_shared.h"

namespace tarsia::compiler {
namespace {

Status CheckWanted(StopFlag& stop) {
  return stop.Stopped() ? MakeDiagnostic(diag::kCompileStopped, Location()) : OkStatus();
}

}  // namespace

Result<CompiledKernel> CompileHere(const Program& program, Target target,
                                   const CompileOptions& options, StopFlag& stop) {
  TARSIA_CHECK(CheckWanted(stop));
  TARSIA_TRY(const LayoutPlan layouts, InferLayouts(program));
  TARSIA_CHECK(CheckWanted(stop));
  TARSIA_TRY(const SharedPlan shared, PlanShared(program, target));
  TARSIA_CHECK(CheckWanted(stop));
  TARSIA_TRY(CompiledKernel out, Generate(program, layouts, shared, target, options, stop));
  out.layouts = ToString(program, layouts);
  return out;
}

}  // namespace tarsia::compiler
