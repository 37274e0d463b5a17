// A chunk of a tensor as runs of bytes that are contiguous on both sides.
#ifndef TARSIA_RUNTIME_GRAPHS_CHUNK_RUNS_H_
#define TARSIA_RUNTIME_GRAPHS_CHUNK_RUNS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "planner/plan.h"
#include "support/result.h"

namespace tarsia::runtime {

// Bytes of the tensor outside of the arena, and of the buffer.
struct ChunkRun {
  uint64_t outside = 0, inside = 0, bytes = 0;
};

// Calls `use` for each run of the part of `tensor` that a step with `ranges` transfers, in the
// order of the tensor, up to the first error.
Status ForEachRun(const PlanTensor& tensor, const PlanBuffer& buffer,
                  std::span<const StepRange> ranges,
                  const std::function<Status(const ChunkRun&)>& use);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_GRAPHS_CHUNK_RUNS_H_
