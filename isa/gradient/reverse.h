// The reverse mode: from the derivative of each result to those of the operands, node by node.
// Internal to isa/gradient.
//
// One rule for each operation. A rule gives each operand the derivative of the result, multiplied,
// as a product over all axes of the operation; Give sums it along those that the operand lacks.
#ifndef TARSIA_ISA_GRADIENT_REVERSE_H_
#define TARSIA_ISA_GRADIENT_REVERSE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "isa/gradient/products.h"
#include "isa/rewrite/draft.h"

namespace tarsia::gradient {

// How sums add, and whether squared distances may be taken apart.
struct ReverseOptions {
  GraphOption sums = GraphOption::kNone;
  bool fast = false;
};

// What keeps a derivative from being made.
struct ReverseError {
  enum class Kind : uint8_t { kFlat, kNoDerivative };
  Kind kind = Kind::kFlat;
  GraphOp op{};       // of kNoDerivative
  Location location;  // the same
};

// The type in which derivatives of values of a type are computed: f64 of f64, else f32.
inline DType DerivativeType(DType type) { return type == kF64 ? kF64 : kF32; }

using Node = DraftNode;

class Reverse {
 public:
  Reverse(Draft& draft, const ReverseOptions& options) : draft_(draft), options_(options) {}

  // The derivative of y times `dy`, or of y, by x; it has the type DerivativeType(x), and may lack
  // axes of x, along which it is constant. Empty after an error.
  std::optional<Product> Run(ValueId y, ValueId x, std::optional<ValueId> dy);
  [[nodiscard]] const ReverseError& error() const { return error_; }

 private:
  using Rule = void (Reverse::*)(const Node& node, const Product& d);
  struct RuleRow {
    GraphOp op;
    Rule rule;
  };
  static const RuleRow kRules[];
  void FindDependents(ValueId x, ValueId y);
  bool Visit(const Node& node);

  // Adds a derivative of an operand, if it is wanted. `d` is that by all axes of the node's
  // operands and result; it is summed along those that the operand lacks.
  void Give(const Node& node, size_t operand, const Product& d);
  void GiveSum(const Node& node, size_t operand, const Product& d, const Axes& gone);
  // Splits the factors into those that have one of the axes, as one value, and the others.
  struct Parts {
    ValueId inside = 0;
    Product outside;
  };
  Parts Split(const Node& node, const Product& d, const Axes& axes);
  [[nodiscard]] bool Wants(const Node& node, size_t operand) const;
  [[nodiscard]] Products Of(const Node& node) { return {draft_, TypeOf(node), options_.sums}; }
  // The type of derivatives of the result.
  [[nodiscard]] DType TypeOf(const Node& node) const {
    return DerivativeType(draft_.value(node.first_result).dtype);
  }
  // In this type.
  ValueId Result(const Node& node);
  ValueId Operand(const Node& node, size_t i);
  [[nodiscard]] Product TimesOperand(const Node& node, const Product& d, size_t i);
  // d where the condition holds, else 0; or the other way round.
  Product Where(const Node& node, const Product& d, ExprId condition, bool holds);

  // ---- elementwise (reverse_elementwise.cc)
  void Add(const Node& node, const Product& d);
  void Subtract(const Node& node, const Product& d);
  void Multiply(const Node& node, const Product& d);
  void Divide(const Node& node, const Product& d);
  void Remainder(const Node& node, const Product& d);
  void Negate(const Node& node, const Product& d);
  void MinMax(const Node& node, const Product& d);
  void Power(const Node& node, const Product& d);
  void Select(const Node& node, const Product& d);
  void Absolute(const Node& node, const Product& d);
  void Exponential(const Node& node, const Product& d);
  void Logarithm(const Node& node, const Product& d);
  void SquareRoot(const Node& node, const Product& d);
  void ReciprocalRoot(const Node& node, const Product& d);
  void Tangent(const Node& node, const Product& d);
  void ErrorFunction(const Node& node, const Product& d);
  void SineOrCosine(const Node& node, const Product& d);
  void Pass(const Node& node, const Product& d);  // casts, and what repeats elements

  // ---- axes, and by an index (reverse_shape.cc)
  void Rename(const Node& node, const Product& d);
  void Slice(const Node& node, const Product& d);
  void Concat(const Node& node, const Product& d);
  void Expand(const Node& node, const Product& d);
  void Gather(const Node& node, const Product& d);
  void SegmentSum(const Node& node, const Product& d);

  // ---- reductions (reverse_reduce.cc)
  void SquaredDistance(const Node& node, const Product& d);
  void L1Distance(const Node& node, const Product& d);
  void CosineOfAngle(const Node& node, const Product& d);
  void Mean(const Node& node, const Product& d);
  void Prod(const Node& node, const Product& d);
  void Extreme(const Node& node, const Product& d);
  void LogSumExp(const Node& node, const Product& d);
  void Softmax(const Node& node, const Product& d);
  void TopK(const Node& node, const Product& d);
  void Variance(const Node& node, const Product& d);

  // ---- linear algebra (reverse_solve.cc)
  void Cholesky(const Node& node, const Product& d);
  void TriangularSolve(const Node& node, const Product& d);

  Draft& draft_;
  const ReverseOptions options_;
  ReverseError error_;
  std::vector<bool> depends_;                // by value: on x
  std::vector<std::vector<Product>> given_;  // by value: the terms of its derivative
};

// -1, 0 or 1.
ValueId SignOf(Draft& draft, ValueId v);

}  // namespace tarsia::gradient

#endif  // TARSIA_ISA_GRADIENT_REVERSE_H_
