// An exact dyadic value between two types, and its rounding. The implementation of convert.h, which
// users call.
#ifndef TARSIA_DTYPES_EXACT_H_
#define TARSIA_DTYPES_EXACT_H_

#include <cstdint>

#include "dtypes/convert.h"
#include "dtypes/dtype.h"

namespace tarsia::internal {

enum class NumberClass : uint8_t { kFinite, kInfinity, kNan };

// (-1)^negative * significand * 2^exponent, or infinity, or NaN.
struct Exact {
  NumberClass number_class = NumberClass::kFinite;
  bool negative = false;
  uint64_t significand = 0;
  int exponent = 0;

  [[nodiscard]] bool IsZero() const {
    return number_class == NumberClass::kFinite && significand == 0;
  }
};

// The value of a code of any type but complex ones.
Exact DecodeExact(DType type, uint64_t code);

// Rounds a value to any type but complex ones, by the rules of convert.h. kWrap saturates.
uint64_t EncodeExact(DType type, const Exact& value, CastOptions options, uint32_t random);

// The magnitude code that a nonzero finite value rounds to if the exponent field of the type (a
// float or e8m0) were unbounded. UINT64_MAX stands for all values far above the type's range.
uint64_t RoundMagnitude(DType type, uint64_t significand, int exponent, Rounding rounding,
                        uint32_t random);

// Bits of a code below its mantissa: 13 for tf32, else 0.
constexpr int UnusedLowBits(DType type) { return type == kTF32 ? 13 : 0; }

// MaxFiniteCode without the unused low bits.
constexpr uint64_t MaxMagnitude(DType type) { return MaxFiniteCode(type) >> UnusedLowBits(type); }

// Whether an overflow of the type saturates under the option.
constexpr bool Saturates(DType type, Overflow overflow) {
  if (type.IsInteger() || type.IsBool() || type.specials == Specials::kFinite) return true;
  switch (overflow) {
    case Overflow::kSaturate:
      return true;
    case Overflow::kNonSaturating:
      return false;
    case Overflow::kDefault:
    case Overflow::kWrap:
      break;
  }
  return type.bits <= 8;
}

// Code of the quiet NaN; of the largest finite value for finite-only floats.
uint64_t NanCode(DType type, bool negative);
// The overflow result of a float or e8m0 that does not saturate: infinity, or NaN if the type has
// no infinity.
uint64_t OverflowCode(DType type, bool negative);

}  // namespace tarsia::internal

#endif  // TARSIA_DTYPES_EXACT_H_
