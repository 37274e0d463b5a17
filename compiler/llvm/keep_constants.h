// Constant operands of products, kept in registers.
#ifndef TARSIA_COMPILER_LLVM_KEEP_CONSTANTS_H_
#define TARSIA_COMPILER_LLVM_KEEP_CONSTANTS_H_

#include <llvm/IR/PassManager.h>

namespace tarsia::compiler {

// Constant fragments correct products of raw codes: what is wrong with a code is the same in all
// its columns. `mma` takes its operands from registers that follow each other, and ptxas makes
// those of a constant anew for each product, with a move for each register: 169 of 1,976
// instructions of a loop over weights of 7 bits. This pass gives products in loops registers whose
// constants ptxas cannot see, made once at the beginning of the kernel. It takes 16 registers at
// most, for the constants that most products use.
class KeepConstantsPass : public llvm::PassInfoMixin<KeepConstantsPass> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function,
                                     llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_KEEP_CONSTANTS_H_
