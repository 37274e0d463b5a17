// Fast conversion of arrays, bit for bit the same as convert.h on each element: tables for sources
// of at most 8 bits, vector code (instruction set chosen at run time) for f16, bf16, f32 and
// integers, integer arithmetic from f32 and f64 to small floats.
#ifndef TARSIA_DTYPES_BULK_H_
#define TARSIA_DTYPES_BULK_H_

#include <cstddef>
#include <cstdint>

#include "dtypes/convert.h"
#include "dtypes/dtype.h"

namespace tarsia {

// Converts n codes. Source and target are arrays of native containers (ContainerBytes), one code
// each in the low bits; little-endian, aligned or not. `dst` may be `src` when the containers have
// the same size; otherwise they may not overlap. `random` holds one operand per element and is read
// only when options.rounding is kStochastic (null then means all zero). Thread-safe; the first use
// of a pair of types may build a table.
void CastBulk(DType from, const void* src, DType to, void* dst, size_t n, CastOptions options = {},
              const uint32_t* random = nullptr);

// Loads or stores one code in a native container.
uint64_t LoadContainer(DType type, const void* src, size_t index);
void StoreContainer(DType type, void* dst, size_t index, uint64_t code);

}  // namespace tarsia

#endif  // TARSIA_DTYPES_BULK_H_
