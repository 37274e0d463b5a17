// Loads and stores of register tiles: which slots move at once, under which mask, to and from which
// address.
//
// Where no width can be proven (access_width.h), elements move one by one, and codes narrower than
// a byte by the bytes that hold them.
#ifndef TARSIA_COMPILER_LLVM_CODE_ACCESS_EMITTER_H_
#define TARSIA_COMPILER_LLVM_CODE_ACCESS_EMITTER_H_

#include <cstdint>
#include <optional>

#include "compiler/llvm/code/access_width.h"
#include "compiler/llvm/code/bit_merger.h"
#include "compiler/llvm/code/packed_map.h"
#include "compiler/llvm/code/tile_addresses.h"
#include "compiler/select/matrices.h"
#include "layout/bit_layout.h"

namespace tarsia::compiler {

class AccessEmitter {
 public:
  AccessEmitter(FunctionBuilder& function, Memory& memory, Layouts& layouts, TileWindow window);
  AccessEmitter(const AccessEmitter&) = delete;
  AccessEmitter& operator=(const AccessEmitter&) = delete;

  // Elements by slot; zero bits where nothing exists.
  Slots Load(AccessPolicy policy);
  // Whether the words that it reads are those of `bits`, slot by slot. Then LoadWords gives them as
  // they are.
  [[nodiscard]] bool ReadsWordsOf(const BitLayout& bits) const;
  Slots LoadWords(AccessPolicy policy);
  // Stores each element once, by its first holder, and only where it exists.
  void Store(const Slots& slots, AccessPolicy policy);

  // For accesses that this class does not emit.
  TileAddresses& addresses() { return addresses_; }
  // The address of the byte where an element begins.
  Address ByteAddress(int64_t slot) { return addresses_.PlaceOf(slot).byte; }
  [[nodiscard]] const AccessWidth& width() const { return width_; }

 private:
  [[nodiscard]] AccessPolicy PolicyOfLoads(AccessPolicy policy) const;
  [[nodiscard]] std::optional<BitLayoutFamily> OrderOfWords() const;
  // By `ldmatrix` or `stmatrix`, where the tile consists of fragments whose rows lie in shared
  // memory.
  [[nodiscard]] std::optional<MatrixAccesses> FindMatrices(bool stores) const;
  Slots ReadMatrices(const MatrixAccesses& loads);
  void WriteMatrices(const MatrixAccesses& stores, const Slots& slots);
  // Elements of whole bytes, and vectors of codes that fill bytes.
  [[nodiscard]] int WordBytes() const { return std::min(width_.unit, 4); }
  Slots ReadVectors();
  Slots LoadVectors();
  void StoreVectors(const Slots& slots, AccessPolicy policy);
  // Codes that share bytes with others.
  llvm::Value* LoadBits(int64_t slot, llvm::Value* condition);
  [[nodiscard]] int64_t RunOfBits() const;
  Slots LoadRunsOfBits(int64_t run);
  void StoreBits(const Slots& slots);
  // Packed memory tiles: code by code, or whole packed tiles where the layouts agree.
  Slots LoadPacked();
  llvm::Value* LoadPackedCode(PackedMap& map, int64_t slot);
  Slots ReadPackedTiles(const RegLayout& outer);
  Slots LoadPackedTiles(const RegLayout& outer);
  llvm::Value* PackedTileExists(const Slots& root);
  struct PackedPiece {
    Address address;
    int bytes = 0;
  };
  [[nodiscard]] llvm::Value* ThreadOfPackedTile() const;
  std::vector<PackedPiece> PackedPiecesAt(PackedMap& map, const Slots& root, llvm::Value* thread);
  void CodesOfNothing(llvm::Value* exists, Slots& words);
  void StorePacked(const Slots& slots);
  void StorePackedTiles(const RegLayout& outer, const Slots& slots, AccessPolicy policy);
  Slots MasksOfPackedWords(int64_t first);
  void MergePackedWords(const std::vector<PackedPiece>& pieces, const Slots& words,
                        const Slots& masks);

  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  Memory& memory_;
  const TileWindow window_;
  const MemoryTile& tile_;  // in memory
  const AccessWidth width_;
  Layouts& layouts_;
  TileAddresses addresses_;
  AccessPolicy policy_;             // of the load that is emitted
  std::optional<RegLayout> outer_;  // of packed tiles whose words belong to threads
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_ACCESS_EMITTER_H_
