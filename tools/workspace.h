// The device memory that a plan needs besides its arguments.
#ifndef TARSIA_TOOLS_WORKSPACE_H_
#define TARSIA_TOOLS_WORKSPACE_H_

#include <cstddef>

#include "tarsia/tarsia.h"

namespace tarsia::tools {

// Allocates and initialises a workspace for launches with these arguments; null if the plan needs
// none. The caller frees it.
tarsia_status MakeWorkspace(tarsia_device* device, const tarsia_plan* plan, const tarsia_arg* args,
                            size_t count, void** out);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_WORKSPACE_H_
