// How many bytes of workspace a launch needs: what the host computes of CompiledKernel::workspace.
#ifndef TARSIA_COMPILER_WORKSPACE_H_
#define TARSIA_COMPILER_WORKSPACE_H_

#include <cstdint>
#include <vector>

#include "compiler/compile.h"

namespace tarsia::compiler {

// Bytes of one run, a multiple of kWorkspaceAlignment. `scalars` are the scalar parameters' codes
// by parameter; entries of pointers are ignored. Errors: extents outside of 0 to 2^40, a layout
// that does not fit.
Result<uint64_t> WorkspaceBytes(const Program& program, const Workspace& workspace,
                                const std::vector<uint64_t>& scalars);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_WORKSPACE_H_
