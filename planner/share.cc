#include "planner/share.h"

#include <bit>

namespace tarsia {

PlanShare MakeShare(uint32_t axis, int64_t extent, size_t rank, size_t ranks) {
  // Tiles end where ranges do. Large tiles are fast, but the ranges become less even.
  constexpr uint64_t kMostTile = 2048;
  constexpr uint64_t kTilesOfRange = 16;
  const auto count = static_cast<int64_t>(ranks);
  const uint64_t fine = static_cast<uint64_t>(extent) / (ranks * kTilesOfRange);
  PlanShare out;
  out.axis = axis;
  out.rank = rank;
  out.granule = static_cast<int64_t>(std::bit_floor(std::clamp<uint64_t>(fine, 1, kMostTile)));
  const int64_t granules = (extent + out.granule - 1) / out.granule;
  for (int64_t r = 0; r <= count; ++r) {
    out.bounds.push_back(std::min((granules * r + count - 1) / count * out.granule, extent));
  }
  return out;
}

}  // namespace tarsia
