// What the kernel itself has to check while it runs, because the host cannot check it before the
// launch.
#ifndef TARSIA_COMPILER_RUNTIME_CHECKS_H_
#define TARSIA_COMPILER_RUNTIME_CHECKS_H_

#include "isa/program.h"

namespace tarsia::compiler {

// Whether the host can compute an expression before the launch.
bool DependsOnParametersAlone(const Program& program, ExprId expr);
// Whether some instruction may report to the host (compiler/report_buffer.h).
bool NeedsReport(const Program& program);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_RUNTIME_CHECKS_H_
