// The scalar reference of conversion: any type to any type, exact, with one rounding. All other
// conversions (bulk.h, the interpreter, generated code) are tested against this file.
//
// The rules, from an exact value to the target type:
// - Floats round to nearest, ties to the even code, unless the options say otherwise. Subnormals
//   are honoured. Toward zero never overflows from a finite value: it stops at the largest one.
// - Overflow of a float: finite-only types saturate; types with infinities return infinity, the
//   others their NaN, unless saturation is requested, which is the default for targets of at most 8
//   bits. A saturating cast also converts infinities to the largest finite value.
// - NaN keeps its sign and becomes the quiet NaN of the target; fnuz has one NaN only. Payloads are
//   dropped. In types without NaN it becomes the largest positive finite value, in integers 0, in
//   bool 1.
// - e8m0 rounds to the nearest power of two, ties to the even code; zero, everything below 2^-127
//   and all negative numbers become code 0. It overflows to its NaN, or to 2^127 when saturating.
// - Float to integer: toward zero (or stochastic), always saturating.
// - Integer to integer: saturating, or modulo 2^N with kWrap. bool is a source of 0 and 1; as a
//   target it is 1 for all that is not zero.
// - Real to complex: the imaginary part is zero. Complex to complex: by component, with the same
//   options and random operand. Programs cannot convert complex to real; here the result is the
//   real part.
// - A type to itself with default overflow is the identity on codes.
// Codes lie in the low bits; bits of a source above its width are ignored, those of a result are
// zero. The low 13 bits of a tf32 are ignored on input and zero on output; any bool code other
// than 0 is true. All functions are pure, total, and may be called from any thread.
#ifndef TARSIA_DTYPES_CONVERT_H_
#define TARSIA_DTYPES_CONVERT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dtypes/dtype.h"

namespace tarsia {

enum class Rounding : uint8_t {
  kNearestEven,
  kTowardZero,
  // The random operand / 2^32 is added to the discarded fraction of the last place, and the sum
  // is truncated.
  kStochastic,
};

enum class Overflow : uint8_t {
  kDefault,        // kSaturate for integers and types of at most 8 bits, else kNonSaturating
  kSaturate,       // the largest finite value of the sign, also for infinities
  kNonSaturating,  // infinity, or NaN in types without; finite-only types and integers saturate
  kWrap,           // between integers modulo 2^N; otherwise as kDefault
};

struct CastOptions {
  Rounding rounding = Rounding::kNearestEven;
  Overflow overflow = Overflow::kDefault;
  friend constexpr bool operator==(const CastOptions&, const CastOptions&) = default;
};

// `random` is read by kStochastic only.
uint64_t CastCode(DType from, uint64_t code, DType to, CastOptions options = {},
                  uint32_t random = 0);

// The value of a code; of a complex number the real part. Exact for every type but u64 and i64
// beyond 2^53, which round to nearest even.
double DecodeToDouble(DType type, uint64_t code);

// CastCode from f64.
uint64_t EncodeFromDouble(DType type, double value, CastOptions options = {}, uint32_t random = 0);

// The value as text: integers and floats of at most 16 bits (and tf32, e8m0) as exact decimals,
// f32 and f64 as the shortest decimal that reads back, `nan`, `inf`, `-inf`, `true`, `false`.
// A complex number is `(real, imaginary)`. Very long exact decimals use an exponent.
std::string DecodeToString(DType type, uint64_t code);

// The code of a number written as decimal (`-12`, `1.5e-3`), hexadecimal float (`0x1.8p3`),
// hexadecimal integer, `inf`, `nan`, `true` or `false`, each with an optional sign, rounded once to
// nearest even from the exact value as written. Empty if the text is not a number, or if the type
// cannot hold it: a value that overflows or (integers) has a fraction, infinity or NaN in a type
// without them, zero or less in e8m0. Complex types take `(real, imaginary)` or a real number.
std::optional<uint64_t> ParseValue(DType type, std::string_view text);

}  // namespace tarsia

#endif  // TARSIA_DTYPES_CONVERT_H_
