// The pass `widen`.
#ifndef TARSIA_COMPILER_PASSES_WIDEN_H_
#define TARSIA_COMPILER_PASSES_WIDEN_H_

#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// Casts the operands of each `dot` of 8-bit floats that tensor cores of the target do not multiply:
// to f16, or to bf16 if f16 has not all their values. The products are the same. Leaves all else as
// it is.
void Widen(tile::Form& form, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_WIDEN_H_
