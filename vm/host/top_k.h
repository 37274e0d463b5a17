// The largest elements of contiguous arrays of native containers, for the row topk of isa.def.
#ifndef TARSIA_VM_HOST_TOP_K_H_
#define TARSIA_VM_HOST_TOP_K_H_

#include <cstdint>

#include "dtypes/dtype.h"

namespace tarsia::host {

// src [outer, axis, inner] of an arithmetic type -> values and indices [outer, k, inner]: the k
// largest (or smallest) elements along the axis, the best first, of equals the one with the lower
// index. NaNs are ignored, and -0 is below +0. Where there are fewer elements, the value is -inf or
// the least integer (smallest: the opposite), and the index -1. A type that the row does not allow
// leaves the results unchanged. Thread-safe, without scratch; arrays are aligned to their
// containers, and the results may not overlap `src`.
void TopK(DType type, bool smallest, const void* src, int64_t outer, int64_t axis, int64_t inner,
          int64_t k, void* values, int32_t* indices);

}  // namespace tarsia::host

#endif  // TARSIA_VM_HOST_TOP_K_H_
