// How a register tile of any shape lies in the threads of a block.
//
// A RegLayout factors its extents exactly; shapes of programs have any extents (0, 1, odd). So a
// tile layout is a RegLayout of a padded shape, each extent rounded up, and the true shape. Slots
// whose element is outside of the true shape are padding: their contents are never stored, reduced
// or printed. A tile without elements has no slots.
//
// Pure values; safe from any thread.
#ifndef TARSIA_COMPILER_TILE_LAYOUT_H_
#define TARSIA_COMPILER_TILE_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layout/reg_layout.h"
#include "support/result.h"

namespace tarsia::compiler {

class TileLayout {
 public:
  TileLayout() = default;  // one element of rank 0, one thread
  // Every element in a slot, no padding.
  static TileLayout Exact(RegLayout layout);
  // `layout` has at least the extents of `shape` (1 where that is 0), and the same rank.
  static TileLayout Padded(RegLayout layout, Extents shape);

  [[nodiscard]] const RegLayout& reg() const { return reg_; }
  [[nodiscard]] const Extents& shape() const { return shape_; }  // the true one
  [[nodiscard]] int rank() const { return reg_.rank(); }
  [[nodiscard]] bool empty() const { return empty_; }
  [[nodiscard]] int64_t threads() const { return reg_.threads(); }
  [[nodiscard]] int64_t slots() const { return empty_ ? 0 : reg_.slots(); }
  [[nodiscard]] bool PaddedAlong(int dim) const {
    return reg_.shape()[static_cast<size_t>(dim)] != shape_[static_cast<size_t>(dim)];
  }
  [[nodiscard]] bool padded() const { return reg_.shape() != shape_; }
  [[nodiscard]] bool replicated() const { return reg_.replication() > 1; }

  // The part of an element's index that depends on its slot, and the part that depends on its
  // thread; the index is their sum.
  [[nodiscard]] Extents SlotOffset(int64_t slot) const;
  [[nodiscard]] Extents ThreadOffset(int64_t thread) const;

  friend bool operator==(const TileLayout&, const TileLayout&) = default;

 private:
  RegLayout reg_;
  Extents shape_;
  bool empty_ = false;
};

// The layout as text; padded ones include the shape: `spatial(..) of [3, 5]`.
std::string ToString(const TileLayout& layout);

// ---- what inference chooses from -------------------------------------------------------------

// Rows of the dimension `fast` in vectors of up to `vector` elements, neighbouring threads side by
// side along it, then along the other dimensions from the last to the first; the remaining threads
// hold replicas. If `exact`, no more threads than divide what they share: nothing is padded.
Result<TileLayout> BlockedLayout(const Extents& shape, int64_t threads, int64_t vector, int fast,
                                 bool exact = false);
// The warps along the dimensions other than `axes`, from the first one on, as far as they divide
// them; in each warp rows as above. Empty if no warp can be told apart so.
std::optional<TileLayout> LayoutOfWarpRows(const Extents& shape, int64_t warps, int64_t vector,
                                           int fast, std::span<const int64_t> axes);

// The warps as in LayoutOfWarpRows where they can be; each thread has whole rows along `axes`, and
// neighbouring threads are side by side along `fast`, which is none of the axes.
std::optional<TileLayout> LayoutOfThreadRows(const Extents& shape, int64_t warps, int fast,
                                             std::span<const int64_t> axes);

// ---- the layout that a result has without moving data, from that of a source -----------------

// After a reduction (reduced axes stay with extent 1 if `keepdims`): replicas in the threads along
// the reduced axes.
Result<TileLayout> ReducedLayout(const TileLayout& source, std::span<const int64_t> axes,
                                 bool keepdims);
Result<TileLayout> PermutedLayout(const TileLayout& source, std::span<const int64_t> order);
// Empty if the elements would change their place.
std::optional<TileLayout> ReshapedLayout(const TileLayout& source, const Extents& shape);

// The source of slot i of `to`, if every thread already has its elements, in another order. -1 for
// slots that are padding in `from`.
std::optional<std::vector<int64_t>> SlotPermutation(const TileLayout& from, const TileLayout& to);

// How threads combine the parts of one result: first within warps, by exchanges with lane ^ mask
// for each mask; then through shared memory, with `parts` partial results each. The number of a
// thread's part is the sum of (thread / stride % extent), mixed radix in the order of `cross`.
struct ThreadReduction {
  struct Cross {
    int64_t stride = 1;  // of threads
    int64_t extent = 1;
  };
  std::vector<int> lane_masks;
  std::vector<Cross> cross;
  int64_t parts = 1;
};
ThreadReduction ReduceThreads(const TileLayout& source, std::span<const int64_t> axes);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_TILE_LAYOUT_H_
