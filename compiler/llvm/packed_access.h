// Where the codes of a packed memory tile lie (layout/mem_layout.h, "Packed form"): the map of one
// element to the words of one thread, as code that runs on a thread.
#ifndef TARSIA_COMPILER_LLVM_PACKED_ACCESS_H_
#define TARSIA_COMPILER_LLVM_PACKED_ACCESS_H_

#include <vector>

#include "compiler/llvm/emitter.h"

namespace tarsia::compiler {

class PackedMap {
 public:
  PackedMap(Emitter& e, const MemoryTile& memory);

  // Where an element is: in which thread's words (byte offset of the tile, i64; thread, i32), and
  // at which slot (i32) of that thread.
  struct Home {
    llvm::Value* tile_byte = nullptr;
    llvm::Value* thread = nullptr;
    llvm::Value* slot = nullptr;
  };
  // `root`: the element's root index along each dimension, i64.
  Home HomeOf(const std::vector<llvm::Value*>& root);

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

  // The run of a thread's words that begins with `word`: how many, and where thread 0's lies within
  // a tile, in bytes; each next thread's follows at once.
  struct Piece {
    int64_t words = 1;
    int64_t first = 0;
  };
  [[nodiscard]] Piece PieceOf(int64_t word) const;

 private:
  // An array of constants, read at a place (i32).
  llvm::Value* Lookup(const std::vector<uint32_t>& table, llvm::Value* at, const char* name);

  Emitter& e_;
  const MemoryTile& memory_;
  const PackedTile& packed_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_PACKED_ACCESS_H_
