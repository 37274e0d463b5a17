// How the elements of a tile lie in shared scratch while they change threads.
#ifndef TARSIA_COMPILER_SELECT_SCRATCH_H_
#define TARSIA_COMPILER_SELECT_SCRATCH_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/select/matrices.h"
#include "compiler/target.h"
#include "compiler/tile_layout.h"

namespace tarsia::compiler {

struct ScratchOrder {
  Extents strides;       // elements, by dimension
  int64_t elements = 0;  // of the room that they take, with gaps
};

// How one side of an exchange accesses elements that follow each other along a dimension.
struct ScratchSide {
  int64_t run = 1;                         // neighbouring slots of an access
  std::optional<MatrixAccesses> matrices;  // instead

  // What a thread does for a tile.
  [[nodiscard]] int64_t Accesses(const TileLayout& tile) const {
    return matrices ? matrices->InstructionsFor(tile) : tile.slots() / run;
  }
};

// A tile of `bytes` bytes an element from one layout to another; both have one shape, of rank 1 at
// least.
struct ScratchPlan {
  int fast = 0;  // the dimension along which elements follow each other
  ScratchSide put, get;
  // The layouts of the accesses under the shape that `order` has strides for: those of the tile, or
  // with one dimension split. Slots are numbered as in the tile, or in the rows of matrices.
  TileLayout put_places, get_places;
  ScratchOrder order;
};

// Neighbouring slots whose elements are neighbours along a dimension.
int64_t ChunkAlong(const TileLayout& layout, int dim);
// Neighbouring slots that one access of at most 16 bytes moves if elements of `bytes` bytes follow
// each other along a dimension.
int64_t RunAlong(const TileLayout& layout, int dim, int bytes);

// An order of the elements of a tile: they follow each other along `fast`, then along the other
// dimensions from the last one on. One dimension may be split into groups of `group` elements,
// which then count as a dimension of their own, behind the row along `fast` or, where that is the
// one that is split, behind the group. Gaps are elements that are left free.
struct ScratchGaps {
  int fast = 0;
  int split = -1;
  int64_t group = 1;
  int64_t inner = 0;  // after a row, or a group, along `fast`
  int64_t outer = 0;  // after each whole run of the next dimension

  friend auto operator<=>(const ScratchGaps&, const ScratchGaps&) = default;
};

// A tile of `bytes` bytes an element as one end of exchanges: what follows from its layout alone.
// Those who ask about many pairs of layouts make it once for each. Not safe from several threads.
class ScratchEnd {
 public:
  enum class Side : uint8_t { kPut, kGet };
  // Of the first access of the first warp; the others are like it.
  struct Banks {
    int64_t wavefronts = 0;
    int64_t phases = 0;  // the wavefronts without conflicts
  };

  ScratchEnd(TileLayout layout, int bytes, Target target);
  // One that accesses runs of slots only, no matrices.
  ScratchEnd(TileLayout layout, int bytes);

  [[nodiscard]] const TileLayout& tile() const { return tile_; }
  [[nodiscard]] int bytes() const { return bytes_; }
  [[nodiscard]] const ScratchSide& Along(int fast, Side side) const;
  [[nodiscard]] int64_t Accesses(int fast, Side side) const {
    return Along(fast, side).Accesses(tile_);
  }
  // The bytes of an access of a thread.
  [[nodiscard]] int Unit(int fast, Side side) const;
  // The layout of the accesses: that of the tile or of the rows of matrices.
  [[nodiscard]] const TileLayout& Accessed(int fast, Side side) const;
  // The same with the dimension split; null if elements would change their place. Remembers its
  // answers, as the next one does.
  const TileLayout* Places(const ScratchGaps& gaps, Side side);
  // Empty if there are no such places.
  std::optional<Banks> BanksOf(const ScratchGaps& gaps, Side side);

 private:
  [[nodiscard]] std::optional<Banks> FindBanks(const ScratchGaps& gaps, Side side);

  TileLayout tile_;
  int bytes_ = 0;
  std::vector<ScratchSide> puts_, gets_;  // by the dimension along which elements follow each other
  std::map<std::pair<ScratchGaps, Side>, std::optional<Banks>> banks_;
  // By what is accessed (the rows of matrices along a dimension, or -1: the tile), the dimension
  // that is split, and its groups.
  std::map<std::tuple<int, int, int64_t>, std::optional<TileLayout>> places_;
};

// The way through shared memory from one end to another: along the dimension with the fewest
// accesses, with the gaps that have the fewest bank conflicts; where conflicts remain, along
// another dimension if that takes fewer wavefronts. The ends outlive it; they have one shape, of
// rank 1 at least.
class ScratchSearch {
 public:
  ScratchSearch(ScratchEnd& from, ScratchEnd& to);

  // Of a thread, both sides. Before the search the fewest of all ways.
  [[nodiscard]] int64_t Accesses() const { return way_.puts + way_.gets; }
  // Of a warp, both sides. Searches for gaps; to be called once.
  int64_t Wavefronts();
  // After that.
  [[nodiscard]] ScratchPlan Plan() const;

 private:
  enum class Found : uint8_t { kGoOn, kNoConflicts, kNoPlaces };
  // Along a dimension, with the best gaps so far.
  struct Way {
    int fast = 0;
    int64_t puts = 0, gets = 0;  // of a thread
    int64_t wavefronts = INT64_MAX;
    bool has_conflicts = true;
    ScratchGaps gaps;
  };
  [[nodiscard]] Way WayAlong(int fast) const;
  void SearchGaps();
  Found Try(const ScratchGaps& gaps);
  Found TryRows();
  void TryRuns();

  ScratchEnd& from_;
  ScratchEnd& to_;
  Way way_;
};

ScratchPlan PlanScratch(const TileLayout& from, const TileLayout& to, int bytes, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_SCRATCH_H_
