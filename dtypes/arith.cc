#include "dtypes/arith.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dtypes/convert.h"
#include "dtypes/exact.h"

namespace tarsia::arith {
namespace {

// The value of a code, infinities included.
long double ValueOf(const internal::Exact& value) {
  if (value.number_class == internal::NumberClass::kInfinity) {
    const long double infinity = std::numeric_limits<long double>::infinity();
    return value.negative ? -infinity : infinity;
  }
  const long double magnitude =
      std::ldexp(static_cast<long double>(value.significand), value.exponent);
  return value.negative ? -magnitude : magnitude;
}

// The exponent of the step away from zero of the first number that is not below |truth|.
int LastPlaceOf(DType type, long double truth) {
  const int least = 1 - type.bias;
  const int binade = truth == 0 ? least : std::max(std::ilogb(truth), least);
  const int place = binade - type.mantissa;
  // Above the last number of a binade, that is a power of two, and its step twice as long.
  const long double last = std::ldexp(1.0L, binade + 1) - std::ldexp(1.0L, place);
  return std::fabs(truth) > last ? place + 1 : place;
}

}  // namespace

double UlpError(DType type, uint64_t code, long double truth) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const internal::Exact decoded = internal::DecodeExact(type, code);
  const bool nan = decoded.number_class == internal::NumberClass::kNan;
  if (nan || std::isnan(truth)) return nan && std::isnan(truth) ? 0 : kInfinite;
  const long double value = ValueOf(decoded);
  if (value == truth) return 0;
  if (std::isinf(value)) {
    const internal::Exact largest = internal::DecodeExact(type, MaxFiniteCode(type));
    const long double bound = ValueOf(largest) + std::ldexp(0.5L, largest.exponent);
    return std::signbit(value) == std::signbit(truth) && std::fabs(truth) >= bound ? 0 : kInfinite;
  }
  if (std::isinf(truth)) return kInfinite;
  const int place = LastPlaceOf(type, truth);
  return static_cast<double>(std::ldexp(std::fabs(value - truth), -place));
}

}  // namespace tarsia::arith
