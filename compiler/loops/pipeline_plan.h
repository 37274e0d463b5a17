// What the pass `pipeline` does with a loop: which loads begin turns ahead, and how they arrive.
#ifndef TARSIA_COMPILER_LOOPS_PIPELINE_PLAN_H_
#define TARSIA_COMPILER_LOOPS_PIPELINE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/loops/counted_loop.h"
#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// A load whose elements come by an asynchronous copy into a ring of stages in shared memory.
struct RingLoad {
  tile::OpId load = tile::kNone;
  tile::ValueId whole = tile::kNone;  // the tile of whose slices it loads
  // The operations of the loop on which its address depends, in their order.
  std::vector<tile::OpId> address;
  // A tile of the loop in shared memory that gets the loaded elements and no others: the ring takes
  // its place, and its layout. kNone: the elements go from the ring to the registers of the load.
  tile::ValueId staged = tile::kNone;
  tile::OpId allocation = tile::kNone;  // of that tile
  tile::OpId view = tile::kNone;        // through which it gets them, if it is one of bytes
  tile::OpId store = tile::kNone;       // to it, or to the view
};

// Why a load stays where it is, or the whole loop as it is.
struct Obstacle {
  tile::OpId op = tile::kNone;     // the load, or the loop
  tile::OpId other = tile::kNone;  // what is in the way; kNone: nothing but `op` itself
  std::string why;
};

struct PipelinePlan {
  tile::OpId loop = tile::kNone;
  CountedLoop bounds;
  int64_t stages = 0;        // of the rings: turns in flight, and the one that computes; 0: none
  int64_t instructions = 0;  // of a thread in a turn, roughly
  // A turn reduces tiles, but for sums of a batch. Two such turns side by side take registers for
  // both: ptxas computes one while the other waits for its reductions.
  bool reduces = false;
  // Products of a turn that the loop does not carry, but for those with constants, and the
  // registers of a thread for all and for the tiles that it carries beside them; 0 without any.
  int64_t products = 0;
  int64_t sums = 0;
  int64_t unroll = 0;  // what the text says; 0: nothing
  std::vector<RingLoad> loads;
  std::vector<Obstacle> obstacles;
};

// Whether the loop has loads come ahead although there is no hint: if it has a `dot`
// that tensor cores compute.
bool IsPipelinedByDefault(const tile::Form& form, tile::OpId loop, Target target);

// For a loop with `pipeline n`, n at least 2, and for those that are pipelined by default; nothing
// for others. The stages are bounded by the number of turns, not by the shared memory of the
// target.
std::optional<PipelinePlan> PlanPipeline(const tile::Form& form, tile::OpId loop, Target target);

// The turns of the loop that become one.
int64_t RoundOf(const PipelinePlan& plan, int64_t stages);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LOOPS_PIPELINE_PLAN_H_
