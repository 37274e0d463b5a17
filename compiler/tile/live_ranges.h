// The live ranges of the values of a tile form.
#ifndef TARSIA_COMPILER_TILE_LIVE_RANGES_H_
#define TARSIA_COMPILER_TILE_LIVE_RANGES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/tile/form.h"

namespace tarsia::compiler::tile {

// From `begin` to `end`, both included.
struct Interval {
  uint32_t begin = 0;
  uint32_t end = 0;
};
// Sorted and disjoint.
using LiveRange = std::vector<Interval>;

bool Overlap(const LiveRange& a, const LiveRange& b);
LiveRange Merged(const LiveRange& a, const LiveRange& b);

// The places of a kernel are numbered in the order of its text: before and after each operation,
// and at both ends of each region.
struct LiveRanges {
  std::vector<LiveRange> range;         // by value
  std::vector<Definition> definition;   // by value
  std::vector<uint32_t> defined_at;     // by value
  std::vector<uint32_t> before, after;  // by operation
  std::vector<uint32_t> begin, end;     // by region
  // A value that a loop takes as `init`, whose bounds use it too, must not share a variable with
  // another argument of the loop.
  std::vector<std::pair<ValueId, ValueId>> apart;
};

LiveRanges FindLiveRanges(const Form& form);

}  // namespace tarsia::compiler::tile

#endif  // TARSIA_COMPILER_TILE_LIVE_RANGES_H_
