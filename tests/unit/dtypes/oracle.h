// A second definition of float types, without the library: from its name to a plain formula for
// decoding, and a search over all decoded values for encoding.
#ifndef TARSIA_TESTS_UNIT_DTYPES_ORACLE_H_
#define TARSIA_TESTS_UNIT_DTYPES_ORACLE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia::oracle {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

enum class Kind : uint8_t { kIeee, kFinite, kFn, kFnuz };

struct Format {
  int exponent = 0;
  int mantissa = 0;
  int bias = 0;
  int low = 0;  // unused bits at the bottom
  int bits = 0;
  Kind kind = Kind::kFinite;
};

// From a name such as f8e4m3fn. Names without fields are listed.
inline Format FormatOf(std::string_view name) {
  if (name == "f16") return {5, 10, 15, 0, 16, Kind::kIeee};
  if (name == "bf16") return {8, 7, 127, 0, 16, Kind::kIeee};
  if (name == "tf32") return {8, 10, 127, 13, 32, Kind::kIeee};
  Format f;
  f.bits = name[1] - '0';
  f.exponent = name[3] - '0';
  f.mantissa = name[5] - '0';
  f.bias = (1 << (f.exponent - 1)) - 1;
  const std::string_view suffix = name.substr(6);
  if (suffix.empty()) {
    const std::string_view fields = name.substr(2);
    const bool ieee = f.bits == 8 && (fields == "e3m4" || fields == "e4m3" || fields == "e5m2");
    f.kind = ieee ? Kind::kIeee : Kind::kFinite;
  } else if (suffix == "fn") {
    f.kind = Kind::kFn;
  } else {
    f.kind = Kind::kFnuz;
    f.bias = suffix == "fnuz" ? f.bias + 1 : 11;
  }
  return f;
}

inline double Decode(const Format& f, uint64_t code) {
  code >>= f.low;
  const int field = static_cast<int>(code >> f.mantissa & ((1u << f.exponent) - 1));
  const double fraction = static_cast<double>(code & ((1u << f.mantissa) - 1));
  const bool negative = (code >> (f.exponent + f.mantissa) & 1) != 0;
  const bool top = field == (1 << f.exponent) - 1;
  double value = 0;
  if (field == 0) {
    value = std::ldexp(fraction, 1 - f.bias - f.mantissa);
  } else {
    value = std::ldexp(1 + std::ldexp(fraction, -f.mantissa), field - f.bias);
  }
  if (f.kind == Kind::kIeee && top) value = fraction == 0 ? kInf : kNan;
  if (f.kind == Kind::kFn && top && fraction == std::ldexp(1.0, f.mantissa) - 1) value = kNan;
  if (f.kind == Kind::kFnuz && negative && value == 0) value = kNan;
  return negative ? -value : value;
}

// All non-negative finite values; the index of each is its magnitude code. One more at the end: the
// number that would come next.
inline std::vector<double> Values(const Format& f) {
  std::vector<double> values;
  const uint64_t count = uint64_t{1} << (f.exponent + f.mantissa);
  for (uint64_t code = 0; code < count; ++code) {
    const double value = Decode(f, code << f.low);
    if (!std::isfinite(value)) break;
    values.push_back(value);
  }
  const double largest = values.back();
  values.push_back(largest + std::ldexp(1.0, std::ilogb(largest) - f.mantissa));
  return values;
}

enum class Mode : uint8_t { kNearest, kTowardZero };

// The code that `x` must become.
inline uint64_t Encode(const Format& f, const std::vector<double>& values, double x, bool saturate,
                       Mode mode) {
  const int magnitude_bits = f.exponent + f.mantissa;
  const uint64_t top = (uint64_t{1} << f.exponent) - 1;
  const uint64_t most = values.size() - 2;
  const uint64_t sign = uint64_t{std::signbit(x)} << magnitude_bits;
  if (f.kind == Kind::kFinite) saturate = true;
  uint64_t nan = 0;
  if (f.kind == Kind::kIeee) {
    nan = sign | top << f.mantissa | uint64_t{1} << (f.mantissa - 1);
  } else if (f.kind == Kind::kFn) {
    nan = sign | ((uint64_t{1} << magnitude_bits) - 1);
  } else if (f.kind == Kind::kFnuz) {
    nan = uint64_t{1} << magnitude_bits;
  } else {
    nan = most;
  }
  if (std::isnan(x)) return nan << f.low;
  const double magnitude = std::fabs(x);
  uint64_t code = 0;
  if (magnitude >= values.back()) {
    code = mode == Mode::kTowardZero && !std::isinf(x) ? most : most + 1;
  } else {
    const auto above = std::upper_bound(values.begin(), values.end(), magnitude);
    code = static_cast<uint64_t>(above - values.begin()) - 1;
    // Between two neighbours; their middle is exact in double.
    const double middle = values[code] + (values[code + 1] - values[code]) / 2;
    const bool up = magnitude > middle || (magnitude == middle && code % 2 == 1);
    if (mode == Mode::kNearest && up) ++code;
  }
  if (code > most) {
    if (!saturate) return (f.kind == Kind::kIeee ? sign | top << f.mantissa : nan) << f.low;
    code = most;
  }
  if (f.kind == Kind::kFnuz && code == 0) return 0;
  return (sign | code) << f.low;
}

// Numbers at, just below and just above every value and every middle between two, of both signs.
inline std::vector<double> Boundaries(const std::vector<double>& values) {
  std::vector<double> out;
  const auto add = [&out](double x) {
    for (const double y : {x, std::nextafter(x, -kInf), std::nextafter(x, kInf)}) {
      out.push_back(y);
      out.push_back(-y);
    }
    const auto single = static_cast<float>(x);
    for (const float y :
         {single, std::nextafterf(single, -INFINITY), std::nextafterf(single, INFINITY)}) {
      out.push_back(static_cast<double>(y));
      out.push_back(-static_cast<double>(y));
    }
  };
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    add(values[i]);
    add(values[i] + (values[i + 1] - values[i]) / 2);
  }
  add(values.back());
  for (const double x : {kInf, kNan, 1e300, 5e-324, 1e-300}) {
    out.push_back(x);
    out.push_back(-x);
  }
  return out;
}

}  // namespace tarsia::oracle

#endif  // TARSIA_TESTS_UNIT_DTYPES_ORACLE_H_
