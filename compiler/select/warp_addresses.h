// The addresses that one access of a warp touches, lane by lane.
#ifndef TARSIA_COMPILER_SELECT_WARP_ADDRESSES_H_
#define TARSIA_COMPILER_SELECT_WARP_ADDRESSES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "compiler/select/parted_offset.h"
#include "compiler/tile_layout.h"
#include "layout/access.h"

namespace tarsia::compiler {

struct WarpAddresses {
  size_t lanes = 0;                              // of a block with less than a warp, fewer than 32
  std::array<uint64_t, kWarpThreads> address{};  // in bytes, by lane
  uint32_t active = 0;                           // bit i: lane i accesses something

  // Of accesses of `unit` bytes a lane, so many bytes further on. Lanes that access nothing keep
  // their place in a phase.
  [[nodiscard]] int64_t Sectors(int unit, uint64_t offset = 0) const;
  [[nodiscard]] int64_t Wavefronts(int unit) const;
  // The wavefronts without conflicts: at most 128 bytes are accessed at a time.
  [[nodiscard]] int64_t Phases(int unit) const;

 private:
  struct Active {
    std::array<uint64_t, kWarpThreads> address;  // the first `count` of it
    size_t count = 0;
    [[nodiscard]] std::span<const uint64_t> span() const { return {address.data(), count}; }
  };
  // Of the lanes from `first` on.
  [[nodiscard]] Active ActiveOf(size_t first, size_t count) const;
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
