// The scalars of a program as sums of symbols, at one place of a walk over its instructions.
#ifndef TARSIA_COMPILER_FACTS_SCALAR_FORMS_H_
#define TARSIA_COMPILER_FACTS_SCALAR_FORMS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/facts/relations.h"
#include "compiler/facts/scalar_facts.h"
#include "isa/program.h"

namespace tarsia::compiler {

class ScalarForms {
 public:
  // Starts with what every launch checks of the scalar parameters.
  explicit ScalarForms(const Program& program);

  Relations& relations() { return relations_; }
  // An integer scalar. If several instructions assign it, each use is a new symbol.
  LinearForm Read(uint32_t value);
  // An integer expression in 64 bits.
  LinearForm Evaluate(ExprId id);
  // An operand as an integer of a type; nothing if it may be rounded.
  std::optional<LinearForm> Element(const Operand& operand, DType type);
  // Sets the form of a scalar that only one instruction assigns.
  void Write(uint32_t value, const LinearForm& form);
  // Sets the form of a loop counter, within the loop.
  void Bind(uint32_t value, const LinearForm& form);
  // The condition holds, or does not hold, from here on.
  void Assume(ExprId condition, bool holds);

  // The index of the block along an axis, and the number of blocks.
  LinearForm Block(int axis);
  LinearForm Grid(int axis) const { return grid_[axis]; }

  // While it lives, new knowledge holds only in a block of instructions.
  class Scope {
   public:
    explicit Scope(ScalarForms& forms)
        : forms_(forms), mark_(forms.relations_.Here()), written_(forms.written_.size()) {}
    ~Scope() { forms_.Leave(std::move(mark_), written_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ScalarForms& forms_;
    Relations::Mark mark_;
    size_t written_;
  };

 private:
  LinearForm OfNode(const ScalarNode& node, const std::vector<std::optional<LinearForm>>& made);
  std::vector<std::optional<LinearForm>> OfNodes(const ScalarExpr& expr);
  void AssumeNode(const ScalarExpr& expr, const std::vector<std::optional<LinearForm>>& made,
                  uint32_t number, bool holds, std::vector<uint8_t>& seen);
  void AssumeComparison(ScalarOp op, const LinearForm& x, const LinearForm& y, bool holds);
  void Leave(Relations::Mark mark, size_t written);

  const Program& program_;
  Relations relations_;
  ScalarFacts known_;
  std::vector<bool> constant_;                    // by value: it has one form
  std::vector<std::optional<LinearForm>> forms_;  // by value
  std::vector<uint32_t> written_;                 // the values with a form, in order
  LinearForm grid_[3];
  LinearForm block_[3];
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_FACTS_SCALAR_FORMS_H_
