// Compiling on the calling thread.
#ifndef TARSIA_COMPILER_COMPILE_HERE_H_
#define TARSIA_COMPILER_COMPILE_HERE_H_

#include "compiler/compile.h"

namespace tarsia::compiler {

// As Compile. Checks `stop` between passes and between the instructions of the program; the error
// is then diag::kCompileStopped.
Result<CompiledKernel> CompileHere(const Program& program, Target target,
                                   const CompileOptions& options, StopFlag& stop);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_COMPILE_HERE_H_
