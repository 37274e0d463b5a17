// Loads in loops, and those that the author wants to arrive by copies that run ahead.
#ifndef TARSIA_COMPILER_LOOPS_ARRIVALS_H_
#define TARSIA_COMPILER_LOOPS_ARRIVALS_H_

#include <string>
#include <vector>

#include "compiler/target.h"
#include "compiler/tile/form.h"
#include "support/diagnostic.h"

namespace tarsia::compiler {

// Loads of global memory in loops, in the order of the text, with those in branches there.
std::vector<tile::OpId> GlobalLoadsInLoops(const tile::Form& form);

// Whether loads with `via async` are left.
bool HasAsyncLoads(const tile::Form& form);
// One that is left after the pass `pipeline`, and why. `before` is the form before that pass.
struct LateLoad {
  Location location;  // of the attribute
  std::string why;
};
LateLoad FindLateLoad(const tile::Form& after, const tile::Form& before, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LOOPS_ARRIVALS_H_
