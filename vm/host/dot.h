// Matrix products of tiles, for the row dot of isa.def.
#ifndef TARSIA_VM_HOST_DOT_H_
#define TARSIA_VM_HOST_DOT_H_

#include <cstdint>

#include "dtypes/dtype.h"
#include "vm/host/scratch.h"

namespace tarsia::host {

// out = c + a * b for row-major a [m, k], b [k, n], c and out [m, n] in native containers.
// - acc_type f32: a and b of any float type of at most 32 bits that f32 holds exactly (f16, bf16,
//   f32, 8-bit and smaller floats), also mixed. The arithmetic is f32, in an unspecified order.
// - i32: a and b of integer types of at most 8 bits, also mixed; exact modulo 2^32.
// - f64: a and b f64. c64: a and b c32 or c64; the four real products each as for f32.
// `c` may be null, which means zero; `out` may be `c`, and may not overlap anything else. m, n, k
// may be 0. Arrays are aligned to their container. Runs on the calling thread, in its scratch;
// thread-safe. Other type combinations leave `out` unchanged.
void Dot(DType a_type, DType b_type, DType acc_type, const void* a, const void* b, const void* c,
         void* out, int64_t m, int64_t n, int64_t k);

// The scratch that Dot needs.
ScratchSizes DotScratch(DType a_type, DType b_type, DType acc_type, int64_t m, int64_t n,
                        int64_t k);

}  // namespace tarsia::host

#endif  // TARSIA_VM_HOST_DOT_H_
