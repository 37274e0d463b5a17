// The LLVM function of one kernel while it is built: its module and blocks, structured control
// flow, the numbers of threads and blocks, source lines. It has no variables: what control flow
// changes goes through phis.
//
// Control flow of a program is the same in all threads, so barriers are legal everywhere. What only
// some threads do is predicated within one instruction, or a branch without a barrier in it.
//
// Code that uses it calls it `f`, and its IR builder `b`.
#ifndef TARSIA_COMPILER_LLVM_CODE_FUNCTION_BUILDER_H_
#define TARSIA_COMPILER_LLVM_CODE_FUNCTION_BUILDER_H_

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "compiler/compile.h"
#include "compiler/llvm/code/words.h"
#include "compiler/llvm/element/element.h"
#include "isa/program.h"

namespace tarsia::compiler {

class FunctionBuilder {
 public:
  // The function has the parameters of `entry`; code goes to its body, which is empty. Names of
  // values serve those who read the LLVM IR.
  FunctionBuilder(const Program& program, const CompiledKernel& entry, bool line_info,
                  bool keep_names);

  llvm::Module& module() { return *module_; }
  llvm::IRBuilder<>& b() { return builder_; }

  // ---- types and constants -------------------------------------------------------------------
  llvm::Type* I(unsigned bits) { return builder_.getIntNTy(bits); }
  llvm::Type* TypeOf(DType type) { return ElementType(*context_, type); }
  llvm::Value* Int32(int64_t x) { return builder_.getInt32(static_cast<uint32_t>(x)); }
  llvm::Value* Int64(int64_t x) { return builder_.getInt64(static_cast<uint64_t>(x)); }
  llvm::Value* Bool(bool x) { return builder_.getInt1(x); }
  llvm::Value* Constant(DType type, uint64_t code) {
    return ElementConstant(*context_, type, code);
  }

  // ---- blocks ----------------------------------------------------------------------------------
  // While it lives, code goes to the end of the entry block, whose values all blocks may use.
  class EntryScope {
   public:
    explicit EntryScope(FunctionBuilder& function) : guard_(function.builder_) {
      function.builder_.SetInsertPoint(function.entry_end_);
    }

   private:
    llvm::IRBuilder<>::InsertPointGuard guard_;
  };
  llvm::Value* Argument(size_t number) { return function_->getArg(static_cast<unsigned>(number)); }
  llvm::BasicBlock* NewBlock(const llvm::Twine& name);
  // Emits `body` for threads where `condition` holds (null: all); no barriers inside.
  void If(llvm::Value* condition, const std::function<void()>& body);
  // The same for a body that gives values; those of the other threads are `otherwise`.
  Slots If(llvm::Value* condition, const Slots& otherwise, const std::function<Slots()>& body);
  // Emits `body(i, values)` for i (i32) = 0 .. count - 1, the same in all threads. The first turn
  // gets `first`, each other one what the turn before it gave. Returns what the last one gave.
  Slots Loop(llvm::Value* count, const Slots& first,
             const std::function<Slots(llvm::Value*, const Slots&)>& body);
  // The branch that ends the turn of a loop: makes `turns` of them one, if it can; 1: leaves them
  // as they are; 0: leaves that to LLVM and ptxas.
  void SetUnrolled(llvm::BranchInst* back, int64_t turns);
  // Ends the block of threads; what follows goes to a block that nothing reaches.
  void Return();
  // Ends the function: the last return, and the debug information.
  void Finish();
  // What follows is the code of a line of the source.
  void SetLine(Location location);

  // ---- instructions -------------------------------------------------------------------------
  // Of i1 values; null stands for true.
  llvm::Value* And(llvm::Value* a, llvm::Value* c);
  llvm::Value* CallIntrinsic(unsigned id, llvm::ArrayRef<llvm::Type*> types,
                             llvm::ArrayRef<llvm::Value*> arguments, bool convergent = false);
  // Of i32 or i64 and a constant.
  llvm::Value* Plus(llvm::Value* x, int64_t constant);
  llvm::Value* Times(llvm::Value* x, int64_t constant);
  // A special register (i32). LLVM is told the range of its values, which makes shorter code.
  llvm::Value* ReadRegister(unsigned id);
  // An instruction without operands that no access to memory may cross. Those that are
  // `convergent` are executed by all threads of a block together.
  void Order(const std::string& text, bool convergent = false);
  void Barrier();

  // ---- threads ------------------------------------------------------------------------------
  [[nodiscard]] int64_t threads() const { return threads_; }  // of a block
  llvm::Value* Thread() { return thread_; }                   // i32, in the block
  llvm::Value* LinearBlock();                                 // i64, x fastest

 private:
  void MakeFunction(const CompiledKernel& entry, std::optional<int64_t> registers);
  void MakeDebugInfo(const Program& program, const std::string& name);

  const int64_t threads_;
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> builder_;
  std::unique_ptr<llvm::DIBuilder> debug_;
  llvm::DISubprogram* subprogram_ = nullptr;  // null: no source lines
  llvm::Function* function_ = nullptr;
  llvm::Instruction* entry_end_ = nullptr;
  llvm::Value* thread_ = nullptr;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_FUNCTION_BUILDER_H_
