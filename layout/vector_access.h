// The widest legal access of a register tile through a partly known tensor: known are the alignment
// of its pointer and divisors of the tile's position and of the strides. TileAccess::WidestVector
// handles one position of a fully known tensor.
#ifndef TARSIA_LAYOUT_VECTOR_ACCESS_H_
#define TARSIA_LAYOUT_VECTOR_ACCESS_H_

#include <cstdint>

#include "layout/mem_layout.h"
#include "layout/reg_layout.h"
#include "support/result.h"

namespace tarsia {

struct AddressFacts {
  int64_t pointer_alignment = 16;  // bytes that divide the address of the tensor
  // The tile begins at any index that is a multiple of these, one per dimension, and lies within
  // the tensor. Empty: at the origin; 0 in a dimension: at its beginning.
  Extents index_multiples = {};
  // The stride of a dimension is some multiple of this many elements instead of the layout's; 0:
  // the layout's. Empty: all strides are known. Only for strided layouts with one mode per
  // dimension.
  Extents stride_multiples = {};
};

// Bytes (16, 8, 4, 2 or 1) of the widest access that is legal at every place where the tile may be;
// 0 where bits must be moved one by one. Errors: those of TileAccess, ranks that differ, negative
// facts, strides said to be open where modes or packing fix them.
Result<int> WidestAccess(const RegLayout& tile, const MemLayout& tensor, int bits,
                         const AddressFacts& facts);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_VECTOR_ACCESS_H_
