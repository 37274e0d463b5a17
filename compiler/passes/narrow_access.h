// Which accesses to global memory are narrower than they could be, and what would widen them.
#ifndef TARSIA_COMPILER_PASSES_NARROW_ACCESS_H_
#define TARSIA_COMPILER_PASSES_NARROW_ACCESS_H_

#include <vector>

#include "compiler/facts/program_facts.h"
#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// Of each `load` and `store` of a tile in global memory that does not lie packed, by line: the
// assumption on a parameter, or else the extent or index, that keeps a thread from accesses of 16
// bytes, or of all that it has of the tile if that is less; with what the cheapest layouts would
// cost less under the assumption. The form is one before the pass `layouts`.
std::vector<LineAdvice> AdviceOnNarrowAccesses(const tile::Form& form, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_NARROW_ACCESS_H_
