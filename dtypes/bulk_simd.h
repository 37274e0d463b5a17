// The vector kernels of bulk.h. Any counts; pointers need no alignment.
#ifndef TARSIA_DTYPES_BULK_SIMD_H_
#define TARSIA_DTYPES_BULK_SIMD_H_

#include <cstddef>
#include <cstdint>

#include "dtypes/convert.h"
#include "dtypes/dtype.h"

namespace tarsia::internal {

// How an f32 becomes a float with fewer mantissa bits, to nearest even: see MakeNarrowing.
struct Narrowing {
  uint32_t shift;         // mantissa bits that are dropped
  uint32_t rebias;        // taken from the shifted code of a normal number
  uint32_t least_normal;  // as an f32
  uint32_t magic;         // f32 whose last place is the target's smallest subnormal
  uint32_t limit;         // f32 bits that replace larger magnitudes, including infinity
  uint32_t nan;           // what a positive NaN becomes
  uint32_t sign;          // the sign bit of the target
  uint32_t sign_shift;    // from bit 31 to it
  uint32_t left;          // unused low bits of the target
  uint32_t signed_from;   // magnitudes from here (f32 bits) have a code other than 0,
  uint32_t signed_to;     // and below here one that is no overflow
  Specials specials;
};

Narrowing MakeNarrowing(DType to, Overflow overflow);

// f32 to a float of at most 8, of 16, or of 32 bits (tf32).
void NarrowF32(const void* src, void* dst, size_t n, const Narrowing& params, int container_bytes);
// f32 to e8m0; larger magnitudes become `limit` (f32 bits).
void F32ToExponent(const void* src, void* dst, size_t n, uint32_t limit);
// f32 to bool.
void F32ToBool(const void* src, void* dst, size_t n);

// How the code of a float of at most 8 bits becomes an f32: see MakeWidening.
struct Widening {
  uint32_t magnitude;     // the bits below the sign
  uint32_t sign_shift;    // from the sign bit to bit 31
  uint32_t shift;         // from the mantissa to that of f32
  uint32_t rebias;        // added to the shifted code of a normal number
  uint32_t least_normal;  // as a code
  float step;             // the smallest subnormal
  uint32_t most;          // the largest finite magnitude; larger ones are infinity or NaN
  Specials specials;
};

Widening MakeWidening(DType from);

// Codes in bytes to f32; bits above the width of the type are ignored.
void WidenSmallFloat(const void* src, void* dst, size_t n, const Widening& params);
void WidenSmallInteger(const void* src, void* dst, size_t n, int bits, bool is_signed);
void WidenExponent(const void* src, void* dst, size_t n);
void WidenBool(const void* src, void* dst, size_t n);
// NaNs become quiet, keep their sign and lose their payload.
void WidenF16(const void* src, void* dst, size_t n);
void WidenBF16(const void* src, void* dst, size_t n);
// f32 to integers of containers of 1 or 2 bytes: toward zero, clamped to [least, most], NaN to 0,
// and masked. Bounds lie within -2^15 and 2^16.
struct IntegerRange {
  float least;
  float most;
  uint32_t mask;
};
void F32ToInteger(const void* src, void* dst, size_t n, IntegerRange range, int container_bytes);

// dst[i] = entry codes[i] mod 16 of a table of 16 containers of 1 or 2 bytes.
void LookUp16(const void* codes, const uint8_t* table, void* dst, size_t n, int container_bytes);

// The name of the instruction set that was chosen at run time.
const char* BulkTargetName();

}  // namespace tarsia::internal

#endif  // TARSIA_DTYPES_BULK_SIMD_H_
