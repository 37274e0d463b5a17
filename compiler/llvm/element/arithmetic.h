// Arithmetic on single elements; the rules are those of dtypes/arith.h.
#ifndef TARSIA_COMPILER_LLVM_ELEMENT_ARITHMETIC_H_
#define TARSIA_COMPILER_LLVM_ELEMENT_ARITHMETIC_H_

#include <llvm/ADT/ArrayRef.h>

#include "dtypes/dtype.h"
#include "isa/instruction.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace tarsia::compiler {

// Both give null where the row of isa.def does not take the type.
llvm::Value* EmitUnary(llvm::IRBuilderBase& builder, Opcode op, DType type, llvm::Value* a);
llvm::Value* EmitBinary(llvm::IRBuilderBase& builder, Opcode op, DType type, llvm::Value* a,
                        llvm::Value* b);
// By the GPU's own form: of rows and types that have one (isa/instruction.h).
llvm::Value* EmitFast(llvm::IRBuilderBase& builder, Opcode op, DType type,
                      llvm::ArrayRef<llvm::Value*> x);
llvm::Value* EmitFma(llvm::IRBuilderBase& builder, DType type, llvm::Value* a, llvm::Value* b,
                     llvm::Value* c);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ELEMENT_ARITHMETIC_H_
