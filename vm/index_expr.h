// Scalar expressions (indices, bounds, conditions, extents) made ready to run: constants folded,
// single values read directly, the rest a short postfix code.
//
// Integers are 64 bits and wrap; x / 0 is -1 and x % 0 is x; / and % truncate. Where a float takes
// part, both sides are f64. Comparisons and `and`, `or`, `not` give 0 or 1.
#ifndef TARSIA_VM_INDEX_EXPR_H_
#define TARSIA_VM_INDEX_EXPR_H_

#include <bit>
#include <cstdint>
#include <vector>

#include "isa/program.h"
#include "layout/text/expr.h"
#include "support/result.h"

namespace tarsia::vm {

// The code of a scalar of an integer type or bool as a 64-bit integer.
inline int64_t CodeToInt(DType type, uint64_t code) {
  if (type.IsSigned() && type.bits < 64) {
    const int up = 64 - type.bits;
    return static_cast<int64_t>(code << up) >> up;
  }
  return static_cast<int64_t>(code & CodeMask(type));
}

// Integer division and remainder as indices mean them; total.
int64_t IndexDivide(int64_t a, int64_t b);
int64_t IndexModulo(int64_t a, int64_t b);
// a / b rounded up; -1 for b = 0.
int64_t IndexCeilDivide(int64_t a, int64_t b);

class IndexExpr {
 public:
  enum class Type : uint8_t { kInt, kBool, kFloat };

  IndexExpr() = default;  // the integer 0
  static IndexExpr Constant(int64_t value);
  // Errors: an expression that is no scalar one, or that is nested too deep.
  static Result<IndexExpr> Compile(const Program& program, ExprId id, Location location = {});

  [[nodiscard]] Type type() const { return type_; }
  [[nodiscard]] bool IsConstant() const { return form_ == Form::kConstant; }
  // `codes`: the scalars' codes by value number.
  [[nodiscard]] int64_t Int(const uint64_t* codes) const {
    if (form_ == Form::kConstant) return constant_.i;
    if (form_ == Form::kValue) return CodeToInt(value_type_, codes[value_]);
    return Run(codes).i;
  }
  [[nodiscard]] bool Bool(const uint64_t* codes) const { return Int(codes) != 0; }
  // Only for type kFloat.
  [[nodiscard]] double Float(const uint64_t* codes) const {
    return form_ == Form::kConstant ? constant_.f : Run(codes).f;
  }
  // The value rounded once to a type, as `cast` from i64, f64 or bool does it; integers computed
  // at run time keep their low bits.
  [[nodiscard]] uint64_t Code(const uint64_t* codes, DType type) const;
  // True when it depends on these values alone.
  [[nodiscard]] bool UsesOnlyBelow(uint32_t value) const;

 private:
  enum class Form : uint8_t { kConstant, kValue, kPostfix };
  union Cell {
    int64_t i;
    double f;
  };
  enum class Op : uint8_t;
  struct Step {
    Op op{};
    DType type;          // kLoadInt, kLoadFloat
    uint32_t value = 0;  // kLoadInt, kLoadFloat
    Cell constant{0};    // kConstant
  };
  class Compiler;
  [[nodiscard]] Cell Run(const uint64_t* codes) const;

  Form form_ = Form::kConstant;
  Type type_ = Type::kInt;
  DType value_type_;
  uint32_t value_ = 0;
  Cell constant_{0};
  std::vector<Step> steps_;
};

}  // namespace tarsia::vm

#endif  // TARSIA_VM_INDEX_EXPR_H_
