// Whether a file holds what an input of a graph needs, and what would help if not.
#ifndef TARSIA_TOOLS_REDUCE_CHECK_INPUT_H_
#define TARSIA_TOOLS_REDUCE_CHECK_INPUT_H_

#include <string>
#include <string_view>
#include <vector>

#include "isa/module.h"
#include "planner/plan.h"
#include "tools/tensor_io.h"

namespace tarsia::tools {

// For each input of the graph, the constants that are the extents of its axes; "" for an extent
// that is no constant alone.
std::vector<std::vector<std::string>> ExtentConstants(const Module& module, std::string_view name);

// The tensor as a .npy file has it: complex numbers that the format cannot name as their parts,
// along a last axis.
PlanTensor AsStored(PlanTensor tensor);

// Whether the file has the type and the shape of the input: a file whose format cannot name the
// type has its bytes, whatever it calls them. Prints an error if not; returns an exit code.
int CheckInput(const InputTensorFile& file, const PlanTensor& tensor,
               const std::vector<std::string>& constants);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_REDUCE_CHECK_INPUT_H_
