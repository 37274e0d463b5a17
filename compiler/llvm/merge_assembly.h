// Statements of inline assembly, many made into one.
#ifndef TARSIA_COMPILER_LLVM_MERGE_ASSEMBLY_H_
#define TARSIA_COMPILER_LLVM_MERGE_ASSEMBLY_H_

#include <llvm/IR/PassManager.h>

namespace tarsia::compiler {

// Almost all instructions of a kernel are statements of inline assembly, and the time of LLVM's
// code generation goes with their operands: about three nodes for each. This pass, after those that
// move and drop statements one by one, makes one of those that stand together in a block. What only
// they exchange becomes registers of that statement, which LLVM never sees.
//
// The text keeps the order of the instructions and the line of each. A statement without effects
// may come to stand behind an access to memory that it stood in front of.
class MergeAssemblyPass : public llvm::PassInfoMixin<MergeAssemblyPass> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_MERGE_ASSEMBLY_H_
