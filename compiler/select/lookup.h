// How `lookup` finds the elements of a table by codes, and where the table has to be for that.
#ifndef TARSIA_COMPILER_SELECT_LOOKUP_H_
#define TARSIA_COMPILER_SELECT_LOOKUP_H_

#include <cstdint>

#include "compiler/tile_layout.h"
#include "dtypes/dtype.h"

namespace tarsia::compiler {

enum class LookupWay : uint8_t {
  // Every thread holds the table by bytes, and `prmt` chooses those of four codes at once: for up
  // to 16 elements of at most 16 bits, about 3 instructions an element of 16 bits and 1.6 of 8. Of
  // 32 bits it would be 6.
  kPermute,
  // A lane holds one element, and a shuffle asks the lane that the code says: up to 32 elements.
  kShuffle,
  // The table lies in shared memory.
  kShared,
};
LookupWay WayOfLookup(DType codes, DType elements);

// The layout that the table has to have in a block of so many threads.
TileLayout TableLayout(DType codes, DType elements, int64_t threads);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_LOOKUP_H_
