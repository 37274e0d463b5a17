// Moves elements between a row-major matrix and the packed form (layout/mem_layout.h), for any
// packed layout of a matrix: the same moves, derived from the layout alone, pack and unpack. Fast:
// a move takes bits that stay together from one slot of 32 threads to one word of each, in loops
// that compilers vectorise.
//
// Immutable once made; safe from any thread.
#ifndef TARSIA_RUNTIME_WEIGHTS_TILE_MAP_H_
#define TARSIA_RUNTIME_WEIGHTS_TILE_MAP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "layout/mem_layout.h"
#include "runtime/weights/parallel.h"

namespace tarsia {

// A part of a matrix; the rows of its elements lie `stride` apart in memory.
struct Region {
  int64_t row = 0;
  int64_t column = 0;
  int64_t rows = 0;
  int64_t columns = 0;
};

class TileMap {
 public:
  // Elements are held in uint8_t if they have at most 8 bits, else in uint32_t.
  template <typename T>
  using Fill = std::function<void(const Region&, T* out, int64_t stride)>;
  template <typename T>
  using Take = std::function<void(const Region&, const T* in, int64_t stride)>;

  // `layout` is packed, whole, of rank 2, with elements of at most 32 bits.
  explicit TileMap(const MemLayout& layout);

  [[nodiscard]] uint64_t bytes() const { return layout_.SizeBytes(bits_); }

  // Packs the whole matrix into bytes() bytes. `fill` writes the elements of a region, in the low
  // bits; it is called from several threads. Returns false if `progress` cancelled it.
  template <typename T>
  bool Pack(const Fill<T>& fill, uint8_t* out, const Progress& progress = {}) const;

  // The inverse; `take` is given the elements of a region. Does not look at the padding.
  template <typename T>
  bool Unpack(const uint8_t* in, const Take<T>& take, const Progress& progress = {}) const;

  // Whether every bit that holds no element is zero.
  [[nodiscard]] bool PaddingIsZero(const uint8_t* in) const;

 private:
  // Bits of an element that move together: `mask` of the element, then left by `shift` (right if it
  // is negative), are bits of the word.
  struct Move {
    uint32_t slot = 0;
    uint32_t mask = 0;
    int shift = 0;
  };
  struct Word {
    uint32_t first = 0;  // of its moves
    uint32_t end = 0;
    int64_t place = 0;  // of thread 0, in words
    int64_t piece = 1;  // from thread to thread
  };

  void MakeMoves();
  void MakeEdges();
  // The regions that are packed at a time: several tiles side by side.
  [[nodiscard]] int64_t Regions() const;
  [[nodiscard]] Region RegionOf(int64_t number) const;
  // The bits of a tile that hold codes; empty: all of them.
  [[nodiscard]] const std::vector<uint32_t>& Used(int64_t tile_row, int64_t tile_column) const;
  void Mend(int64_t first, int64_t piece, const std::vector<uint32_t>& used, uint32_t* lanes) const;
  template <typename T>
  void PackTile(const T* elements, const std::vector<uint32_t>& used, uint8_t* out) const;
  template <typename T>
  void UnpackTile(const uint8_t* in, T* elements) const;

  MemLayout layout_;
  int bits_ = 0;
  int64_t threads_ = 0;
  int64_t slots_ = 0;
  int64_t tile_rows_ = 0, tile_columns_ = 0;
  int64_t tiles_across_ = 1;  // in a region
  std::vector<Move> moves_;
  std::vector<Word> words_;
  std::vector<uint32_t> elements_;    // [slot][thread]: place in a region's buffer
  std::vector<uint32_t> complement_;  // words of a tile; empty: none
  std::vector<uint32_t> used_[2][2];  // [at the last row of tiles][at the last column]
};

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_TILE_MAP_H_
