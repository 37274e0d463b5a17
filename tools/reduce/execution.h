// Runs a plan of a graph on files, through the C API.
#ifndef TARSIA_TOOLS_REDUCE_EXECUTION_H_
#define TARSIA_TOOLS_REDUCE_EXECUTION_H_

#include <cstdint>
#include <map>
#include <string>

#include "runtime/api/graph.h"

namespace tarsia::tools {

struct ReduceFiles {
  std::map<std::string, std::string> inputs;   // a file for each input
  std::map<std::string, std::string> outputs;  // files for some outputs
};

// Reads the inputs, executes the plan, which is loaded, and writes the outputs; a file appears only
// if all of it was written. Returns an exit code; errors are printed. `threads`: 0 is all.
// `nanoseconds` becomes the time of all launches.
int ExecuteOnFiles(const tarsia_graph_plan& plan, const ReduceFiles& files, uint32_t threads,
                   uint64_t* nanoseconds);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_REDUCE_EXECUTION_H_
