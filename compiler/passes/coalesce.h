// The pass `coalesce`.
#ifndef TARSIA_COMPILER_PASSES_COALESCE_H_
#define TARSIA_COMPILER_PASSES_COALESCE_H_

#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// Moves codes of fewer than 8 bits to and from rows of global memory as bytes, where that costs
// less: a thread's run of 3-bit codes takes several accesses, and the lanes of each of them lie
// apart, but bytes of a row can be split among lanes side by side. A tile that is only copied is
// one of bytes. Any other goes through a tile of its type in shared memory, whose other side is
// bytes. Rows must be whole bytes of a known number, and layouts and written register layouts are
// left alone.
void Coalesce(tile::Form& form, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_COALESCE_H_
