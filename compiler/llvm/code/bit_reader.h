// Loads of codes that need not begin with a byte, by the words that hold them.
#ifndef TARSIA_COMPILER_LLVM_CODE_BIT_READER_H_
#define TARSIA_COMPILER_LLVM_CODE_BIT_READER_H_

#include <cstdint>

#include "compiler/llvm/code/memory.h"
#include "compiler/llvm/code/tile_addresses.h"

namespace tarsia::compiler {

class BitReader {
 public:
  // Whether the memory may be read by words: no thread changes bits of a word meanwhile, and memory
  // begins with a word.
  static bool MayRead(const MemoryTile& tile) {
    return tile.space == Space::kGlobal && !tile.written && tile.alignment % 4 == 0;
  }
  BitReader(FunctionBuilder& function, Memory& memory, const MemoryTile& tile, AccessPolicy policy)
      : f_(function), b_(function.b()), memory_(memory), tile_(tile), policy_(policy) {}

  // So many bits that follow each other from a place on, as words; those outside of the memory are
  // zeros.
  Slots Read(const TileAddresses::Place& place, int64_t bits);

 private:
  llvm::Value* Tail(llvm::Value* offset, int64_t words);

  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  Memory& memory_;
  const MemoryTile& tile_;
  const AccessPolicy policy_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_BIT_READER_H_
