// Changes of layout within each warp by `shfl`: where no element leaves its warp.
//
// Layouts of powers of two give each bit of an element's index to a bit of the thread's number or
// of the slot's. A lane reads one slot of another lane, or chooses among its own by bits of its
// number: both at once would take a shuffle for each slot that it may choose, which shared memory
// does for less in all but the smallest tiles.
#ifndef TARSIA_COMPILER_SELECT_SHUFFLES_H_
#define TARSIA_COMPILER_SELECT_SHUFFLES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/tile_layout.h"

namespace tarsia::compiler {

struct ShufflePlan {
  int64_t run = 1;    // neighbouring slots that move as one word of 32 bits
  int64_t words = 1;  // of 32 bits of a slot; 1 if `run` is more
  // The lane that is read: bit `to` is bit `from` of the reader's thread.
  struct ThreadBit {
    int from = 0;
    int to = 0;
  };
  std::vector<ThreadBit> lane;
  // For each run of the result: what else the lane's number has, and the first slot of the source
  // by the value of the reader's thread at `choice`.
  struct Run {
    int64_t lane = 0;
    std::vector<int64_t> sources;
  };
  std::vector<Run> runs;
  std::vector<int> choice;  // bits of the thread, the lowest of the number first
  bool reads_others = false;

  [[nodiscard]] int64_t reads() const {
    return static_cast<int64_t>(runs.size()) * words * (int64_t{1} << choice.size());
  }
  [[nodiscard]] int64_t shuffles() const { return reads_others ? reads() : 0; }
  [[nodiscard]] int64_t selections() const {
    return reads() - static_cast<int64_t>(runs.size()) * words;
  }
};

// Of elements of 8, 16, 32 or 64 bits. Empty: some thread needs an element of another warp, or the
// layouts are not of powers of two.
std::optional<ShufflePlan> PlanShuffles(const TileLayout& from, const TileLayout& to, int bits);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_SHUFFLES_H_
