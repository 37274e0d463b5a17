// Tiles in registers: one element for each of a thread's slots, and for some tiles the words of the
// codes besides.
#ifndef TARSIA_COMPILER_LLVM_CODE_REGISTER_TILES_H_
#define TARSIA_COMPILER_LLVM_CODE_REGISTER_TILES_H_

#include <cstdint>
#include <vector>

#include "compiler/llvm/code/current_values.h"
#include "compiler/llvm/code/exchange.h"

namespace tarsia::compiler {

class RegisterTiles {
 public:
  RegisterTiles(const Program& program, const LayoutPlan& plan, FunctionBuilder& function,
                CurrentValues& values, Layouts& layouts, Exchange& exchange);

  // The layout in which a value's elements lie.
  [[nodiscard]] LayoutId LayoutOf(uint32_t value) const { return plan_.values[value]; }
  [[nodiscard]] const Slots& Read(uint32_t value) const { return values_.SlotsOf(value); }
  // `words`, if they are at hand: those of the codes, in the order of CodeBits.
  void Write(uint32_t value, const Slots& slots, const Slots& words = {});
  Slots Convert(const Slots& slots, DType type, LayoutId from, LayoutId to);

  // Tiles whose codes are cast, unpacked or viewed may keep the words of the codes besides the
  // slots. LLVM removes those of the two that are not read.
  [[nodiscard]] bool KeepsWords(uint32_t value) const { return keeps_words_[value]; }
  [[nodiscard]] const Slots& ReadWords(uint32_t value) const { return values_.WordsOf(value); }
  // Where the codes lie in words: the tile's bit layout, or contiguous.
  [[nodiscard]] Result<BitLayout> CodeBits(uint32_t value) const;

 private:
  void FindWords();

  const Program& program_;
  const LayoutPlan& plan_;
  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  CurrentValues& values_;
  Layouts& layouts_;
  Exchange& exchange_;
  std::vector<bool> keeps_words_;  // by value
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_REGISTER_TILES_H_
