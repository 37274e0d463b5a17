// The entry of a kernel: its name and its parameters, those of the program and the hidden ones that
// follow them.
#ifndef TARSIA_COMPILER_ENTRY_H_
#define TARSIA_COMPILER_ENTRY_H_

#include "compiler/compile.h"
#include "compiler/runtime_checks.h"

namespace tarsia::compiler {

// A kernel of which the name, the threads, the parameters and the workspace are set. Errors: more
// bytes of parameters than a launch on the target may have; scratch whose size does not follow from
// parameters.
Result<CompiledKernel> DescribeEntry(const Program& program, const RuntimeChecks& checks,
                                     Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_ENTRY_H_
