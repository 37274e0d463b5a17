// Running combinations of contiguous arrays of native containers, for the rows scan.* of isa.def.
// - sum, prod: integers wrap; f16 and bf16 accumulate in f32, and each result is rounded once;
//   elements are combined one by one, from the first on.
// - min, max: NaNs are ignored, -0 is below +0; +inf or the largest integer (max: the opposite)
//   where there is no element yet, or only NaNs.
// Thread-safe, without scratch; arrays are aligned to their container, and `out` may not overlap
// `src`.
#ifndef TARSIA_VM_HOST_SCAN_H_
#define TARSIA_VM_HOST_SCAN_H_

#include <cstdint>

#include "dtypes/dtype.h"
#include "isa/instruction.h"

namespace tarsia::host {

struct ScanForm {
  bool exclusive = false;  // a result does not include its own element
  bool reverse = false;    // from the end of the axis
};

// src [outer, axis, inner] -> out of the same shape; kScanSum to kScanMax on arithmetic types. An
// operation or type that the row does not allow leaves `out` unchanged.
void Scan(Opcode op, DType type, ScanForm form, const void* src, int64_t outer, int64_t axis,
          int64_t inner, void* out);

}  // namespace tarsia::host

#endif  // TARSIA_VM_HOST_SCAN_H_
