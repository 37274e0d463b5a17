// What reductions and scans combine: the elementwise instruction that joins two parts, the type in
// which it does so, and what no elements give.
#ifndef TARSIA_COMPILER_LLVM_LOWER_COMBINE_H_
#define TARSIA_COMPILER_LLVM_LOWER_COMBINE_H_

#include <llvm/IR/IRBuilder.h>

#include <cstdint>

#include "dtypes/dtype.h"
#include "isa/instruction.h"

namespace tarsia::compiler {

// Of reduce.sum to reduce.all, and scan.sum to scan.max.
Opcode JoinOf(Opcode combines);
// f32 for sums and products of f16 and bf16, else the type itself.
DType JoinedIn(Opcode combines, DType type);
// The code to which no elements combine.
uint64_t EmptyCode(Opcode combines, DType type);
// The least (or greatest) value of a type that min and max order, as a code: infinities of floats.
uint64_t ExtremeCode(DType type, bool greatest);
// An integer that orders codes as min and max order values: of floats the complement of the
// magnitude below zero, so that -0 is below +0. Its own inverse.
llvm::Value* KeyOf(llvm::IRBuilder<>& b, llvm::Value* code, DType type);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_LOWER_COMBINE_H_
