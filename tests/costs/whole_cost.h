// The published formula of a whole program whose layouts are decided, by the functions that count
// single accesses and conversions.
#ifndef TARSIA_TESTS_COSTS_WHOLE_COST_H_
#define TARSIA_TESTS_COSTS_WHOLE_COST_H_

#include "compiler/cost/cost.h"
#include "compiler/tile/form.h"

namespace tarsia::costs {

// What a warp does. The form is one after the pass `layouts`.
compiler::Work WorkOf(const compiler::tile::Form& form, compiler::Target target);

}  // namespace tarsia::costs

#endif  // TARSIA_TESTS_COSTS_WHOLE_COST_H_
