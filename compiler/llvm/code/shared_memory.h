// The shared memory of a block (compiler/plan_shared.h): where it begins, and the scratch in it
// through which threads exchange what they have.
#ifndef TARSIA_COMPILER_LLVM_CODE_SHARED_MEMORY_H_
#define TARSIA_COMPILER_LLVM_CODE_SHARED_MEMORY_H_

#include <cstdint>

#include "compiler/llvm/code/function_builder.h"
#include "compiler/plan_shared.h"

namespace tarsia::compiler {

class SharedMemory {
 public:
  SharedMemory(const SharedPlan& plan, FunctionBuilder& function) : plan_(plan), f_(function) {}

  // i32 address of the block's shared memory.
  llvm::Value* Base();

  // i32 address of the scratch.
  llvm::Value* Scratch();
  // The bytes of scratch that a use gets which asks for `wanted` bytes.
  [[nodiscard]] uint64_t ScratchRoom(uint64_t wanted) const;
  // Notes that `bytes` of the scratch are used, from its start.
  void TakeScratch(uint64_t bytes);
  [[nodiscard]] uint64_t scratch_bytes() const {
    return scratch_bytes_;
  }  // the most that one use takes

 private:
  const SharedPlan& plan_;
  FunctionBuilder& f_;
  // Values of the entry block.
  llvm::Value* base_ = nullptr;
  llvm::Value* scratch_ = nullptr;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_SHARED_MEMORY_H_
