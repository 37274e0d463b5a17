#include "compiler/compile_here.h"

#include <string>
#include <utility>
#include <vector>

#include "compiler/diagnostics.h"
#include "compiler/layout_plan.h"
#include "compiler/llvm/generate.h"
#include "compiler/pass.h"
#include "compiler/plan_shared.h"
#include "compiler/runtime_checks.h"
#include "compiler/step_timer.h"

namespace tarsia::compiler {
namespace {

Status CheckWanted(StopFlag& stop) {
  return stop.Stopped() ? MakeDiagnostic(diag::kCompileStopped, Location()) : OkStatus();
}

// The program that the code is made of.
Result<Program> LastProgram(const Program& program, Target target,
                            const std::vector<std::string>& without, StepTimer& timer,
                            std::vector<CompileStep>& steps) {
  PassOptions options;
  options.target = target;
  options.without = without;
  options.after = [&](const Pass& pass, const tile::Form& /*form*/) {
    timer.Done(pass.name, steps);
  };
  Result<Program> out = ProgramAfter(program, options, LimitsOf(target));
  timer.Done("program", steps);
  return out;
}

}  // namespace

Result<CompiledKernel> CompileHere(const Program& program, Target target,
                                   const CompileOptions& options, StopFlag& stop) {
  TARSIA_CHECK(CheckWanted(stop));
  StepTimer timer;
  std::vector<CompileStep> steps;
  TARSIA_TRY(const Program last, LastProgram(program, target, options.without, timer, steps));
  const RuntimeChecks checks(program, last);
  TARSIA_CHECK(CheckWanted(stop));
  TARSIA_TRY(const LayoutPlan layouts, PlanLayouts(last));
  TARSIA_TRY(const SharedPlan shared, PlanShared(last, target));
  timer.Done("plan", steps);
  TARSIA_CHECK(CheckWanted(stop));
  TARSIA_TRY(CompiledKernel out, Generate(last, checks, layouts, shared, target, options, stop));
  out.steps.insert(out.steps.begin(), steps.begin(), steps.end());
  return out;
}

}  // namespace tarsia::compiler
