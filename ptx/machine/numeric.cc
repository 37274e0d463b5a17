#include "ptx/machine/numeric.h"

#include <algorithm>
#include <limits>

namespace tarsia::ptx {
namespace {

using Uint128 = unsigned __int128;

// Whether what is cut off (compared with half a unit: -1, 0, 1; `any`: not zero) rounds up.
bool RoundsUp(RoundMode mode, bool negative, bool odd, bool any, int against_half) {
  switch (mode) {
    case RoundMode::kNearest:
      return against_half > 0 || (against_half == 0 && any && odd);
    case RoundMode::kAway:
      return any && against_half >= 0;
    case RoundMode::kZero:
      return false;
    case RoundMode::kDown:
      return any && negative;
    case RoundMode::kUp:
      return any && !negative;
  }
  return false;
}

// Cuts the low `shift` bits off, rounded. The highest bit is not set.
template <typename Bits>
Bits CutRounded(Bits bits, int shift, RoundMode mode, bool negative) {
  if (shift > static_cast<int>(sizeof(Bits)) * 8 - 1) {
    return RoundsUp(mode, negative, false, bits != 0, -1) ? 1 : 0;
  }
  const Bits kept = bits >> shift;
  const Bits cut = bits - (kept << shift);
  const Bits half = Bits{1} << (shift - 1);
  const int against = cut > half ? 1 : cut == half ? 0 : -1;
  return kept + (RoundsUp(mode, negative, (kept & 1) != 0, cut != 0, against) ? 1 : 0);
}

Uint128 ShiftRounded(Uint128 bits, int shift, RoundMode mode, bool negative) {
  return shift <= 0 ? bits << -shift : CutRounded(bits, shift, mode, negative);
}

bool OverflowsToLargest(RoundMode mode, bool negative) {
  switch (mode) {
    case RoundMode::kNearest:
    case RoundMode::kAway:
      return false;
    case RoundMode::kZero:
      return true;
    case RoundMode::kDown:
      return !negative;
    case RoundMode::kUp:
      return negative;
  }
  return false;
}

// significand * 2^exponent; the lowest bit stands for all that was cut off.
struct Unpacked {
  bool negative = false;
  int exponent = 0;
  Uint128 significand = 0;
};

Unpacked Unpack(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto field = static_cast<int>(bits >> 52 & 0x7FF);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  Unpacked out;
  out.negative = bits >> 63 != 0;
  out.exponent = (field == 0 ? 1 : field) - 1075;
  out.significand = field == 0 ? fraction : fraction | (uint64_t{1} << 52);
  return out;
}

int HighestBit(Uint128 value) {
  const auto high = static_cast<uint64_t>(value >> 64);
  return high != 0 ? 127 - std::countl_zero(high)
                   : 63 - std::countl_zero(static_cast<uint64_t>(value));
}

// The highest bit at 125, with room for a carry.
void Normalise(Unpacked* value) {
  if (value->significand == 0) return;
  const int shift = 125 - HighestBit(value->significand);
  value->significand <<= shift;
  value->exponent -= shift;
}

double PackF64(const Unpacked& value, RoundMode mode) {
  if (value.significand == 0) return value.negative ? -0.0 : 0.0;
  const int top = HighestBit(value.significand) + value.exponent;
  const int lowest = std::max(top - 52, -1074);
  const Uint128 rounded =
      ShiftRounded(value.significand, lowest - value.exponent, mode, value.negative);
  // At most 53 bits (or a power of two above), so that this is exact.
  double magnitude = std::ldexp(static_cast<double>(static_cast<uint64_t>(rounded)), lowest);
  if (std::isinf(magnitude) && OverflowsToLargest(mode, value.negative)) {
    magnitude = std::numeric_limits<double>::max();
  }
  return value.negative ? -magnitude : magnitude;
}

Unpacked AddUnpacked(Unpacked a, Unpacked b, RoundMode mode) {
  Normalise(&a);
  Normalise(&b);
  if (a.significand == 0) std::swap(a, b);
  if (b.significand == 0) {
    if (a.significand == 0 && a.negative != b.negative) a.negative = mode == RoundMode::kDown;
    return a;
  }
  if (a.exponent < b.exponent) std::swap(a, b);
  const int shift = a.exponent - b.exponent;
  const Uint128 kept = shift > 127 ? 0 : b.significand >> shift;
  const bool cut = shift > 127 || (kept << shift) != b.significand;
  const Uint128 other = kept | (cut ? 1 : 0);
  if (a.negative == b.negative) {
    a.significand += other;
  } else if (a.significand >= other) {
    a.significand -= other;
  } else {
    a.significand = other - a.significand;
    a.negative = !a.negative;
  }
  if (a.significand == 0) a.negative = mode == RoundMode::kDown;
  return a;
}

Unpacked MultiplyUnpacked(const Unpacked& a, const Unpacked& b) {
  return {a.negative != b.negative, a.exponent + b.exponent, a.significand * b.significand};
}

}  // namespace

uint32_t RoundToFormat(double value, const FloatFormat& format, RoundMode mode, bool saturate) {
  const int low = format.unused_low_bits;
  if (mode == RoundMode::kNearest && !saturate && format.infinities && low == 0) {
    return NearestCode(value, format);
  }
  if (std::isnan(value)) return format.nan << low | (low != 0 ? (uint32_t{1} << low) - 1 : 0);
  const bool negative = std::signbit(value);
  const uint32_t sign = negative ? format.sign() : 0;
  uint32_t code = 0;
  bool beyond = std::isinf(value);
  if (!beyond && value != 0) {
    const auto bits = std::bit_cast<uint64_t>(value);
    const auto biased = static_cast<int>(bits >> 52 & 0x7FF);
    const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
    const uint64_t significand = biased == 0 ? fraction : fraction | (uint64_t{1} << 52);
    const int top = (biased == 0 ? 1 : biased) - 1023;
    const int lowest_normal = 1 - format.bias();
    const int unit = std::max(top, lowest_normal) - format.mantissa_bits;
    const uint64_t rounded = CutRounded(significand, unit - (top - 52), mode, negative);
    // A carry into the next power of two moves into the exponent's field by itself.
    const auto field = static_cast<uint64_t>(std::max(top, lowest_normal) - lowest_normal);
    const uint64_t whole = (field << format.mantissa_bits) + rounded;
    beyond = whole > format.largest();
    code = static_cast<uint32_t>(std::min<uint64_t>(whole, format.largest()));
  }
  if (beyond) {
    const bool finite = !std::isinf(value);
    if (saturate || (finite && OverflowsToLargest(mode, negative))) {
      code = format.largest();
    } else {
      code = format.infinities ? format.top() : format.nan;
    }
  }
  return (code | sign) << low;
}

double DivideOdd(double a, double b) {
  const double quotient = a / b;
  if (!std::isfinite(quotient) || quotient == 0 || std::isinf(b)) return quotient;
  const double rest = std::fma(-quotient, b, a);
  return MakeOdd(quotient, b > 0 ? rest : -rest);
}

double SqrtOdd(double a) {
  const double root = std::sqrt(a);
  if (!std::isfinite(root) || root == 0) return root;
  return MakeOdd(root, std::fma(-root, root, a));
}

double AddF64(double a, double b, RoundMode mode) {
  if (mode == RoundMode::kNearest || !std::isfinite(a) || !std::isfinite(b)) return a + b;
  return PackF64(AddUnpacked(Unpack(a), Unpack(b), mode), mode);
}

double MulF64(double a, double b, RoundMode mode) {
  if (mode == RoundMode::kNearest || !std::isfinite(a) || !std::isfinite(b)) return a * b;
  return PackF64(MultiplyUnpacked(Unpack(a), Unpack(b)), mode);
}

double FmaF64(double a, double b, double c, RoundMode mode) {
  const bool finite = std::isfinite(a) && std::isfinite(b) && std::isfinite(c);
  if (mode == RoundMode::kNearest || !finite) return std::fma(a, b, c);
  return PackF64(AddUnpacked(MultiplyUnpacked(Unpack(a), Unpack(b)), Unpack(c), mode), mode);
}

double DivideF64(double a, double b, RoundMode mode) {
  const bool plain = !std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0;
  if (mode == RoundMode::kNearest || plain) return a / b;
  Unpacked x = Unpack(a);
  Unpacked y = Unpack(b);
  Normalise(&x);
  // Shifted to 53 bits, the divisor leaves more than 70 bits of a quotient.
  while (y.significand >> 52 == 0) {
    y.significand <<= 1;
    --y.exponent;
  }
  Unpacked quotient{x.negative != y.negative, x.exponent - y.exponent,
                    x.significand / y.significand};
  if (x.significand % y.significand != 0) quotient.significand |= 1;
  return PackF64(quotient, mode);
}

double SqrtF64(double a, RoundMode mode) {
  if (mode == RoundMode::kNearest || !std::isfinite(a) || a <= 0) return std::sqrt(a);
  Unpacked x = Unpack(a);
  Normalise(&x);
  if ((x.exponent & 1) != 0) {
    x.significand >>= 1;  // nothing is lost: the low bits are zero
    ++x.exponent;
  }
  Uint128 root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const Uint128 next = root | Uint128{1} << bit;
    if (next * next <= x.significand) root = next;
  }
  const bool exact = root * root == x.significand;
  return PackF64({false, x.exponent / 2 - 1, root << 1 | (exact ? 0 : 1)}, mode);
}

double IntegerToF64(bool negative, uint64_t magnitude, RoundMode mode) {
  if (magnitude == 0) return 0;
  return PackF64({negative, 0, magnitude}, mode);
}

double IntegerToOdd(bool negative, uint64_t magnitude) {
  const int shift = std::max(0, 11 - std::countl_zero(magnitude));
  const uint64_t kept = magnitude >> shift;
  const bool cut = (kept << shift) != magnitude;
  const double value = std::ldexp(static_cast<double>(kept | (cut ? 1 : 0)), shift);
  return negative ? -value : value;
}

double RoundToIntegral(double value, RoundMode mode) {
  switch (mode) {
    case RoundMode::kNearest: {
      const double down = std::floor(value);
      const double rest = value - down;
      if (rest < 0.5) return std::copysign(down, value);
      if (rest > 0.5) return std::copysign(down + 1, value);
      return std::copysign(std::fmod(down, 2) == 0 ? down : down + 1, value);
    }
    case RoundMode::kAway:
      return std::round(value);
    case RoundMode::kZero:
      return std::trunc(value);
    case RoundMode::kDown:
      return std::floor(value);
    case RoundMode::kUp:
      return std::ceil(value);
  }
  return value;
}

}  // namespace tarsia::ptx
