// Scalar expressions (indices, bounds, conditions, extents) with the types of all their parts: the
// interpreter and the host compute them, the compiler emits them. `Specialise` makes one for each
// expression of a program (Program::scalar).
//
// The arithmetic is that of layout/text/arithmetic.h: integers have 64 bits and wrap; if one side
// is a float, both sides are f64. Conditions are 0 or 1.
#ifndef TARSIA_ISA_SCALAR_EXPR_H_
#define TARSIA_ISA_SCALAR_EXPR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "dtypes/dtype.h"
#include "layout/text/expr.h"
#include "support/byte_codec.h"

namespace tarsia {

// The code of a scalar of an integer type or bool as a 64-bit integer.
inline int64_t CodeToInt(DType type, uint64_t code) {
  if (type.IsSigned() && type.bits < 64) {
    const int up = 64 - type.bits;
    return static_cast<int64_t>(code << up) >> up;
  }
  return static_cast<int64_t>(code & CodeMask(type));
}

// The kind of the value: an integer of 64 bits, a truth value, or an f64.
enum class ScalarKind : uint8_t { kInt, kBool, kFloat };
// The kind of a scalar of a type in an expression.
ScalarKind KindOfScalar(DType type);

// Operations on integers, on truth values, or (ScalarNode::is_float) on floats.
enum class ScalarOp : uint8_t {
  kConstant,
  kScalar,  // a scalar value
  kIntToFloat,
  kNot,
  kAnd,
  kOr,
  kNegate,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
  kCeilDivide,  // integers only, as are kMin and kMax
  kMin,
  kMax,
  kEqual,  // also truth values, as is kNotEqual
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
};

// A number of an expression: the integer (also for truth values) or the float.
union ScalarCell {
  int64_t i;
  double f;
};

// One operation; its operands are earlier nodes.
struct ScalarNode {
  ScalarOp op = ScalarOp::kConstant;
  ScalarKind kind = ScalarKind::kInt;  // of the result
  bool is_float = false;               // of the operands
  DType type;                          // kScalar
  uint32_t a = 0;                      // the first operand; kScalar: the value
  uint32_t b = 0;                      // the second operand
  ScalarCell constant{0};              // kConstant
};

class ScalarExpr {
 public:
  ScalarExpr() = default;  // the integer 0
  static ScalarExpr Constant(int64_t value);
  // Shared parts of the expression become one node: the time depends on the nodes of the pool, not
  // on the length of the text. `type_of` returns the type of a scalar by its number, empty for
  // other values. The result is empty if it is not a scalar expression.
  using TypeOfScalar = std::function<std::optional<DType>(uint32_t value)>;
  static std::optional<ScalarExpr> Make(const ExprPool& pool, ExprId id,
                                        const TypeOfScalar& type_of);

  // Its bytes, for formats that keep compiled code, and back. Read treats them as hostile and
  // refuses expressions of anything but the first `values` values; the result is then the integer 0
  // and the source is not ok().
  void Write(ByteSink* out) const;
  static ScalarExpr Read(ByteSource* in, uint32_t values);

  // In the order of computation; the last one is the result.
  [[nodiscard]] std::span<const ScalarNode> nodes() const { return nodes_; }
  [[nodiscard]] ScalarKind kind() const { return kind_; }
  [[nodiscard]] bool IsConstant() const { return form_ == Form::kConstant; }
  // Whether it depends only on these values.
  [[nodiscard]] bool UsesOnlyBelow(uint32_t value) const { return end_value_ <= value; }

  // `codes`: the scalars' codes by value number.
  [[nodiscard]] int64_t Int(const uint64_t* codes) const {
    if (form_ == Form::kConstant) return constant_.i;
    if (form_ == Form::kInteger) return CodeToInt(value_type_, codes[value_]);
    return Run(codes).i;
  }
  [[nodiscard]] bool Bool(const uint64_t* codes) const { return Int(codes) != 0; }
  // Only for kind kFloat.
  [[nodiscard]] double Float(const uint64_t* codes) const {
    return form_ == Form::kConstant ? constant_.f : Run(codes).f;
  }
  // The value rounded once to a type, as by `cast` from i64, f64 or bool; integers that are not
  // constants keep their low bits.
  [[nodiscard]] uint64_t Code(const uint64_t* codes, DType type) const;

 private:
  class Builder;
  // Constants and integer scalars are read directly.
  enum class Form : uint8_t { kConstant, kInteger, kNodes };
  void Finish();
  [[nodiscard]] ScalarCell Run(const uint64_t* codes) const;

  Form form_ = Form::kConstant;
  ScalarKind kind_ = ScalarKind::kInt;
  DType value_type_;        // kInteger
  uint32_t value_ = 0;      // kInteger
  uint32_t end_value_ = 0;  // one more than the last value that it reads
  ScalarCell constant_{0};  // kConstant
  std::vector<ScalarNode> nodes_;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_SCALAR_EXPR_H_
