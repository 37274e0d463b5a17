// A second implementation of conversion as the manual defines it, only with exact numbers m * 2^e:
// no floating point, no table of values, no code of the library. A code is decoded by the formula
// of its type, and found by a search for the two neighbours of a value and one comparison.
#ifndef TARSIA_TESTS_UNIT_DTYPES_RATIONAL_H_
#define TARSIA_TESTS_UNIT_DTYPES_RATIONAL_H_

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia::rational {

using Wide = unsigned __int128;

// m * 2^e, not negative.
struct Dyadic {
  Wide m = 0;
  int e = 0;
};

inline int BitLength(Wide x) {
  const auto high = static_cast<uint64_t>(x >> 64);
  return 128 -
         (high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<uint64_t>(x)));
}

// Less than, equal to or greater than 0 as a - b is. Both m are below 2^100.
inline int Compare(const Dyadic& a, const Dyadic& b) {
  if (a.m == 0 || b.m == 0) return (a.m != 0 ? 1 : 0) - (b.m != 0 ? 1 : 0);
  const int top_a = a.e + BitLength(a.m), top_b = b.e + BitLength(b.m);
  if (top_a != top_b) return top_a < top_b ? -1 : 1;
  // Of equal length the one with the lower exponent has the more bits.
  const Wide x = a.e > b.e ? a.m << (a.e - b.e) : a.m;
  const Wide y = b.e > a.e ? b.m << (b.e - a.e) : b.m;
  return x < y ? -1 : x > y ? 1 : 0;
}

enum class Class : uint8_t { kFinite, kInfinity, kNan };

struct Value {
  Class number_class = Class::kFinite;
  bool negative = false;
  Dyadic magnitude;
};

enum class Family : uint8_t { kUnsigned, kSigned, kBool, kScale, kIeee, kFinite, kFn, kFnuz };

// The type of a name.
struct Type {
  Family family = Family::kUnsigned;
  int bits = 0;
  int x = 0;  // exponent bits
  int y = 0;  // mantissa bits
  int bias = 0;
  [[nodiscard]] bool IsInteger() const {
    return family == Family::kUnsigned || family == Family::kSigned;
  }
  [[nodiscard]] bool IsFloat() const { return family >= Family::kIeee; }
};

inline Type FloatOf(std::string_view name) {
  Type t{Family::kFinite, name[1] - '0', name[3] - '0', name[5] - '0', 0};
  t.bias = (1 << (t.x - 1)) - 1;
  const std::string_view suffix = name.substr(6);
  if (suffix == "fn") t.family = Family::kFn;
  if (suffix == "fnuz" || suffix == "b11fnuz") {
    t.family = Family::kFnuz;
    t.bias = suffix == "fnuz" ? 1 << (t.x - 1) : 11;
  }
  if (name == "f8e3m4" || name == "f8e4m3" || name == "f8e5m2") t.family = Family::kIeee;
  return t;
}

inline Type TypeOf(std::string_view name) {
  if (name == "f16") return {Family::kIeee, 16, 5, 10, 15};
  if (name == "bf16") return {Family::kIeee, 16, 8, 7, 127};
  if (name == "f32") return {Family::kIeee, 32, 8, 23, 127};
  if (name == "f64") return {Family::kIeee, 64, 11, 52, 1023};
  if (name == "e8m0") return {Family::kScale, 8, 8, 0, 127};
  if (name == "bool") return {Family::kBool, 8, 0, 0, 0};
  if (name[0] == 'f') return FloatOf(name);
  const int bits = std::atoi(std::string(name.substr(1)).c_str());
  return {name[0] == 'u' ? Family::kUnsigned : Family::kSigned, bits, 0, 0, 0};
}

inline uint64_t Power(int n) { return uint64_t{1} << n; }

// The number that a code without sign stands for if no code were special and the exponent field
// were unbounded. Ascending in the code.
inline Dyadic MagnitudeAt(const Type& t, uint64_t code) {
  if (t.family == Family::kScale) return {1, static_cast<int>(code) - t.bias};
  const uint64_t field = code >> t.y, fraction = code & (Power(t.y) - 1);
  if (field == 0) return {fraction, 1 - t.bias - t.y};
  return {fraction + Power(t.y), static_cast<int>(field) - t.bias - t.y};
}

