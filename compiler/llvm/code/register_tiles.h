// Tiles in registers: one element for each of a thread's slots, or the words of their codes.
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
  Slots Read(uint32_t value);
  void Write(uint32_t value, const Slots& slots);
  Slots Convert(const Slots& slots, DType type, LayoutId from, LayoutId to);

  // Tiles whose codes are cast, unpacked or viewed may be kept as the words of their codes, in the
  // order of CodeBits.
  [[nodiscard]] bool KeepsWords(uint32_t value) const { return keeps_words_[value]; }
  // Errors: the tile is too large for a bit layout.
  Result<Slots> ReadWords(uint32_t value);
  Status WriteWords(uint32_t value, const Slots& words);
  // Where the codes lie in words: the tile's bit layout, or contiguous.
  [[nodiscard]] Result<BitLayout> CodeBits(uint32_t value) const;

 private:
  void FindWords();
  // Whether a recipe can turn the codes of a value into a type.
  [[nodiscard]] bool HasRecipeTo(DType compute, uint32_t codes) const;
  Slots SlotsOfWords(const BitLayout& bits, const Slots& words);
  Slots WordsOfSlots(const BitLayout& bits, const Slots& slots);

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
