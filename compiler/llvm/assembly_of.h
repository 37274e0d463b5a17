// Inline assembly in LLVM IR.
#ifndef TARSIA_COMPILER_LLVM_ASSEMBLY_OF_H_
#define TARSIA_COMPILER_LLVM_ASSEMBLY_OF_H_

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>

namespace tarsia::compiler {

// The assembly that an instruction calls; null if it is another one.
inline const llvm::InlineAsm* AssemblyOf(const llvm::Instruction& instruction) {
  const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call == nullptr ? nullptr : llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
}

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ASSEMBLY_OF_H_
