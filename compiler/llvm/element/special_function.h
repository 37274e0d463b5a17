// Functions of f32 that the GPU's own approximations compute, corrected until they keep the ulp
// column of isa.def. Their errors are those of ptx/table/approximations.def.
#ifndef TARSIA_COMPILER_LLVM_ELEMENT_SPECIAL_FUNCTION_H_
#define TARSIA_COMPILER_LLVM_ELEMENT_SPECIAL_FUNCTION_H_

#include <llvm/ADT/ArrayRef.h>

#include "dtypes/dtype.h"
#include "isa/instruction.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace tarsia::compiler {

// rsqrt, exp, exp2 or tanh of an f32 that is good enough for a result of `type`, which is f32, f16
// or bf16, and for operands of that type. Null for other operations.
llvm::Value* EmitSpecialFunction(llvm::IRBuilderBase& builder, Opcode op, DType type,
                                 llvm::Value* x);

// The form of f32 that the GPU has of a row with a `fast` error in isa.def, with that error. All
// but that of tanh count operands and results below 2^-126 as 0.
llvm::Value* EmitFastForm(llvm::IRBuilderBase& builder, Opcode op, llvm::ArrayRef<llvm::Value*> x);

// a / b of f32, correctly rounded, for operands of `type`: f32 or bf16.
llvm::Value* EmitQuotient(llvm::IRBuilderBase& builder, DType type, llvm::Value* a, llvm::Value* b);

// 1 / x, and the square root of x, of f32: correctly rounded, and so is the rounding to `type`
// (f32, f16 or bf16) for operands of that type.
llvm::Value* EmitReciprocal(llvm::IRBuilderBase& builder, DType type, llvm::Value* x);
llvm::Value* EmitSquareRoot(llvm::IRBuilderBase& builder, DType type, llvm::Value* x);

// a / b of f16 values in f32, so that its rounding to f16 is the correctly rounded quotient.
llvm::Value* EmitQuotientOfHalves(llvm::IRBuilderBase& builder, llvm::Value* a, llvm::Value* b);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ELEMENT_SPECIAL_FUNCTION_H_
