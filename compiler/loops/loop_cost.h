// What bounds the turns of a loop that reads global memory: the bytes, the instructions, the tensor
// cores, or the latency of memory.
#ifndef TARSIA_COMPILER_LOOPS_LOOP_COST_H_
#define TARSIA_COMPILER_LOOPS_LOOP_COST_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/cost/cost.h"
#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// A loop of the program after all passes.
struct LoopCost {
  uint32_t line = 0;
  int64_t ahead =
      0;  // turns of which copies are in flight while one computes; 0: it waits for its own
  int64_t turns = 1;  // that are one in the code
  int64_t bytes = 0;  // of global memory that a block reads in a turn
  Work work;          // of one warp in all turns that are one
  bool hint = false;  // it is a `for`, which can have `pipeline n`
};

// Of each loop that loads or copies tiles of global memory itself, and not only in a loop inside,
// by rising lines. Of what a pass made of a loop, the first that has copies: the steady turns.
std::vector<LoopCost> LoopCosts(const tile::Form& last, Target target);

enum class LoopBound : uint8_t { kBytes, kIssue, kTensor, kLatency };
inline constexpr size_t kLoopBounds = 4;
std::string_view NameOf(LoopBound bound);

// Cycles of a turn on a processor that runs so many warps, if nothing but that takes time.
struct LoopTimes {
  double cycles[kLoopBounds] = {};

  [[nodiscard]] double Of(LoopBound bound) const { return cycles[static_cast<size_t>(bound)]; }
  // The largest; of equal ones the first.
  [[nodiscard]] LoopBound Bound() const;
  // The largest beside latency.
  [[nodiscard]] LoopBound BoundBesideLatency() const;
};
LoopTimes TimesOf(const LoopCost& loop, int64_t warps, Target target);

// The least n with which `pipeline n` hides the latency of memory behind the rest of a turn.
int64_t StagesThatHide(const LoopTimes& times, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LOOPS_LOOP_COST_H_
