// Checks operands against the table: kinds, memory spaces, indices and element types.
#ifndef TARSIA_ISA_VALIDATE_OPERAND_CHECKER_H_
#define TARSIA_ISA_VALIDATE_OPERAND_CHECKER_H_

#include "isa/validate/operands.h"
#include "isa/validate/scopes.h"

namespace tarsia {

// Every function returns false after an error.
class OperandChecker {
 public:
  OperandChecker(KernelContext& context, Expressions& expressions, Scopes& scopes,
                 const Operands& operands)
      : context_(context), expressions_(expressions), scopes_(scopes), operands_(operands) {}

  // Checks all operands of an instruction, also after errors in some of them.
  bool Check(const Inst& inst, const InstRow& row);

 private:
  bool CheckValue(const Inst& inst, const InstRow& row, size_t i, const CheckedOperand& operand);
  bool CheckValueKind(const InstRow& row, size_t i, const CheckedOperand& operand);
  bool CheckDType(const InstRow& row, size_t i, const CheckedOperand& operand);
  bool CheckIndices(const Inst& inst, size_t i, const CheckedOperand& tile);
  bool CheckExpression(const InstRow& row, size_t i, const CheckedOperand& operand);
  bool CheckCondition(ExprId id, Location location);
  bool CheckNumber(const InstRow& row, size_t i, const CheckedOperand& operand);
  bool WrongKind(const InstRow& row, size_t i, const CheckedOperand& operand);

  KernelContext& context_;
  Expressions& expressions_;
  Scopes& scopes_;
  const Operands& operands_;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_OPERAND_CHECKER_H_
