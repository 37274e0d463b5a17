// The attribute `via`: how the author wants tiles of global memory to arrive.
#ifndef TARSIA_COMPILER_LOOPS_ARRIVALS_H_
#define TARSIA_COMPILER_LOOPS_ARRIVALS_H_

#include <optional>
#include <vector>

#include "compiler/target.h"
#include "compiler/tile/form.h"
#include "isa/instruction.h"
#include "support/result.h"

namespace tarsia::compiler {

bool IsGlobalLoad(const tile::Form& form, const tile::Operation& op);
// What the text says of a load; nothing: the compiler chooses.
std::optional<Via> ViaOf(const tile::Form& form, const tile::Operation& load);
void SetVia(tile::Form& form, tile::Operation& load, Via via);

// Loads of global memory in loops, in the order of the text, with those in branches there.
std::vector<tile::OpId> GlobalLoadsInLoops(const tile::Form& form);

// Replaces each load with `via shared` by one to registers, a tile in shared memory that gets its
// elements, and a load from there. Layouts are chosen for both sides later.
void LoadThroughShared(tile::Form& form);

// Whether loads with `via async` are left.
bool HasAsyncLoads(const tile::Form& form);
// The error at one that is left after the pass `pipeline`. `before` is the form before that pass.
Diagnostic AsyncFault(const tile::Form& after, const tile::Form& before, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LOOPS_ARRIVALS_H_
