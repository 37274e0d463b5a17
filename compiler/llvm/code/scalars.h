// The scalars of a program, the same in all threads, and expressions of them (isa/scalar_expr.h).
#ifndef TARSIA_COMPILER_LLVM_CODE_SCALARS_H_
#define TARSIA_COMPILER_LLVM_CODE_SCALARS_H_

#include <vector>

#include "compiler/facts/scalar_facts.h"
#include "compiler/llvm/code/current_values.h"
#include "compiler/llvm/code/function_builder.h"
#include "compiler/llvm/code/index_arithmetic.h"
#include "compiler/llvm/element/element.h"
#include "isa/program.h"

namespace tarsia::compiler {

// A scalar expression's value: i64, i1 or double.
struct ScalarValue {
  ScalarKind kind = ScalarKind::kInt;
  llvm::Value* value = nullptr;
  Facts facts;  // of integers and bools
};

class Scalars {
 public:
  // Assigns the parameters.
  Scalars(const Program& program, FunctionBuilder& function, CurrentValues& values,
          ElementEmitter& elements, IndexArithmetic& index);

  // As an element of the scalar's type.
  [[nodiscard]] llvm::Value* Read(uint32_t value) const { return values_[value][0]; }
  void Write(uint32_t value, llvm::Value* element, const Facts& facts = {});
  // An integer scalar's value in 64 bits.
  IndexValue ReadIndex(uint32_t value);

  ScalarValue Evaluate(ExprId expr);
  IndexValue Index(ExprId expr);
  // Each index of an operand in memory.
  std::vector<IndexValue> Indices(const Operand& operand);
  llvm::Value* Condition(ExprId expr);  // i1
  // A scalar or an expression as one element of the operand's type.
  llvm::Value* Element(const Operand& operand);

 private:
  const Program& program_;
  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  CurrentValues& values_;
  ElementEmitter& elements_;
  IndexArithmetic& index_;
  ScalarFacts known_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_SCALARS_H_
