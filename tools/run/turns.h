// `tarsia run --turns`: how the turns of a launch's loops are spread over its blocks.
#ifndef TARSIA_TOOLS_RUN_TURNS_H_
#define TARSIA_TOOLS_RUN_TURNS_H_

#include "tools/handles.h"
#include "tools/run_args.h"

namespace tarsia::tools {

// Prints a line for each loop. Returns an exit code; errors are printed.
int ShowTurns(const tarsia_plan* plan, const RunArgs& args, bool json);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_RUN_TURNS_H_
