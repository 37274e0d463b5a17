// The swizzle of a tile in shared memory that costs the fewest wavefronts over all of its accesses.
#ifndef TARSIA_LAYOUT_SWIZZLE_SEARCH_H_
#define TARSIA_LAYOUT_SWIZZLE_SEARCH_H_

#include <cstdint>
#include <optional>
#include <span>

#include "layout/mem_layout.h"
#include "layout/reg_layout.h"
#include "support/result.h"

namespace tarsia {

// One of the accesses of a tile.
struct SharedAccess {
  RegLayout tile;
  Extents offsets = {};  // where it begins in the memory tile; empty: at the origin
  int64_t weight = 1;    // how often it happens
  bool ldmatrix = true;  // ldmatrix and stmatrix are used where the shape allows
};

struct SwizzleChoice {
  std::optional<Swizzle> swizzle;  // nothing: the layout is best as it is
  int64_t wavefronts = 0;          // with it, over all accesses by weight
  int64_t before = 0;              // without it
  int64_t ideal = 0;               // the fewest any layout could need
};

// Tries every swizzle that moves chunks of 16 bytes within a row of 128 bytes by bits of the tile's
// addresses. Of equally good choices it prefers no swizzle, then fewer bits, then the shorter
// period. Errors: packed layouts, tiles that move no whole bytes, more than 2^18 addresses, those
// of TileAccess.
Result<SwizzleChoice> BestSwizzle(const MemLayout& memory, int bits,
                                  std::span<const SharedAccess> accesses);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_SWIZZLE_SEARCH_H_
