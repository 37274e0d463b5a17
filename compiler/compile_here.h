// Compiling on the thread that asks.
#ifndef TARSIA_COMPILER_COMPILE_HERE_H_
#define TARSIA_COMPILER_COMPILE_HERE_H_

#include "compiler/compile.h"

namespace tarsia::compiler {

// As Compile. Looks at `stop` between passes and between the instructions of the program; the error
// is then of kind diag::kCompileStopped.
Result<CompiledKernel> CompileHere(const Program& program, Target target,
                                   const CompileOptions& options, StopFlag& stop);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_COMPILE_HERE_H_
