// Loop nests that should be one loop: an inner loop with `pipeline n`, or with a `dot` and no hint,
// of so few turns that it would hardly begin before it ends, as the turns of a group of weights in
// the loop over the groups.
#ifndef TARSIA_COMPILER_LOOPS_NEST_H_
#define TARSIA_COMPILER_LOOPS_NEST_H_

#include <cstdint>
#include <optional>

#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

struct LoopNest {
  tile::OpId outer = tile::kNone;
  tile::OpId inner = tile::kNone;  // the only loop in the outer one
  int64_t turns = 0;               // of the inner loop in each turn of the outer one
  // Of the outer loop, so that as many turns are in flight; 0: the inner loop has no hint.
  int64_t stages = 0;
};

// Nothing if the outer loop has a hint `pipeline` of its own, or its turns cannot be counted, or if
// the inner one is not to be pipelined, or has more than 8 turns, or a number that is not known.
std::optional<LoopNest> FindNest(const tile::Form& form, tile::OpId outer, Target target);

// Puts the turns of the inner loop in its place, and gives the outer one the hint. False: there are
// too many operations, and the form stays as it is.
bool JoinNest(tile::Form& form, const LoopNest& nest);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LOOPS_NEST_H_
