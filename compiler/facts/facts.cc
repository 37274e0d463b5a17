#include "compiler/facts/facts.h"

#include <algorithm>

namespace tarsia::compiler {
namespace {

uint64_t Magnitude(int64_t x) {
  return x < 0 ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
}

// Wrapping in 64 bits keeps the powers of two among the divisors.
Facts Wrapped(uint64_t multiple) {
  Facts out;
  out.multiple = multiple == 0 ? 1 : multiple & (~multiple + 1);
  return out;
}

Facts Make(__int128 lo, __int128 hi, uint64_t multiple) {
  if (lo < INT64_MIN || hi > INT64_MAX) return Wrapped(multiple);
  if (lo == hi) return Facts::Exactly(static_cast<int64_t>(lo));
  return {static_cast<int64_t>(lo), static_cast<int64_t>(hi), multiple == 0 ? 1 : multiple};
}

}  // namespace

Facts Facts::Exactly(int64_t x) { return {x, x, Magnitude(x)}; }

Facts Facts::OfType(DType type) {
  if (type.IsBool()) return Between(0, 1);
  if (!type.IsInteger() || type.bits == 64) return {};
  if (type.IsSigned()) {
    const int64_t half = int64_t{1} << (type.bits - 1);
    return Between(-half, half - 1);
  }
  return Between(0, (int64_t{1} << type.bits) - 1);
}

uint64_t Facts::PowerOfTwo(uint64_t limit) const {
  while (limit > 1 && !IsMultipleOf(limit)) limit /= 2;
  return limit;
}

Facts operator+(const Facts& a, const Facts& b) {
  return Make(static_cast<__int128>(a.lo) + b.lo, static_cast<__int128>(a.hi) + b.hi,
              std::gcd(a.multiple, b.multiple));
}

Facts operator-(const Facts& a, const Facts& b) {
  return Make(static_cast<__int128>(a.lo) - b.hi, static_cast<__int128>(a.hi) - b.lo,
              std::gcd(a.multiple, b.multiple));
}

Facts operator*(const Facts& a, const Facts& b) {
  const __int128 corners[] = {
      static_cast<__int128>(a.lo) * b.lo, static_cast<__int128>(a.lo) * b.hi,
      static_cast<__int128>(a.hi) * b.lo, static_cast<__int128>(a.hi) * b.hi};
  uint64_t multiple = 0;
  if (__builtin_mul_overflow(a.multiple, b.multiple, &multiple)) {
    multiple = std::max(a.PowerOfTwo(uint64_t{1} << 32), b.PowerOfTwo(uint64_t{1} << 32));
  }
  return Make(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4),
              multiple);
}

Facts Quotient(const Facts& a, const Facts& b) {
  if (!b.IsExact() || b.lo <= 0) return {};
  const auto divisor = static_cast<uint64_t>(b.lo);
  return Make(a.lo / b.lo, a.hi / b.lo, a.IsMultipleOf(divisor) ? a.multiple / divisor : 1);
}

Facts Remainder(const Facts& a, const Facts& b) {
  if (!b.IsExact() || b.lo <= 0) return {};
  if (a.lo >= 0 && a.hi < b.lo) return a;
  return Make(a.lo < 0 ? -(b.lo - 1) : 0, a.hi > 0 ? b.lo - 1 : 0,
              std::gcd(a.multiple, b.multiple));
}

Facts Smaller(const Facts& a, const Facts& b) {
  return Make(std::min(a.lo, b.lo), std::min(a.hi, b.hi), std::gcd(a.multiple, b.multiple));
}

Facts Larger(const Facts& a, const Facts& b) {
  return Make(std::max(a.lo, b.lo), std::max(a.hi, b.hi), std::gcd(a.multiple, b.multiple));
}

Facts Truncated(const Facts& x, DType type) {
  const Facts range = Facts::OfType(type);
  if (x.lo >= range.lo && x.hi <= range.hi) return x;
  Facts out = range;
  out.multiple = x.PowerOfTwo(uint64_t{1} << std::min<int>(type.bits - 1, 62));
  return out;
}

Facts Both(const Facts& a, const Facts& b) {
  Facts out;
  out.lo = std::max(a.lo, b.lo);
  out.hi = std::max(out.lo, std::min(a.hi, b.hi));
  uint64_t multiple = 0;
  const uint64_t gcd = std::gcd(a.multiple, b.multiple);
  if (gcd == 0 || __builtin_mul_overflow(a.multiple / gcd, b.multiple, &multiple)) {
    multiple = std::max(a.multiple, b.multiple);
  }
  out.multiple = multiple;
  return out;
}

}  // namespace tarsia::compiler
