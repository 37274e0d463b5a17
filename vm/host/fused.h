// Several elementwise operations in one loop, for arrays of f32 or f64 that are computed piece by
// piece. Results are those of the operations one by one.
#ifndef TARSIA_VM_HOST_FUSED_H_
#define TARSIA_VM_HOST_FUSED_H_

#include <cstddef>

#include "dtypes/dtype.h"
#include "isa/instruction.h"

namespace tarsia::host {

// A step of a compensated sum (Kahan): t = term - error, new_sum = sum + t, new_error = (new_sum -
// sum) - t. Results may be in the place of operands.
using CompensatedKernel = void (*)(const void* term, const void* error, const void* sum,
                                   void* new_sum, void* new_error, size_t n);
// Null if there is no loop for the type.
CompensatedKernel FindCompensated(DType type);

// Elements `first` to `first` + n - 1 of `period` rows, again and again, of `inner` elements each:
// out = column[i] op row[j], or row[j] op column[i].
using OuterKernel = void (*)(const void* column, const void* row, size_t inner, size_t period,
                             size_t first, void* out, size_t n);
// Null if there is no loop for the operation and the type. `row_first`: the second form.
OuterKernel FindOuter(Opcode op, DType type, bool row_first);

}  // namespace tarsia::host

#endif  // TARSIA_VM_HOST_FUSED_H_
