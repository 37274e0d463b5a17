// Values as lines of text, for `print` and traces.
#ifndef TARSIA_VM_TRACE_H_
#define TARSIA_VM_TRACE_H_

#include <cstdint>
#include <span>
#include <string>

#include "vm/interpreter.h"

namespace tarsia::vm {

class Agent;
class Plan;
struct PlannedInst;

// An instruction as text; "}" where a block ends.
std::string TextOf(const Plan& plan, const PlannedInst& inst);

// Longest runs of rows and of elements in a row that are shown whole by traces; of longer ones,
// the two halves of so many, with dots between.
inline constexpr int64_t kTraceEdge = 8;

// Calls sink(line) for each innermost row of a row-major tile: `prefix[1, :] = 3 4 5`. A tile of
// rank 0 is one line without index. `edge` > 0 shortens rows and the list of rows.
void WriteRows(std::string_view prefix, DType type, std::span<const int64_t> shape,
               const void* tile, int64_t edge, const LineSink& sink);

// The lines of a result in a trace, indented.
void TraceResult(Agent& agent, uint32_t value, const LineSink& sink);

}  // namespace tarsia::vm

#endif  // TARSIA_VM_TRACE_H_
