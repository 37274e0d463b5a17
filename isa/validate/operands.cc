#include "isa/validate/operands.h"

#include <fmt/format.h>

#include "dtypes/convert.h"
#include "isa/literal.h"
#include "isa/validate/value_types.h"

namespace tarsia {

CheckedOperand Operands::Get(const Inst& inst, size_t operand) const {
  const Kernel& kernel = context_.kernel();
  const InstRow& row = Row(inst.opcode);
  const size_t slot = row.Slot(operand);
  CheckedOperand out;
  out.name = row.operands[operand].name;
  if (slot >= inst.slots) return out;
  out.id = kernel.Slots(inst)[slot];
  out.location = kernel.ArgLocation(inst, inst.results + slot);
  if (out.id.is_value() && out.id.value() < context_.value_count()) {
    out.type = &context_.type(out.id.value());
  }
  return out;
}

ExprId Operands::Indices(const Inst& inst, size_t operand) const {
  return context_.kernel().Slots(inst)[Row(inst.opcode).Slot(operand) + 1];
}

std::string Operands::Describe(const CheckedOperand& operand) const {
  if (operand.type != nullptr) return context_.Describe(*operand.type);
  return context_.pool().UsesValues(operand.id) ? "a scalar expression" : "a constant";
}

bool Operands::SameDType(const Inst& inst, const CheckedOperand& a, const CheckedOperand& b) {
  if (a.type == nullptr || b.type == nullptr) return true;
  if (!Differ(context_.pool(), a.type->dtype, b.type->dtype)) return true;
  context_.Error(diag::kTypesDiffer, b.location, Row(inst.opcode).mnemonic, a.name,
                 context_.Text(a.type->dtype), b.name, context_.Text(b.type->dtype));
  return false;
}

bool Operands::SameShape(const Inst& inst, const CheckedOperand& a, const CheckedOperand& b) {
  if (!a.IsTile() || !b.IsTile()) return true;
  if (!ShapesDiffer(context_.pool(), a.type->shape, b.type->shape)) return true;
  context_.Error(diag::kShapesDiffer, b.location, Row(inst.opcode).mnemonic, a.name,
                 context_.Text(a.type->shape), b.name, context_.Text(b.type->shape));
  return false;
}

bool Operands::ShapesCombine(const Inst& inst, const CheckedOperand& a, const CheckedOperand& b) {
  const ExprPool& pool = context_.pool();
  const ExtentPair conflict = ExtentsInConflict(pool, a.type->shape, b.type->shape);
  if (conflict.a.none()) return true;
  Diagnostic& error =
      context_.Error(diag::kExtentsDiffer, b.location, Row(inst.opcode).mnemonic, a.name,
                     context_.Text(a.type->shape), b.name, context_.Text(b.type->shape),
                     context_.Text(conflict.a), context_.Text(conflict.b));
  if (Rank(pool, a.type->shape) != Rank(pool, b.type->shape)) {
    error.help = "extents are compared from the last one on; `unsqueeze` adds an extent of 1";
  }
  return false;
}

bool Operands::SameLayout(const Inst& inst, const CheckedOperand& a, const CheckedOperand& b) {
  if (!a.IsTile() || !b.IsTile()) return true;
  if (a.type->layout == b.type->layout) return true;  // the usual case, which needs no names
  return layouts_.Agree(inst, a.type->layout, fmt::format("`{}`", a.name), b.type->layout,
                        fmt::format("`{}`", b.name), b.location);
}

bool Operands::IsValueOf(DType dtype, const CheckedOperand& operand) {
  return IsLiteralOf(dtype, context_.pool(), context_.Fold(operand.id), operand.constant);
}

bool Operands::LiteralFits(const CheckedOperand& operand, ExprId dtype_id) {
  const auto dtype = context_.pool().AsDType(dtype_id);
  const ExprType kind = operand.constant;
  if (!dtype || kind == ExprType::kUnknown || IsValueOf(*dtype, operand)) return true;
  Diagnostic& error = context_.Error(diag::kLiteralType, operand.location,
                                     context_.Text(operand.id), DTypeName(*dtype));
  const bool number = kind == ExprType::kFloat || kind == ExprType::kInt;
  if (number && dtype->IsFloat()) {
    error.help = fmt::format("the largest finite value is {}",
                             DecodeToString(*dtype, MaxFiniteCode(*dtype)));
  }
  return false;
}

}  // namespace tarsia
