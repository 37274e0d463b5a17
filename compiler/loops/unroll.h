// The pass `unroll`.
#ifndef TARSIA_COMPILER_LOOPS_UNROLL_H_
#define TARSIA_COMPILER_LOOPS_UNROLL_H_

#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// Makes `n` turns of a `for` with `unroll n` one, and a second loop for the turns that are left
// over; a loop of at most `n` known turns is replaced by them. Loops stay as they are where a
// counter may leave its type, the step is not known, or that would make too many operations.
void Unroll(tile::Form& form, Target target);

// Puts the turns of a `for` of known turns at the end of a region, in its place. False: there are
// too many operations, and the form stays as it is.
bool UnrollWhole(tile::Form& form, tile::OpId loop, tile::RegionId into);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LOOPS_UNROLL_H_
