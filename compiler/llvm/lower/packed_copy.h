// Packed tiles as bytes, in pieces of 16: copies from global to shared memory, where both sides
// hold the same tiles, so that bytes stay in their order, and prefetches.
#ifndef TARSIA_COMPILER_LLVM_LOWER_PACKED_COPY_H_
#define TARSIA_COMPILER_LLVM_LOWER_PACKED_COPY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/llvm/code/access_width.h"
#include "compiler/llvm/code/function_builder.h"
#include "compiler/llvm/code/layouts.h"
#include "compiler/llvm/code/memory.h"
#include "layout/access.h"
#include "layout/mem_layout.h"
#include "support/extents.h"

namespace tarsia::compiler {

// The pieces of a box of packed tiles, and who moves them: in turn i thread t has piece
// First(t) + i * Step(). The pieces of a tile follow each other, and tiles in row-major order.
//
// In the order by warps, a warp has pieces that follow each other in all its turns, 512 bytes in
// each. Then those of a thread lie so close that one address serves up to 8 copies: the offset in
// the machine instruction of `cp.async` has 12 bits.
class PackedPieces {
 public:
  enum class Order { kByBlock, kByWarps };
  // Nothing if the box does not consist of whole tiles. `rows`: takes the tiles of a row, which
  // follow each other in memory, for one tile. The order by warps needs pieces that the threads
  // share evenly and that come apart; where they do not, the order is that by block.
  static std::optional<PackedPieces> Of(const PackedTile& tile, const Extents& box, int64_t threads,
                                        bool rows, Order order);

  struct Place {
    Extents tile;  // in the box
    int64_t piece = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  [[nodiscard]] Place PlaceOf(int64_t number) const;

  [[nodiscard]] int64_t pieces() const { return pieces_; }  // of a tile
  [[nodiscard]] int64_t total() const { return total_; }
  [[nodiscard]] const Extents& grid() const { return grid_; }  // tiles
  [[nodiscard]] int64_t Turns() const { return (total_ + threads_ - 1) / threads_; }
  [[nodiscard]] int64_t Step() const { return by_warps_ ? kWarpThreads : threads_; }
  // First(t) is t + t / 32 * BetweenWarps().
  [[nodiscard]] int64_t First(int64_t thread) const {
    return thread + thread / kWarpThreads * BetweenWarps();
  }
  [[nodiscard]] int64_t BetweenWarps() const {
    return by_warps_ ? kWarpThreads * (Turns() - 1) : 0;
  }
  // Whether the place of a piece is the sum of those of First(t) and of i * Step().
  [[nodiscard]] bool ComeApart() const;

 private:
  Extents grid_;
  int64_t pieces_ = 0;
  int64_t total_ = 0;
  int64_t threads_ = 0;
  bool by_warps_ = false;
};

struct PackedPiece {
  Address at;
  llvm::Value* put = nullptr;     // i1: the thread has a piece in this turn; null: all have
  llvm::Value* exists = nullptr;  // i1: the tile exists; null: it does
};
// Of a box, those of a thread. Nothing if the window does not have whole tiles.
std::optional<std::vector<PackedPiece>> PiecesOfPackedTiles(FunctionBuilder& function,
                                                            Layouts& layouts,
                                                            const TileWindow& window);

struct PackedPieceCopy {
  Address to;
  PackedPiece from;
};
// Of the copy of a box. Nothing if the windows do not have whole tiles of one packed layout, or if
// those that do not exist would not be zeros.
std::optional<std::vector<PackedPieceCopy>> CopiesOfPackedPieces(FunctionBuilder& function,
                                                                 Layouts& layouts,
                                                                 const TileWindow& to,
                                                                 const TileWindow& from);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_LOWER_PACKED_COPY_H_
