#include "layout/text/arithmetic.h"

#include "layout/checked.h"

namespace tarsia {

std::optional<int64_t> CheckedArithmetic(BinaryOp op, int64_t a, int64_t b) {
  if (op == BinaryOp::kAdd) return CheckedAdd(a, b);
  if (op == BinaryOp::kSubtract) return CheckedSub(a, b);
  if (op == BinaryOp::kMultiply) return CheckedMul(a, b);
  if (b == 0) return std::nullopt;
  if (op == BinaryOp::kModulo) return WrapModulo(a, b);
  if (a == INT64_MIN && b == -1) return std::nullopt;
  return WrapDivide(a, b);
}

std::optional<int64_t> CheckedCeilDivide(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  return WrapCeilDivide(a, b);
}

double FloatArithmetic(BinaryOp op, double a, double b) {
  if (op == BinaryOp::kAdd) return a + b;
  if (op == BinaryOp::kSubtract) return a - b;
  if (op == BinaryOp::kMultiply) return a * b;
  return op == BinaryOp::kDivide ? a / b : std::fmod(a, b);
}

}  // namespace tarsia
