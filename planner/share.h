// How several ranks (processes or devices) share a plan: one axis is cut into a range for each, and
// every rank makes the same plan but for its range. Kernels that have the axis run over the range;
// all others run on every rank. What they reduce over the axis is *merged*: rank 0 takes the states
// of the others, in the order of the ranks, and sends the result back to all.
#ifndef TARSIA_PLANNER_SHARE_H_
#define TARSIA_PLANNER_SHARE_H_

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tarsia {

inline constexpr uint32_t kMostRanks = 4096;

struct PlanShare {
  uint32_t axis = 0;
  size_t rank = 0;
  std::vector<int64_t> bounds;  // of the ranges of all ranks: one more than there are ranks
  int64_t granule = 1;          // a power of two that divides all bounds but the last one

  [[nodiscard]] size_t ranks() const { return bounds.size() - 1; }
  [[nodiscard]] int64_t low() const { return bounds[rank]; }
  [[nodiscard]] int64_t high() const { return bounds[rank + 1]; }  // without it
  [[nodiscard]] bool IsEmpty(size_t of) const { return bounds[of] == bounds[of + 1]; }
  // The longest range, which the kernels and buffers of all ranks have room for.
  [[nodiscard]] int64_t longest() const {
    int64_t out = 0;
    for (size_t r = 0; r < ranks(); ++r) out = std::max(out, bounds[r + 1] - bounds[r]);
    return out;
  }

  friend auto operator<=>(const PlanShare&, const PlanShare&) = default;
};

// Ranges of `extent` elements of an axis, as long as each other but for a sixteenth, in the order
// of the ranks. If there are fewer elements than ranks, some have none, but never rank 0.
PlanShare MakeShare(uint32_t axis, int64_t extent, size_t rank, size_t ranks);

}  // namespace tarsia

#endif  // TARSIA_PLANNER_SHARE_H_
