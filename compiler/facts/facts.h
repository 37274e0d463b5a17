// Facts about an integer at compile time: a range and a divisor. They allow wide accesses, unneeded
// masks to be omitted, and loops that cannot overflow.
#ifndef TARSIA_COMPILER_FACTS_FACTS_H_
#define TARSIA_COMPILER_FACTS_FACTS_H_

#include <cstdint>
#include <numeric>

#include "dtypes/dtype.h"

namespace tarsia::compiler {

// lo <= x <= hi, and `multiple` divides x; 0 if x is always 0 (everything divides it).
struct Facts {
  int64_t lo = INT64_MIN;
  int64_t hi = INT64_MAX;
  uint64_t multiple = 1;

  static Facts Exactly(int64_t x);
  static Facts Between(int64_t low, int64_t high) { return {low, high, 1}; }
  // The facts of any integer of a type (or a bool).
  static Facts OfType(DType type);

  [[nodiscard]] bool IsExact() const { return lo == hi; }
  [[nodiscard]] bool IsMultipleOf(uint64_t n) const { return n != 0 && multiple % n == 0; }
  // The largest power of two that divides x, at most `limit` (itself one).
  [[nodiscard]] uint64_t PowerOfTwo(uint64_t limit) const;
  friend bool operator==(const Facts&, const Facts&) = default;
};

// Facts of wrapping 64-bit arithmetic.
Facts operator+(const Facts& a, const Facts& b);
Facts operator-(const Facts& a, const Facts& b);
Facts operator*(const Facts& a, const Facts& b);
Facts Quotient(const Facts& a, const Facts& b);  // truncating
Facts Remainder(const Facts& a, const Facts& b);
Facts Smaller(const Facts& a, const Facts& b);
Facts Larger(const Facts& a, const Facts& b);
// The facts of x truncated to the low bits of an integer type.
Facts Truncated(const Facts& x, DType type);
// The facts of an x for which both hold.
Facts Both(const Facts& a, const Facts& b);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_FACTS_FACTS_H_
