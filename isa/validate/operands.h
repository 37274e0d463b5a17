// The operands of an instruction, for rules.
#ifndef TARSIA_ISA_VALIDATE_OPERANDS_H_
#define TARSIA_ISA_VALIDATE_OPERANDS_H_

#include <string>
#include <string_view>

#include "isa/validate/tile_layouts.h"

namespace tarsia {

// An operand while constants may be open.
struct CheckedOperand {
  ExprId id;
  const ValueType* type = nullptr;  // null: an expression
  ExprType constant = ExprType::kUnknown;
  std::string_view name;  // as in isa.def
  Location location;
  [[nodiscard]] bool present() const { return !id.none(); }
  [[nodiscard]] bool IsTile() const { return type != nullptr && type->kind == ValueKind::kTile; }
};

class Operands {
 public:
  Operands(KernelContext& context, TileLayouts& layouts) : context_(context), layouts_(layouts) {}

  [[nodiscard]] CheckedOperand Get(const Inst& inst, size_t operand) const;
  // The list of indices of a kElement operand.
  [[nodiscard]] ExprId Indices(const Inst& inst, size_t operand) const;
  [[nodiscard]] std::string Describe(const CheckedOperand& operand) const;

  // ---- agreement: false after an error -----------------------------------------------------

  bool SameDType(const Inst& inst, const CheckedOperand& a, const CheckedOperand& b);
  bool SameShape(const Inst& inst, const CheckedOperand& a, const CheckedOperand& b);
  // The shapes of two tiles are one where extents of 1 are repeated.
  bool ShapesCombine(const Inst& inst, const CheckedOperand& a, const CheckedOperand& b);
  // The written layouts of tiles.
  bool SameLayout(const Inst& inst, const CheckedOperand& a, const CheckedOperand& b);
  // A constant operand is a value of the element type.
  bool LiteralFits(const CheckedOperand& operand, ExprId dtype);

 private:
  // Whether the constant, a number or a truth value, is a value of the type.
  bool IsValueOf(DType dtype, const CheckedOperand& operand);

  KernelContext& context_;
  TileLayouts& layouts_;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_OPERANDS_H_
