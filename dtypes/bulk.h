// Conversion of arrays, bit for bit what convert.h does to each element, but fast: tables for
// sources of at most 8 bits, vector code (instruction set chosen at run time) for f16, bf16, f32
// and integers, integer arithmetic from f32 and f64 to small floats.
#ifndef TARSIA_DTYPES_BULK_H_
#define TARSIA_DTYPES_BULK_H_

#include <cstddef>
#include <cstdint>

#include "dtypes/convert.h"
#include "dtypes/dtype.h"

namespace tarsia {

// Converts n codes. Source and target are arrays of native containers (ContainerBytes), one code
// each in the low bits; little-endian, aligned or not. `dst` may be `src` when the containers are
// of one size; otherwise they may not overlap. `random` holds one operand an element, and is read
// only when options.rounding is kStochastic (null then counts as all zero). Thread-safe; the first
// use of a pair of types may build a table.
void CastBulk(DType from, const void* src, DType to, void* dst, size_t n, CastOptions options = {},
              const uint32_t* random = nullptr);

// One code from or to a native container.
uint64_t LoadContainer(DType type, const void* src, size_t index);
void StoreContainer(DType type, void* dst, size_t index, uint64_t code);

}  // namespace tarsia

#endif  // TARSIA_DTYPES_BULK_H_
