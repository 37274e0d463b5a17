// How `topk` finds the best elements along an axis.
//
// An element is one number, whose high bits order the values and whose low bits their indices, so
// that no two are equal and the better one is the greater. Each thread sorts its own by a network
// of comparators. The lanes along the axis then find the best of what each has left, again and
// again. Warps pass what they found on through shared memory, where the same begins anew.
#ifndef TARSIA_COMPILER_SELECT_TOP_K_H_
#define TARSIA_COMPILER_SELECT_TOP_K_H_

#include <cstdint>
#include <vector>

#include "compiler/tile_layout.h"
#include "dtypes/dtype.h"

namespace tarsia::compiler {

// The greater of two wires goes to `first`.
struct Comparator {
  int64_t first = 0;
  int64_t second = 0;
  friend bool operator==(const Comparator&, const Comparator&) = default;
};
// Afterwards the first min(n, k) of n wires have the greatest in order. It is Batcher's merge
// exchange (Knuth, The Art of Computer Programming 3, 5.2.2, algorithm M) without the comparators
// on which those do not depend.
std::vector<Comparator> SelectionNetwork(int64_t n, int64_t k);

// The bits of the number of an element: 32, 64, or 128. Those below the type's are of the index,
// one of which is no element's.
unsigned OrderBits(DType type, int64_t extent);

// What is found on the way, for each row of elements along the axis.
struct TopKPlan {
  int64_t rows = 1;       // of a thread
  int64_t elements = 0;   // of a row in a thread
  int64_t in_thread = 0;  // the most that a thread has to offer
  int64_t in_warp = 0;    // that the lanes along the axis find
  ThreadReduction threads;
  // The parts of warps are looked through by all lanes at once: each has so many of them. 0: each
  // thread looks through all.
  int64_t of_lane = 0;

  [[nodiscard]] bool whole_warp() const { return threads.lane_masks.size() == 5; }
  [[nodiscard]] int64_t parts() const { return threads.parts * in_warp; }
};
TopKPlan PlanTopK(const TileLayout& source, int64_t axis, int64_t k);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_TOP_K_H_
