// The arithmetic of expressions: one rule for what is computed when a kernel is specialised and for
// what is computed when it runs.
//
// Integers have 64 bits. / and % truncate toward zero, `ceildiv` rounds up. For scalars every
// operation has a result: it wraps, x / 0 and ceildiv(x, 0) are -1, x % 0 is x. For constants an
// overflow or a division by zero is an error; otherwise the result is the same. Floats are f64.
#ifndef TARSIA_LAYOUT_TEXT_ARITHMETIC_H_
#define TARSIA_LAYOUT_TEXT_ARITHMETIC_H_

#include <cmath>
#include <cstdint>
#include <optional>

#include "layout/text/expr.h"

namespace tarsia {

// ---- scalars: total ------------------------------------------------------------------------

inline int64_t WrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t WrapSubtract(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t WrapMultiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
inline int64_t WrapDivide(int64_t a, int64_t b) {
  if (b == 0) return -1;
  return b == -1 ? WrapSubtract(0, a) : a / b;
}
inline int64_t WrapModulo(int64_t a, int64_t b) {
  if (b == 0) return a;
  return b == -1 ? 0 : a % b;
}
inline int64_t WrapCeilDivide(int64_t a, int64_t b) {
  const int64_t quotient = WrapDivide(a, b);
  if (b == 0 || WrapModulo(a, b) == 0 || (a < 0) != (b < 0)) return quotient;
  return quotient + 1;
}

// ---- constants: nothing where there is an overflow or a division by zero ---------------------

// + - * / %
std::optional<int64_t> CheckedArithmetic(BinaryOp op, int64_t a, int64_t b);
std::optional<int64_t> CheckedCeilDivide(int64_t a, int64_t b);

// ---- floats and comparisons ----------------------------------------------------------------

// + - * / %
double FloatArithmetic(BinaryOp op, double a, double b);

constexpr bool IsComparison(BinaryOp op) {
  return op >= BinaryOp::kEqual && op <= BinaryOp::kGreaterEqual;
}
// == != < <= > >=; NaN is unequal to everything.
template <typename T>
bool Compare(BinaryOp op, T a, T b) {
  if (op == BinaryOp::kEqual) return a == b;
  if (op == BinaryOp::kNotEqual) return a != b;
  if (op == BinaryOp::kLess) return a < b;
  if (op == BinaryOp::kLessEqual) return a <= b;
  return op == BinaryOp::kGreater ? a > b : a >= b;
}

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_TEXT_ARITHMETIC_H_