// The code without sign of the largest finite number.
inline uint64_t LargestCode(const Type& t) {
  const uint64_t all = Power(t.x + t.y) - 1;
  if (t.family == Family::kIeee) return all - Power(t.y);
  if (t.family == Family::kFn || t.family == Family::kScale) return all - 1;
  return all;
}

inline Value DecodeInteger(const Type& t, uint64_t code) {
  const Wide size = Wide{1} << t.bits;
  const bool negative = t.family == Family::kSigned && code >= size / 2;
  return {Class::kFinite, negative, {negative ? size - code : Wide{code}, 0}};
}

inline Value Decode(const Type& t, uint64_t code) {
  if (t.IsInteger()) return DecodeInteger(t, code);
  if (t.family == Family::kBool) return {Class::kFinite, false, {code != 0 ? 1u : 0u, 0}};
  if (t.family == Family::kScale) {
    if (code == 255) return {Class::kNan, false, {}};
    return {Class::kFinite, false, MagnitudeAt(t, code)};
  }
  const uint64_t magnitude = code & (Power(t.x + t.y) - 1);
  Value out{Class::kFinite, (code >> (t.x + t.y) & 1) != 0, MagnitudeAt(t, magnitude)};
  const uint64_t largest = LargestCode(t);
  if (magnitude > largest) {
    const bool infinity = t.family == Family::kIeee && magnitude == largest + 1;
    out.number_class = infinity ? Class::kInfinity : Class::kNan;
  }
  if (t.family == Family::kFnuz && out.negative && magnitude == 0) out.number_class = Class::kNan;
  return out;
}

enum class Mode : uint8_t { kNearest, kTowardZero, kStochastic };

struct Rules {
  Mode mode = Mode::kNearest;
  bool saturate = true;
  uint32_t random = 0;
};

inline uint64_t Signed(const Type& t, bool negative, uint64_t magnitude) {
  return (negative ? Power(t.x + t.y) : 0) | magnitude;
}

inline uint64_t NanOf(const Type& t, bool negative) {
  if (t.family == Family::kIeee) {  // the quiet one
    return Signed(t, negative, LargestCode(t) + 1 + Power(t.y - 1));
  }
  if (t.family == Family::kFn) return Signed(t, negative, LargestCode(t) + 1);
  if (t.family == Family::kFnuz) return Power(t.x + t.y);
  if (t.family == Family::kScale) return 255;
  return LargestCode(t);  // finite only
}

// The result for a number that is too large.
inline uint64_t TooLarge(const Type& t, bool negative, bool saturate) {
  if (saturate || t.family == Family::kFinite) return Signed(t, negative, LargestCode(t));
  if (t.family == Family::kIeee) return Signed(t, negative, LargestCode(t) + 1);
  return NanOf(t, negative);
}

// (lo + hi) / 2, the exponent of lo being the lower one.
inline Dyadic Middle(const Dyadic& lo, const Dyadic& hi) {
  return {lo.m + (hi.m << (hi.e - lo.e)), lo.e - 1};
}

// lo + (hi - lo) * (2^32 - random) / 2^32: from here on stochastic rounding returns hi.
inline Dyadic StochasticThreshold(const Dyadic& lo, const Dyadic& hi, uint32_t random) {
  const Wide step = (hi.m << (hi.e - lo.e)) - lo.m;
  return {(lo.m << 32) + step * (Power(32) - random), lo.e - 32};
}

// Whether x in [lo, hi), lo of code `code`, becomes hi.
inline bool GoesUp(const Dyadic& x, const Dyadic& lo, const Dyadic& hi, uint64_t code,
                   const Rules& rules) {
  if (rules.mode == Mode::kTowardZero || Compare(x, lo) == 0) return false;
  if (rules.mode == Mode::kStochastic) {
    return Compare(x, StochasticThreshold(lo, hi, rules.random)) >= 0;
  }
  const int side = Compare(x, Middle(lo, hi));
  return side > 0 || (side == 0 && code % 2 == 1);
}

