// Accesses to memory that no register tile takes part in: copies and prefetches.
#ifndef TARSIA_COMPILER_SELECT_BOX_H_
#define TARSIA_COMPILER_SELECT_BOX_H_

#include <cstdint>

#include "compiler/tile_layout.h"
#include "isa/instruction.h"
#include "isa/program.h"
#include "support/result.h"

namespace tarsia::compiler {

// How the threads of a block share the elements of a box of memory that an instruction accesses
// without a register tile: by vectors if it writes them, else by sectors, along the dimension in
// which elements of `source`, the memory that it reads, follow each other.
Result<TileLayout> LayoutOfBox(const InstRow& row, const Extents& shape, const ConcreteType& source,
                               int64_t threads);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_BOX_H_
