// Moves codes of at most 8 bits between a row-major matrix and the packed form
// (layout/mem_layout.h), for any packed layout of a matrix: the same moves, derived from the layout
// alone, pack and unpack. Fast: a move takes bits that stay together from one slot of 32 threads to
// one word of each, in vector code.
//
// Immutable once made; safe from any thread.
#ifndef TARSIA_RUNTIME_WEIGHTS_TILE_MAP_H_
#define TARSIA_RUNTIME_WEIGHTS_TILE_MAP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "layout/mem_layout.h"
#include "runtime/weights/code_loops.h"
#include "runtime/weights/parallel.h"
#include "runtime/weights/weight_image.h"

namespace tarsia {

// A part of a matrix; the rows of its codes, a byte for each, lie `stride` apart in memory.
struct Region {
  int64_t row = 0;
  int64_t column = 0;
  int64_t rows = 0;
  int64_t columns = 0;
};

class TileMap {
 public:
  using Fill = std::function<void(const Region&, uint8_t* out, int64_t stride)>;
  using Take = std::function<void(const Region&, const uint8_t* in, int64_t stride)>;

  // `layout` is packed, whole, of rank 2.
  explicit TileMap(const MemLayout& layout);

  // The packed matrix in pieces. `fill` writes the codes of a region, in the low bits. Both the map
  // and `fill` must outlive the pieces.
  [[nodiscard]] PartPieces Pieces(const Fill& fill) const;

  // The inverse of packing; `take` is given the codes of a region, and is called from several
  // threads. Does not look at the padding. Returns false if `progress` cancelled it.
  bool Unpack(const uint8_t* in, const Take& take, const Progress& progress = {}) const;

  // Whether every bit that holds no element is zero.
  [[nodiscard]] bool PaddingIsZero(const uint8_t* in) const;

 private:
  // Words of a thread that lie together.
  struct Piece {
    int64_t word = 0;  // the first of them
    int64_t words = 1;
    int64_t place = 0;  // of thread 0, in words
  };

  void MakeMoves();
  void FindQuads();
  void MakeEdges();
  // The regions that are packed at a time: several tiles side by side.
  [[nodiscard]] int64_t RegionsAcross() const;
  [[nodiscard]] int64_t Regions() const { return layout_.tiles()[0] * RegionsAcross(); }
  [[nodiscard]] Region RegionOf(int64_t number) const;
  // The first tile of a region, in the order of memory; of region Regions(): the number of tiles.
  [[nodiscard]] int64_t FirstTile(int64_t number) const;
  // The bits of a tile that hold codes; empty: all of them.
  [[nodiscard]] const std::vector<uint32_t>& Used(int64_t tile_row, int64_t tile_column) const;
  void Mend(const std::vector<uint32_t>& used, uint8_t* tile) const;
  void Gather(const uint8_t* codes, int64_t warp, uint8_t* by_slot) const;
  void PackTile(const uint8_t* codes, const std::vector<uint32_t>& used, uint8_t* by_slot,
                uint8_t* out) const;
  void PackRegion(int64_t number, const Fill& fill, uint8_t* out) const;
  void UnpackWord(const uint8_t* in, int64_t place, int64_t step, int64_t word,
                  uint8_t* by_slot) const;
  void UnpackTile(const uint8_t* in, uint8_t* by_slot, uint8_t* codes) const;

  MemLayout layout_;
  int bits_ = 0;
  int64_t threads_ = 0;
  int64_t slots_ = 0;
  int64_t tile_rows_ = 0, tile_columns_ = 0;
  int64_t tiles_across_ = 1;  // in a region
  // From row to row of a region's codes, a line of the cache longer than a row: neighbours in a
  // column would contend for the same places of the cache.
  int64_t stride_ = 0;
  std::vector<CodeMove> moves_;
  std::vector<uint32_t> first_move_;  // of each byte of the words; at the end: their number
  std::vector<Piece> pieces_;
  std::vector<uint32_t> places_;  // [warp][slot][thread of the warp]: place in a region's buffer
  std::vector<uint32_t> quads_;   // [warp][slot]: that of thread 0; empty: not as in GatherQuads
  int64_t quad_step_ = 0;         // bytes from row to row of a quad
  std::vector<uint32_t> complement_;  // words of a tile; empty: none
  std::vector<uint32_t> used_[2][2];  // [at the last row of tiles][at the last column]
};

// Gives the codes of a dense matrix of n columns, a byte for each, which must outlive the result.
TileMap::Fill FillFrom(const uint8_t* codes, int64_t n);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_TILE_MAP_H_
