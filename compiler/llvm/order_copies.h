// Where asynchronous copies and loads from shared memory stand among products.
#ifndef TARSIA_COMPILER_LLVM_ORDER_COPIES_H_
#define TARSIA_COMPILER_LLVM_ORDER_COPIES_H_

#include <llvm/IR/PassManager.h>

namespace tarsia::compiler {

// ptxas moves no load from shared memory across an asynchronous copy, which writes there. If all
// copies of a turn come first, its loads wait until the queue of the memory unit has taken them
// (on an H200 a quarter of the samples of a product of f16 stood there). This pass spreads the
// copies over the products of a block of code, and puts a load just before the products that use
// it, a few products early. Between two barriers the order of copies and loads that follow them has
// no meaning: what such a load reads, no copy of the same turn may write.
class OrderCopiesPass : public llvm::PassInfoMixin<OrderCopiesPass> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ORDER_COPIES_H_