// The last code in [0, last] whose number is at most x; that of code 0 is.
inline uint64_t CodeBelow(const Type& t, const Dyadic& x, uint64_t last) {
  uint64_t low = 0, high = last;
  while (low < high) {
    const uint64_t middle = low + (high - low + 1) / 2;
    if (Compare(MagnitudeAt(t, middle), x) <= 0) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

inline uint64_t EncodeFloat(const Type& t, const Value& v, const Rules& rules) {
  if (v.number_class == Class::kNan) return NanOf(t, v.negative);
  const bool scale = t.family == Family::kScale;
  if (scale && v.negative) return 0;
  if (v.number_class == Class::kInfinity) return TooLarge(t, v.negative, rules.saturate);
  if (scale && Compare(v.magnitude, MagnitudeAt(t, 0)) < 0) return 0;
  const uint64_t largest = LargestCode(t);
  uint64_t code = CodeBelow(t, v.magnitude, largest + 1);
  if (code <= largest &&
      GoesUp(v.magnitude, MagnitudeAt(t, code), MagnitudeAt(t, code + 1), code, rules)) {
    ++code;
  }
  if (code > largest) {
    if (rules.mode != Mode::kTowardZero) return TooLarge(t, v.negative, rules.saturate);
    code = largest;
  }
  if (t.family == Family::kFnuz && code == 0) return 0;
  return Signed(t, v.negative, code);
}

// Integers round toward zero where floats round to nearest, and always saturate.
inline uint64_t EncodeInteger(const Type& t, const Value& v, const Rules& rules) {
  if (v.number_class == Class::kNan) return 0;
  const Wide size = Wide{1} << t.bits;
  const Wide most = t.family == Family::kSigned ? size / 2 - 1 : size - 1;
  const Wide least = t.family == Family::kSigned ? size / 2 : 0;  // of the negative side
  const Wide bound = v.negative ? least : most;
  Wide magnitude = bound;
  if (v.number_class == Class::kFinite && Compare(v.magnitude, {bound, 0}) < 0) {
    const int e = v.magnitude.e;
    magnitude = e >= 0 ? v.magnitude.m << e : e > -128 ? v.magnitude.m >> -e : 0;
    if (rules.mode == Mode::kStochastic &&
        GoesUp(v.magnitude, {magnitude, 0}, {magnitude + 1, 0}, 0, rules)) {
      ++magnitude;
    }
  }
  return static_cast<uint64_t>((v.negative ? size - magnitude : magnitude) & (size - 1));
}

inline uint64_t Encode(const Type& t, const Value& v, const Rules& rules) {
  if (t.IsInteger()) return EncodeInteger(t, v, rules);
  if (t.family == Family::kBool) {
    return v.number_class != Class::kFinite || v.magnitude.m != 0 ? 1 : 0;
  }
  return EncodeFloat(t, v, rules);
}

// Every number without sign at which a conversion to the type changes its result: the type's own
// numbers, the middles between two, and the thresholds of stochastic rounding with some operands.
inline std::vector<Dyadic> Boundaries(const Type& t, const std::vector<uint32_t>& operands) {
  std::vector<Dyadic> out;
  const bool integer = t.IsInteger() || t.family == Family::kBool;
  const uint64_t last = integer ? Power(t.bits) : LargestCode(t) + 1;
  const auto at = [&](uint64_t i) { return integer ? Dyadic{i, 0} : MagnitudeAt(t, i); };
  for (uint64_t i = 0; i <= last; ++i) {
    const Dyadic lo = at(i), hi = at(i + 1);
    out.push_back(lo);
    out.push_back(Middle(lo, hi));
    for (const uint32_t random : operands) out.push_back(StochasticThreshold(lo, hi, random));
  }
  return out;
}

}  // namespace tarsia::rational

#endif  // TARSIA_TESTS_UNIT_DTYPES_RATIONAL_H_
