// The addresses that one access of a warp touches, lane by lane.
#ifndef TARSIA_COMPILER_SELECT_WARP_ADDRESSES_H_
#define TARSIA_COMPILER_SELECT_WARP_ADDRESSES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/select/parted_offset.h"
#include "compiler/tile_layout.h"

namespace tarsia::compiler {

struct WarpAddresses {
  std::vector<uint64_t> address;  // in bytes, by lane
  std::vector<bool> active;       // by lane: whether it accesses anything

  // Of accesses of `unit` bytes a lane. Lanes that access nothing keep their place in a phase.
  [[nodiscard]] int64_t Sectors(int unit) const;
  [[nodiscard]] int64_t Wavefronts(int unit) const;
  // The wavefronts without conflicts: at most 128 bytes are accessed at a time.
  [[nodiscard]] int64_t Phases(int unit) const;
};

// Where the first warp has its slot 0 of a tile whose neighbours along dimension d lie strides[d]
// elements of `bits` bits apart. Lanes whose element is padding are not active; with `only_first`
// neither are those that are not the first holder of theirs.
WarpAddresses AddressesOf(const TileLayout& layout, std::span<const int64_t> strides, int bits,
                          bool only_first);
// The same where the places of the tile are known, in bytes.
WarpAddresses AddressesOf(const TileLayout& layout, const StridedBytes& places, bool only_first);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_WARP_ADDRESSES_H_
