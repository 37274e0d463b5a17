// Addresses that a loop moves on by the same step in each turn, or that no loop changes.
#ifndef TARSIA_COMPILER_LLVM_REDUCE_ADDRESSES_H_
#define TARSIA_COMPILER_LLVM_REDUCE_ADDRESSES_H_

#include <llvm/IR/PassManager.h>

namespace tarsia::compiler {

// Arguments of assembly in an innermost loop, mostly addresses, that are affine in the number of
// the turn get a register that the loop moves on. Those that differ by constants share it: ptxas
// puts constants into the instructions that access memory. So do those that no loop changes, of
// which ptxas kept each in a register of its own.
//
// LLVM's Loop Strength Reduction finds the same for our kernels after a search among all ways to
// write every affine value, which took a sixth of the time to compile a matmul.
class ReduceAddressesPass : public llvm::PassInfoMixin<ReduceAddressesPass> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function,
                                     llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_REDUCE_ADDRESSES_H_
