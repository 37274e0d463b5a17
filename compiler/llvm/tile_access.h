// How the slots of a register tile meet the elements of a tile in memory: which of them exist, at
// which address each lies, and how many neighbours move at once.
//
// Wide accesses need proof: that the elements of a vector follow each other in memory, that their
// address is aligned, and that either all or none of them exist. The proofs come from layouts and
// from what is known of indices and extents (facts.h). Where there is none, elements move one by
// one, and codes narrower than a byte by the bytes that hold them.
#ifndef TARSIA_COMPILER_LLVM_TILE_ACCESS_H_
#define TARSIA_COMPILER_LLVM_TILE_ACCESS_H_

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/llvm/emitter.h"
#include "layout/bit_layout.h"

namespace tarsia::compiler {

class PackedMap;

class TileAccess {
 public:
  // The tile's element 0 is element `start` of `memory`.
  TileAccess(Emitter& e, const MemoryTile& memory, LayoutId layout,
             const std::vector<IndexValue>& start);

  // Along `axis`, slot i's index in `memory` is indices[i] (i64) instead.
  void SetAxis(int axis, Slots indices);

  // Elements by slot; zero bits where nothing exists.
  Slots Load(Emitter::Cache cache);
  // After Load: the words that hold the codes, as they were read, if those are the words of `bits`
  // (slot by slot); else nothing.
  [[nodiscard]] Slots WordsOf(const BitLayout& bits) const;
  // Each element once, by its first holder; what does not exist is dropped.
  void Store(const Slots& slots, Emitter::Cache cache);

  // i1, or null for always: whether slot's element exists in memory.
  llvm::Value* Exists(int64_t slot);
  // Of the byte where an element begins.
  Address ByteAddress(int64_t slot);
  // Bytes that addresses of single elements are known to be multiples of.
  [[nodiscard]] uint64_t ElementAlignment() const;

  // The dimension along which elements follow each other in memory; -1: none that is known.
  [[nodiscard]] int ContiguousDim() const;
  // Slots that move at once, each group neighbours in memory and in the slot order.
  [[nodiscard]] int64_t vector() const { return vector_; }
  // Bytes of one access of a vector.
  [[nodiscard]] int unit() const { return unit_; }

 private:
  // The root index of slot's element along a dimension: value + constant.
  struct Coordinate {
    llvm::Value* value = nullptr;  // i64
    int64_t constant = 0;
  };
  Coordinate CoordinateOf(int64_t slot, int dim);
  llvm::Value* RootIndex(int64_t slot, int dim);
  void ChooseVector();
  [[nodiscard]] bool MayVector(int dim, int64_t v) const;
  [[nodiscard]] bool Inside(int dim, bool low) const;
  llvm::Value* LinearOffset(int64_t slot, int64_t* constant);
  llvm::Value* ModesOffset(int64_t slot);
  llvm::Value* Swizzled(llvm::Value* byte);
  llvm::Value* Mask(int64_t slot, bool first_holder);

  // Elements of whole bytes, vectors of them or of codes that fill bytes.
  Slots LoadVectors(Emitter::Cache cache);
  void StoreVectors(const Slots& slots, Emitter::Cache cache);
  // Codes that share bytes with others.
  struct BitPlace {
    Address byte;                // of the byte that holds the code's first bit
    Address next;                // of the byte behind it, which a swizzle may put elsewhere
    llvm::Value* bit = nullptr;  // i32, 0 to 7: where in that byte
  };
  BitPlace PlaceOf(int64_t slot);
  [[nodiscard]] bool ConstantsMayFollow() const;
  llvm::Value* LoadBits(int64_t slot, llvm::Value* condition);
  void StoreBits(int64_t slot, llvm::Value* code, llvm::Value* condition);
  [[nodiscard]] Emitter::Cache SharedBits() const;
  void MergeBytes(const BitPlace& place, llvm::Value* code);
  void MergeWord(llvm::Value* address, llvm::Value* mask, llvm::Value* bits);
  [[nodiscard]] bool MayHaveTail() const;
  llvm::Value* EndOfMemory();
  void KeepForTail(llvm::Value* mask, llvm::Value* bits);
  void MergeTail();

  // Packed tiles: code by code, or whole packed tiles where the layouts agree.
  Slots LoadPacked();
  Slots LoadPackedTiles(PackedMap& map, const RegLayout& outer);
  void StorePacked(const Slots& slots);
  [[nodiscard]] std::optional<RegLayout> OuterOfPacked() const;
  [[nodiscard]] bool PackedTilesAreWhole() const;
  std::vector<llvm::Value*> RootIndices(int64_t slot);
  Address AddressOf(llvm::Value* byte);

  Emitter& e_;
  const MemoryTile& memory_;
  const LayoutId layout_;
  const TileLayout& tile_;
  std::vector<IndexValue> root_;  // of the tile's element 0
  int axis_ = -1;
  Slots axis_indices_;
  int64_t vector_ = 1;
  int unit_ = 0;  // 0: bit by bit
  Slots words_;   // what was read, if the slots fill whole words
  std::optional<BitLayoutFamily> words_order_;
  // What was made once: masks by dimension and offset; root indices of the thread's slot at 0 by
  // dimension; the offset that they come to, and its address; offsets times strides.
  std::map<std::pair<int, int64_t>, llvm::Value*> low_masks_, high_masks_;
  Slots of_thread_;
  llvm::Value* linear_ = nullptr;
  llvm::Value* address_ = nullptr;
  std::map<std::pair<int, int64_t>, llvm::Value*> strides_;
  // What this thread stores to the last word of memory that ends within it: which bits, and those.
  llvm::AllocaInst* tail_mask_ = nullptr;
  llvm::AllocaInst* tail_bits_ = nullptr;
};

// The code of a slot in a thread's 32-bit words, and words of codes (integers in containers).
llvm::Value* CodeOfWords(Emitter& e, const BitLayout& bits, int64_t slot, const Slots& words);
Slots WordsOfCodes(Emitter& e, const BitLayout& bits, const Slots& codes);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_TILE_ACCESS_H_
