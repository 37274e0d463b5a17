// The arena of a plan over time, as a picture.
#ifndef TARSIA_TOOLS_REDUCE_ARENA_SVG_H_
#define TARSIA_TOOLS_REDUCE_ARENA_SVG_H_

#include <string>

#include "planner/plan.h"

namespace tarsia::tools {

// SVG: steps from left to right, bytes of the arena upwards, a box for each buffer. Buffers of one
// tensor have one colour. Dense strokes stand for the steps in which a buffer of chunks is filled
// and used again.
std::string ArenaSvg(const Plan& plan, const ConcreteGraph& graph);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_REDUCE_ARENA_SVG_H_
