// Arithmetic on all elements that a thread has of a tile: two halves (f16 or bf16) of a 32-bit word
// by one instruction where the target has one, everything else element by element.
#ifndef TARSIA_COMPILER_LLVM_ELEMENT_PAIRS_H_
#define TARSIA_COMPILER_LLVM_ELEMENT_PAIRS_H_

#include <llvm/ADT/ArrayRef.h>

#include "compiler/llvm/element/element.h"

namespace tarsia::compiler {

// An elementwise row of isa.def on a type that it takes.
struct Computation {
  Opcode op;
  DType type;
  bool fast = false;  // by the GPU's own form, which the row and the type have
};

// Its results on its operands, which have equally many elements; nulls where the row does not take
// the type.
Elements EmitOnAll(llvm::IRBuilderBase& builder, Target target, const Computation& what,
                   llvm::ArrayRef<Elements> operands);

// The casts of all values. `random` is empty, or has an i32 for each.
Elements EmitCastOfAll(llvm::IRBuilderBase& builder, Target target, const Elements& values,
                       DType from, DType to, CastOptions options, const Elements& random);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ELEMENT_PAIRS_H_
