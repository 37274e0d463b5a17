// Where the codes of a packed memory tile lie (layout/mem_layout.h, "Packed form"): code that
// computes the place of any element.
#ifndef TARSIA_COMPILER_LLVM_CODE_PACKED_MAP_H_
#define TARSIA_COMPILER_LLVM_CODE_PACKED_MAP_H_

#include <vector>

#include "compiler/llvm/code/function_builder.h"
#include "compiler/llvm/code/memory_tiles.h"

namespace tarsia::compiler {

class PackedMap {
 public:
  PackedMap(FunctionBuilder& function, const MemoryTile& memory);

  // Where an element is: in which thread's words (byte offset of the tile, i32 or i64; thread,
  // i32), and at which slot (i32) of that thread.
  struct Home {
    llvm::Value* tile_byte = nullptr;
    llvm::Value* thread = nullptr;
    llvm::Value* slot = nullptr;
  };
  // `root`: the element's root index along each dimension, i64.
  Home HomeOf(const std::vector<llvm::Value*>& root);
  // The byte offset of the tile alone, i64.
  llvm::Value* TileByte(const std::vector<llvm::Value*>& root);

  // Bits of a code that follow each other in one word, whichever slot it is in.
  struct Run {
    int first = 0;
    int count = 1;
    [[nodiscard]] uint64_t mask() const { return (uint64_t{1} << count) - 1; }
  };
  [[nodiscard]] std::vector<Run> Runs() const;
  // Of one bit of the code in a slot: the byte address (i64, from the tensor's address 0) of the
  // 32-bit word that holds it, and its place there (i32).
  struct BitAddress {
    llvm::Value* word_byte = nullptr;
    llvm::Value* bit = nullptr;
  };
  BitAddress Bit(const Home& home, int bit);
  // Bits of the slot's code that are stored complemented: i64.
  llvm::Value* Complement(const Home& home);

 private:
  [[nodiscard]] bool IsSmall() const;
  llvm::Value* TileByte(const std::vector<llvm::Value*>& root, llvm::Type* type);
  // An array of constants, read at a place (i32).
  llvm::Value* Lookup(const std::vector<uint32_t>& table, llvm::Value* at, const char* name);

  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  const MemoryTile& memory_;
  const PackedTile& packed_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_PACKED_MAP_H_
