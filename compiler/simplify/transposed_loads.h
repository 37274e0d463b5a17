// Tiles that are loaded to be transposed.
#ifndef TARSIA_COMPILER_SIMPLIFY_TRANSPOSED_LOADS_H_
#define TARSIA_COMPILER_SIMPLIFY_TRANSPOSED_LOADS_H_

#include "compiler/tile/form.h"

namespace tarsia::compiler {

// Loads of which only `permute .. order [1, 0]` uses the elements become loads of the transposed
// memory, a view of the same bytes: the columns of a row-major tile are the rows of the other.
void TransposeLoads(tile::Form& form);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SIMPLIFY_TRANSPOSED_LOADS_H_
