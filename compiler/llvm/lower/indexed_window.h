// The elements of a memory tile that a vector of indices chooses along an axis.
#ifndef TARSIA_COMPILER_LLVM_LOWER_INDEXED_WINDOW_H_
#define TARSIA_COMPILER_LLVM_LOWER_INDEXED_WINDOW_H_

#include "compiler/llvm/lower/emitter.h"

namespace tarsia::compiler {

// The whole of operand 0, for a tile whose indices along the instruction's axis operand 1 gives.
TileWindow IndexedWindow(Emitter& e, LayoutId layout);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_LOWER_INDEXED_WINDOW_H_
