// What one thread holds as LLVM values, and how codes lie in words of it.
#ifndef TARSIA_COMPILER_LLVM_CODE_WORDS_H_
#define TARSIA_COMPILER_LLVM_CODE_WORDS_H_

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <vector>

#include "layout/bit_layout.h"

namespace tarsia::compiler {

// Values of one thread: an element for each slot of a register tile, or its words.
using Slots = std::vector<llvm::Value*>;

// The code of `width` bits (in its container) at bit `bit` of a little-endian run of words.
llvm::Value* CodeInRun(llvm::IRBuilder<>& b, const Slots& words, int word_bits, int bit, int width);
// The reverse: codes of `width` bits, one after the other, as whole words.
Slots RunOfCodes(llvm::IRBuilder<>& b, const Slots& codes, int width, int word_bits);

// The code of a slot in 32-bit words in the order of a bit layout; the reverse of all slots. Codes
// are integers in containers.
llvm::Value* CodeOfWords(llvm::IRBuilder<>& b, const BitLayout& bits, int64_t slot,
                         const Slots& words);
Slots WordsOfCodes(llvm::IRBuilder<>& b, const BitLayout& bits, const Slots& codes);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_WORDS_H_
