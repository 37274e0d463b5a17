// Runs plans of a graph on files, through the C API.
#ifndef TARSIA_TOOLS_REDUCE_EXECUTION_H_
#define TARSIA_TOOLS_REDUCE_EXECUTION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/api/graph.h"
#include "tools/reduce/open_files.h"
#include "tools/reduce/world.h"

namespace tarsia::tools {

// What this process executes: one plan; or those of all ranks, one for each of its devices; or,
// with a `world`, that of its rank.
struct Execution {
  std::vector<std::unique_ptr<tarsia_graph_plan>> plans;  // loaded
  World* world = nullptr;
  uint64_t host_limit = 0;  // of each rank's transfers; 0: a usual size
  uint32_t threads = 0;     // of each rank on the device cpu; 0: all
};

// Reads the inputs, executes the plans, and writes the outputs; a file appears only if all of it
// was written. Returns an exit code, which is the same on all ranks unless one is at fault; errors
// are printed. `nanoseconds` becomes the time of all launches of the slowest rank of this process.
int ExecuteOnFiles(const Execution& execution, const ReduceFiles& files, uint64_t* nanoseconds);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_REDUCE_EXECUTION_H_
