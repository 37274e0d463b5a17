#include "dtypes/exact.h"

#include <algorithm>
#include <bit>

namespace tarsia::internal {
namespace {

Exact DecodeFloat(DType type, uint64_t code) {
  const uint64_t bits = (code & CodeMask(type)) >> UnusedLowBits(type);
  const int magnitude_bits = type.exponent + type.mantissa;
  const uint64_t all_ones = (uint64_t{1} << magnitude_bits) - 1;
  const uint64_t magnitude = bits & all_ones;
  const uint64_t fraction = magnitude & ((uint64_t{1} << type.mantissa) - 1);
  const uint64_t field = magnitude >> type.mantissa;
  Exact out;
  out.negative = (bits >> magnitude_bits & 1) != 0;
  if (type.specials == Specials::kIeee && field == (uint64_t{1} << type.exponent) - 1) {
    out.number_class = fraction != 0 ? NumberClass::kNan : NumberClass::kInfinity;
  } else if ((type.specials == Specials::kFn && magnitude == all_ones) ||
             (type.specials == Specials::kFnuz && out.negative && magnitude == 0)) {
    out.number_class = NumberClass::kNan;
  } else if (field == 0) {
    out.significand = fraction;
    out.exponent = 1 - type.bias - type.mantissa;
  } else {
    out.significand = fraction | uint64_t{1} << type.mantissa;
    out.exponent = static_cast<int>(field) - type.bias - type.mantissa;
  }
  return out;
}

Exact DecodeInteger(DType type, uint64_t code) {
  code &= CodeMask(type);
  Exact out;
  out.negative = type.IsSigned() && (code >> (type.bits - 1) & 1) != 0;
  out.significand = out.negative ? (uint64_t{0} - code) & CodeMask(type) : code;
  return out;
}

// Whether significand / 2^shift, of which `kept` is the integer part as a code, rounds up.
// `discarded` are the low `shift` bits, shift > 0.
bool RoundsUp(uint64_t discarded, int shift, bool kept_is_odd, Rounding rounding, uint32_t random) {
  switch (rounding) {
    case Rounding::kTowardZero:
      return false;
    case Rounding::kNearestEven: {
      if (shift > 64) return false;
      const uint64_t half = uint64_t{1} << (shift - 1);
      return discarded > half || (discarded == half && kept_is_odd);
    }
    case Rounding::kStochastic: {
      // discarded / 2^shift + random / 2^32 >= 1, times 2^(shift + 32). Past a shift of 95 the
      // left side, below 2^64 / 2^shift + 1 - 2^-32, cannot reach 1.
      if (shift > 95) return false;
      using Wide = unsigned __int128;
      return (Wide{discarded} << 32) >= (Wide{(uint64_t{1} << 32) - random} << shift);
    }
  }
  return false;
}

uint64_t WithSign(DType type, uint64_t magnitude, bool negative) {
  if (type.IsExponent()) return magnitude;
  const uint64_t sign = uint64_t{negative} << (type.exponent + type.mantissa);
  return (sign | magnitude) << UnusedLowBits(type);
}

uint64_t EncodeFloat(DType type, const Exact& value, CastOptions options, uint32_t random) {
  const bool saturates = Saturates(type, options.overflow);
  const uint64_t most = MaxMagnitude(type);
  if (value.number_class == NumberClass::kNan) return NanCode(type, value.negative);
  if (value.number_class == NumberClass::kInfinity) {
    return saturates ? WithSign(type, most, value.negative) : OverflowCode(type, value.negative);
  }
  uint64_t magnitude = 0;
  if (value.significand != 0) {
    magnitude = RoundMagnitude(type, value.significand, value.exponent, options.rounding, random);
  }
  if (magnitude > most) {
    if (!saturates && options.rounding != Rounding::kTowardZero) {
      return OverflowCode(type, value.negative);
    }
    magnitude = most;
  }
  const bool no_negative_zero = type.specials == Specials::kFnuz && magnitude == 0;
  return WithSign(type, magnitude, value.negative && !no_negative_zero);
}

uint64_t EncodeExponent(DType type, const Exact& value, CastOptions options, uint32_t random) {
  if (value.number_class == NumberClass::kNan) return NanCode(type, false);
  if (value.negative || value.IsZero()) return 0;
  return EncodeFloat(type, value, options, random);
}

// The integer part of the magnitude of a finite value; UINT64_MAX if it does not fit.
uint64_t IntegerMagnitude(const Exact& value, Rounding rounding, uint32_t random) {
  if (value.significand == 0) return 0;
  if (value.exponent >= 0) {
    const bool fits = value.exponent <= std::countl_zero(value.significand);
    return fits ? value.significand << value.exponent : UINT64_MAX;
  }
  const int shift = -value.exponent;
  const uint64_t kept = shift < 64 ? value.significand >> shift : 0;
  const uint64_t discarded =
      shift < 64 ? value.significand & ((uint64_t{1} << shift) - 1) : value.significand;
  const bool up =
      rounding == Rounding::kStochastic && RoundsUp(discarded, shift, false, rounding, random);
  return kept + (up ? 1 : 0);
}

uint64_t EncodeInteger(DType type, const Exact& value, CastOptions options, uint32_t random) {
  if (value.number_class == NumberClass::kNan) return 0;
  const uint64_t magnitude = value.number_class == NumberClass::kInfinity
                                 ? UINT64_MAX
                                 : IntegerMagnitude(value, options.rounding, random);
  const uint64_t most = type.IsSigned() ? CodeMask(type) >> 1 : CodeMask(type);
  if (!value.negative) return std::min(magnitude, most);
  if (!type.IsSigned()) return 0;
  return (uint64_t{0} - std::min(magnitude, most + 1)) & CodeMask(type);
}

}  // namespace

uint64_t NanCode(DType type, bool negative) {
  switch (type.specials) {
    case Specials::kNone:
      return 0;
    case Specials::kIeee: {
      const uint64_t quiet = ((uint64_t{1} << (type.exponent + 1)) - 1) << (type.mantissa - 1);
      return WithSign(type, quiet, negative);
    }
    case Specials::kFinite:
      return MaxFiniteCode(type);
    case Specials::kFn:
      return WithSign(type, MaxMagnitude(type) + 1, negative);
    case Specials::kFnuz:
      return WithSign(type, 0, true);
  }
  return 0;
}

uint64_t OverflowCode(DType type, bool negative) {
  if (type.specials == Specials::kIeee) return WithSign(type, MaxMagnitude(type) + 1, negative);
  return NanCode(type, negative);
}

uint64_t RoundMagnitude(DType type, uint64_t significand, int exponent, Rounding rounding,
                        uint32_t random) {
  const int top = exponent + 63 - std::countl_zero(significand);  // 2^top <= value < 2^(top + 1)
  // The least exponent of a normal number. For e8m0, which has no subnormals, that of code 0.
  const int least = type.IsExponent() ? -type.bias : 1 - type.bias;
  if (type.IsExponent() && top < least) return 0;
  const int binade = std::max(top, least) - least;
  if (binade > 1 << type.exponent) return UINT64_MAX;
  // A code is (binade << mantissa) + value in units of the last place: the hidden bit of normal
  // numbers carries into the exponent field and makes it binade + 1. e8m0 has no such carry.
  uint64_t code = static_cast<uint64_t>(binade) << type.mantissa;
  const uint64_t hidden = type.IsExponent() ? 1 : 0;
  const int shift = std::max(top, least) - type.mantissa - exponent;
  if (shift <= 0) return code + (significand << -shift) - hidden;
  const uint64_t kept = shift < 64 ? significand >> shift : 0;
  const uint64_t discarded = shift < 64 ? significand & ((uint64_t{1} << shift) - 1) : significand;
  code += kept - hidden;
  return code + (RoundsUp(discarded, shift, (code & 1) != 0, rounding, random) ? 1 : 0);
}

Exact DecodeExact(DType type, uint64_t code) {
  switch (type.kind) {
    case DTypeKind::kUnsigned:
    case DTypeKind::kSigned:
      return DecodeInteger(type, code);
    case DTypeKind::kBool:
      return {NumberClass::kFinite, false, (code & CodeMask(type)) != 0 ? uint64_t{1} : 0, 0};
    case DTypeKind::kFloat:
      return DecodeFloat(type, code);
    case DTypeKind::kExponent: {
      const auto field = static_cast<int>(code & CodeMask(type));
      if (field == 0xFF) return {NumberClass::kNan, false, 0, 0};
      return {NumberClass::kFinite, false, 1, field - type.bias};
    }
    case DTypeKind::kComplex:
      return DecodeFloat(ComponentOf(type), code);
  }
  return {};
}

uint64_t EncodeExact(DType type, const Exact& value, CastOptions options, uint32_t random) {
  switch (type.kind) {
    case DTypeKind::kUnsigned:
    case DTypeKind::kSigned:
      return EncodeInteger(type, value, options, random);
    case DTypeKind::kBool:
      return value.IsZero() ? 0 : 1;
    case DTypeKind::kFloat:
      return EncodeFloat(type, value, options, random);
    case DTypeKind::kExponent:
      return EncodeExponent(type, value, options, random);
    case DTypeKind::kComplex:
      return EncodeFloat(ComponentOf(type), value, options, random);
  }
  return 0;
}

}  // namespace tarsia::internal
