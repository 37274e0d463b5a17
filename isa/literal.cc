#include "isa/literal.h"

#include <string>

#include "dtypes/convert.h"

namespace tarsia {
namespace {

// Whether a number is a value of a type other than an integer: it does not overflow, and the type
// has infinity or NaN if the number is one.
bool IsNumberOf(DType dtype, const ExprPool& pool, ExprId number) {
  if (const auto whole = pool.AsInt(number)) {
    return ParseValue(dtype, std::to_string(*whole)).has_value();
  }
  const auto real = pool.AsFloat(number);
  return !real || ParseValue(dtype, FloatToString(*real)).has_value();
}

bool InRange(DType dtype, int64_t value) {
  if (dtype.kind == DTypeKind::kSigned) {
    return dtype.bits == 64 ||
           (value >= -(int64_t{1} << (dtype.bits - 1)) && value < (int64_t{1} << (dtype.bits - 1)));
  }
  return value >= 0 && (dtype.bits >= 63 || value < (int64_t{1} << dtype.bits));
}

}  // namespace

bool IsLiteralOf(DType dtype, const ExprPool& pool, ExprId folded, ExprType kind) {
  if (kind == ExprType::kBool) return dtype == kBoolType;
  if (dtype == kBoolType) return false;
  if (kind == ExprType::kFloat) return !dtype.IsInteger() && IsNumberOf(dtype, pool, folded);
  if (kind != ExprType::kInt) return false;
  if (!dtype.IsInteger()) return IsNumberOf(dtype, pool, folded);
  const auto value = pool.AsInt(folded);
  return !value || InRange(dtype, *value);
}

}  // namespace tarsia
