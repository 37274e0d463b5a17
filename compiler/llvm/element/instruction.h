// Single PTX instructions for which LLVM has no intrinsic.
#ifndef TARSIA_COMPILER_LLVM_ELEMENT_INSTRUCTION_H_
#define TARSIA_COMPILER_LLVM_ELEMENT_INSTRUCTION_H_

#include <llvm/ADT/ArrayRef.h>

namespace llvm {
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace tarsia::compiler {

// An instruction without effects, as inline assembly: LLVM may move, merge and drop it, but does
// not know what it computes.
llvm::Value* EmitInstruction(llvm::IRBuilderBase& builder, const char* text,
                             const char* constraints, llvm::Type* result,
                             llvm::ArrayRef<llvm::Value*> operands);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ELEMENT_INSTRUCTION_H_
