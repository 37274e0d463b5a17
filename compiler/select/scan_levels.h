// How the elements along an axis, which a scan combines one after the other, lie in a layout:
// digits of an element's index along the axis, each of which is a digit of the slot, of the lane,
// or of the thread.
//
// A scan works from the last digit to the first. Elements that differ in the digits so far are a
// block, and each level combines neighbouring blocks.
#ifndef TARSIA_COMPILER_SELECT_SCAN_LEVELS_H_
#define TARSIA_COMPILER_SELECT_SCAN_LEVELS_H_

#include <cstdint>
#include <vector>

#include "compiler/tile_layout.h"

namespace tarsia::compiler {

struct ScanLevel {
  enum class Kind : uint8_t {
    kSlots,
    kLanes,    // lanes of a warp: an extent and a stride that are powers of two
    kThreads,  // of several warps, or of no such lanes
  };
  Kind kind = Kind::kSlots;
  int64_t extent = 1;  // the digit is number / stride % extent
  int64_t stride = 1;  // of slots, or of threads
  int64_t along = 1;   // elements along the axis by which a step of the digit moves
  friend bool operator==(const ScanLevel&, const ScanLevel&) = default;
};

// From the last digit to the first.
std::vector<ScanLevel> ScanLevels(const TileLayout& source, int axis);

// A digit of the thread or slot number that tells the blocks of a level apart.
struct ScanPart {
  bool is_slot = false;
  int64_t extent = 1;
  int64_t stride = 1;
  int64_t step = 1;  // from a total to the next one of this digit, in shared memory
};

// Where the totals of a level lie in shared memory. Those of the lanes of a warp are neighbours,
// and the level's own digit comes last, so that lanes that read the same step meet no bank
// conflict.
struct ScanTotals {
  // Of blocks along the axis, and of what lies beside the axis; replicas are not told apart.
  std::vector<ScanPart> parts;
  int64_t step = 1;   // from a total to the next one of the level
  int64_t count = 1;  // of all totals

  // The sum of the parts that are digits of a thread, or of a slot.
  [[nodiscard]] int64_t PlaceOf(bool is_slot, int64_t number) const;
};
ScanTotals TotalsOf(const TileLayout& source, int axis, const ScanLevel& level);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_SCAN_LEVELS_H_
