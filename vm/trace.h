// The values that an instruction makes as lines of text, for traces.
#ifndef TARSIA_VM_TRACE_H_
#define TARSIA_VM_TRACE_H_

#include <cstdint>

#include "launch/rows.h"

namespace tarsia::vm {

class Agent;
class Plan;
struct PlannedInst;

// An instruction as text; "}" where a block ends.
std::string TextOf(const Plan& plan, const PlannedInst& inst);

// Traces show up to this many rows, and elements of a row, in full; of more, only the first and the
// last half of this many, with dots between.
inline constexpr int64_t kTraceEdge = 8;

// The lines of a result in a trace, indented.
void TraceResult(Agent& agent, uint32_t value, const launch::LineSink& sink);

}  // namespace tarsia::vm

#endif  // TARSIA_VM_TRACE_H_
