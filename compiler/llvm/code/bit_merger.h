// Stores of codes into words that may hold other codes besides: these by atomic operations that
// leave the bits of the others alone.
#ifndef TARSIA_COMPILER_LLVM_CODE_BIT_MERGER_H_
#define TARSIA_COMPILER_LLVM_CODE_BIT_MERGER_H_

#include <functional>

#include "compiler/llvm/code/memory.h"
#include "compiler/llvm/code/tile_addresses.h"

namespace tarsia::compiler {

class BitMerger {
 public:
  // `contested`: several threads may store the same element.
  BitMerger(FunctionBuilder& function, Memory& memory, const MemoryTile& tile, bool contested)
      : f_(function), b_(function.b()), memory_(memory), tile_(tile), contested_(contested) {}

  // Replaces the bits of a mask in the word at an address.
  void MergeWord(llvm::Value* address, llvm::Value* mask, llvm::Value* bits);
  // The same of a mask that may have no bits, or all, which takes a store.
  void StoreOrMerge(llvm::Value* address, llvm::Value* mask, llvm::Value* bits);

  // Codes of fewer than 8 bits, each in one byte or in two, in threads where the condition holds
  // (null: in all). Where memory may end within a word, the thread keeps what it stores to that
  // word until all codes are merged. Begin, Merge or MergeRun for all codes, End.
  void Begin();
  void Merge(const TileAddresses::Place& place, llvm::Value* code, llvm::Value* condition);
  // Codes that follow each other from a place on, which no swizzle moves, each where its condition
  // holds. A word of which all bits are theirs is stored as it is.
  void MergeRun(const TileAddresses::Place& place, const Slots& codes, const Slots& conditions);
  void End();

 private:
  [[nodiscard]] bool MayHaveTail() const;
  llvm::Value* EndOfMemory();
  // Emits `body` for threads where the condition holds; it may change what is kept.
  void If(llvm::Value* condition, const std::function<void()>& body);
  void MergeCode(const TileAddresses::Place& place, llvm::Value* code);
  void MergeShifted(const TileAddresses::Place& place, const Slots& words, const Slots& masks);
  void MergeOrKeep(llvm::Value* address, llvm::Value* mask, llvm::Value* bits);
  void KeepForTail(llvm::Value* mask, llvm::Value* bits);
  void MergeTail();

  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  Memory& memory_;
  const MemoryTile& tile_;
  const bool contested_;
  // What this thread stores to the last word of memory that ends within it: which bits, and their
  // values.
  Slots tail_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_BIT_MERGER_H_
