// What an instruction of a form accesses in memory, as costs see it (compiler/cost/cost.h).
#ifndef TARSIA_COMPILER_PASSES_ACCESSED_MEMORY_H_
#define TARSIA_COMPILER_PASSES_ACCESSED_MEMORY_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/cost/cost.h"
#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

class AccessedMemories {
 public:
  // The form must outlive this; operations and values may be added to it.
  AccessedMemories(const tile::Form& form, Target target)
      : form_(form), target_(target), definitions_(form.Definitions()) {}

  // The memory of an operand, a tile in memory.
  [[nodiscard]] AccessedMemory Of(const tile::Operation& op, size_t operand = 0) const;
  // As if the program had the assumption that a number divides a parameter.
  void Suppose(tile::ValueId parameter, int64_t divisor) { assumed_ = {parameter, divisor}; }
  // A number that divides a scalar expression unless it wraps around; 0: it is 0.
  [[nodiscard]] int64_t DivisorOf(ExprId expr) const { return Divisor(expr, 0); }

 private:
  [[nodiscard]] int64_t Divisor(ExprId expr, int depth) const;
  [[nodiscard]] int64_t Divisor(const Operand& operand, int depth) const;
  [[nodiscard]] int64_t DivisorOfValue(tile::ValueId value, int depth) const;
  [[nodiscard]] int64_t DivisorOfParameter(tile::ValueId value) const;
  void SetStrides(const ConcreteType& type, bool by_column, AccessedMemory& memory) const;
  void SetIndexed(const tile::Operation& op, AccessedMemory& memory) const;
  [[nodiscard]] int64_t ExtentDivisor(const ConcreteType& type, size_t dim) const;
  void AddIndices(ExprId indices, AccessedMemory& memory) const;
  void AddExtents(const ConcreteType& type, AccessedMemory& memory) const;

  const tile::Form& form_;
  const Target target_;
  const std::vector<tile::Definition> definitions_;
  std::optional<std::pair<tile::ValueId, int64_t>> assumed_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_ACCESSED_MEMORY_H_
