// From a program with layouts and places in shared memory to PTX. No LLVM in this header.
#ifndef TARSIA_COMPILER_LLVM_GENERATE_H_
#define TARSIA_COMPILER_LLVM_GENERATE_H_

#include "compiler/compile.h"
#include "compiler/layout_plan.h"
#include "compiler/plan_shared.h"
#include "compiler/runtime_checks.h"

namespace tarsia::compiler {

// Everything of the result but CompiledKernel::layouts, and of its steps `emit` and `llvm`.
Result<CompiledKernel> Generate(const Program& program, const RuntimeChecks& checks,
                                const LayoutPlan& layouts, const SharedPlan& shared, Target target,
                                const CompileOptions& options, StopFlag& stop);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_GENERATE_H_
