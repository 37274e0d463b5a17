// What the values of a program are at the place where code goes: the elements of a tile in the
// slots of a thread or the words that hold them, the one element of a scalar. All are SSA values.
// Where control flow meets, phis choose between them.
//
// Control flow is structured, so phis are only needed for what a region assigns and the code before
// it has assigned, too. What a region assigns first is not used after it.
#ifndef TARSIA_COMPILER_LLVM_CODE_CURRENT_VALUES_H_
#define TARSIA_COMPILER_LLVM_CODE_CURRENT_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/llvm/code/function_builder.h"
#include "compiler/llvm/code/words.h"
#include "isa/program.h"

namespace tarsia::compiler {

class CurrentValues {
 public:
  CurrentValues(const Program& program, FunctionBuilder& function)
      : program_(program), f_(function), held_(program.types().size()) {}

  // Of a value of the program that has been assigned.
  const Slots& operator[](uint32_t value) const { return held_[value]; }
  // Always as many, of the same types.
  void Assign(uint32_t value, Slots held) { held_[value] = std::move(held); }

  // ---- control flow ----------------------------------------------------------------------------
  // The values that instructions `begin` to `end` assign, and that have been assigned before.
  [[nodiscard]] std::vector<uint32_t> Changed(size_t begin, size_t end) const;

  // An edge of the control flow: the block that it leaves, and what some values are there. Halves
  // (f16, bf16) go along it two in a word, so that they stay pairs.
  struct Edge {
    llvm::BasicBlock* from = nullptr;
    Slots held;  // of one value after the other
  };
  // From here.
  [[nodiscard]] Edge Leave(const std::vector<uint32_t>& values);
  // At the beginning of a block that one edge leads to, or two.
  void Enter(const std::vector<uint32_t>& values, const Edge& edge);
  void Enter(const std::vector<uint32_t>& values, const Edge& one, const Edge& other);

  // At the beginning of the first block of a loop, to which `before` leads: makes a phi for each
  // element or word of an edge. CloseLoop adds the edge that leads back.
  std::vector<llvm::PHINode*> OpenLoop(const std::vector<uint32_t>& values, const Edge& before);
  static void CloseLoop(const std::vector<llvm::PHINode*>& phis, const Edge& back);

 private:
  llvm::PHINode* Phi(llvm::Type* type, uint32_t value);
  [[nodiscard]] bool LeavesAsWords(uint32_t value) const;
  [[nodiscard]] size_t LeavingCount(uint32_t value) const;
  // Sets the values to what an edge holds of them. No phi may follow in the block.
  void Take(const std::vector<uint32_t>& values, const Slots& held);
  // Calls `visit(value, i)` for each element of Edge::held, with its number `i`.
  template <typename Visit>
  void ForEach(const std::vector<uint32_t>& values, const Visit& visit) const;

  const Program& program_;
  FunctionBuilder& f_;
  std::vector<Slots> held_;  // by value; empty before it is assigned
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_CURRENT_VALUES_H_
