#include "compiler/llvm/code/words.h"

#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <cassert>

#include "compiler/llvm/element/element.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// Bits of a code that follow each other in one word.
struct Run {
  BitPlace first;
  int count = 1;
};

// The run that begins at bit `bit` of the slot's code.
Run RunAt(const BitLayout& bits, int64_t slot, int bit) {
  Run run{bits.Place(slot, bit), 1};
  while (bit + run.count < bits.bits()) {
    const BitPlace next = bits.Place(slot, bit + run.count);
    if (next.word != run.first.word || next.bit != run.first.bit + run.count) break;
    ++run.count;
  }
  return run;
}

// The word of which codes are the parts, in their order; null if there is none.
llvm::Value* WordOfParts(llvm::ArrayRef<llvm::Value*> codes, int width, llvm::Type* type) {
  using llvm::PatternMatch::m_LShr;
  using llvm::PatternMatch::m_SpecificInt;
  using llvm::PatternMatch::m_Trunc;
  using llvm::PatternMatch::m_Value;
  llvm::Value* word = nullptr;
  if (!llvm::PatternMatch::match(codes[0], m_Trunc(m_Value(word)))) return nullptr;
  if (word->getType() != type) return nullptr;
  for (size_t i = 0; i < codes.size(); ++i) {
    if (codes[i]->getType()->getIntegerBitWidth() != static_cast<unsigned>(width)) return nullptr;
    if (i == 0) continue;
    const uint64_t shift = i * static_cast<uint64_t>(width);
    llvm::Value* same = nullptr;
    const bool part =
        llvm::PatternMatch::match(codes[i], m_Trunc(m_LShr(m_Value(same), m_SpecificInt(shift))));
    if (!part || same != word) return nullptr;
  }
  return word;
}

uint64_t LowBits(int count) { return (uint64_t{1} << count) - 1; }

}  // namespace

llvm::Value* CodeInRun(llvm::IRBuilder<>& b, const Slots& words, int word_bits, int bit,
                       int width) {
  const unsigned container = width <= 8 ? 8 : width <= 16 ? 16 : width <= 32 ? 32 : 64;
  llvm::Value* out = nullptr;
  for (int done = 0; done < width;) {
    const int at = (bit + done) % word_bits;
    const int take = std::min(word_bits - at, width - done);
    llvm::Value* piece = words[Size((bit + done) / word_bits)];
    if (at != 0) piece = b.CreateLShr(piece, static_cast<uint64_t>(at));
    piece = b.CreateZExtOrTrunc(piece, b.getIntNTy(container));
    if (take < std::min<int>(static_cast<int>(container), word_bits - at)) {
      piece = b.CreateAnd(piece, LowBits(take));
    }
    if (done != 0) piece = b.CreateShl(piece, static_cast<uint64_t>(done));
    out = out == nullptr ? piece : b.CreateOr(out, piece);
    done += take;
  }
  return out;
}

Slots RunOfCodes(llvm::IRBuilder<>& b, const Slots& codes, int width, int word_bits) {
  Slots words;
  llvm::Type* type = b.getIntNTy(static_cast<unsigned>(word_bits));
  int used = word_bits;  // of the last word
  const size_t parts = word_bits % width == 0 ? Size(word_bits / width) : 0;
  for (size_t i = 0; i < codes.size(); ++i) {
    if (used == word_bits && parts > 1 && i + parts <= codes.size()) {
      const llvm::ArrayRef<llvm::Value*> next(codes.data() + i, parts);
      if (llvm::Value* word = WordOfParts(next, width, type)) {
        words.push_back(word);
        i += parts - 1;
        continue;
      }
    }
    for (int done = 0; done < width;) {
      if (used == word_bits) {
        words.push_back(nullptr);
        used = 0;
      }
      const int take = std::min(word_bits - used, width - done);
      llvm::Value* piece = codes[i];
      if (done != 0) piece = b.CreateLShr(piece, static_cast<uint64_t>(done));
      piece = b.CreateZExtOrTrunc(piece, type);
      // The shift drops what is above the word's end.
      if (used != 0) piece = b.CreateShl(piece, static_cast<uint64_t>(used));
      words.back() = words.back() == nullptr ? piece : b.CreateOr(words.back(), piece);
      used += take;
      done += take;
    }
  }
  return words;
}

llvm::Value* CodeOfWords(llvm::IRBuilder<>& b, const BitLayout& bits, int64_t slot,
                         const Slots& words) {
  llvm::IntegerType* type = CodeType(b.getContext(), bits.type());
  llvm::Value* code = nullptr;
  for (int bit = 0; bit < bits.bits();) {
    const Run run = RunAt(bits, slot, bit);
    llvm::Value* part = words[run.first.word];
    if (run.first.bit != 0) part = b.CreateLShr(part, uint64_t{run.first.bit});
    const int kept = std::min<int>(32 - run.first.bit, static_cast<int>(type->getBitWidth()));
    if (run.count < kept) part = b.CreateAnd(part, LowBits(run.count));
    part = b.CreateZExtOrTrunc(part, type);
    if (bit != 0) part = b.CreateShl(part, static_cast<uint64_t>(bit));
    code = code == nullptr ? part : b.CreateOr(code, part);
    bit += run.count;
  }
  assert(code != nullptr);  // a code has a bit at least
  const uint64_t complement = bits.Complement(slot);
  return complement == 0 ? code : b.CreateXor(code, complement);
}

Slots WordsOfCodes(llvm::IRBuilder<>& b, const BitLayout& bits, const Slots& codes) {
  Slots words(Size(bits.words()), nullptr);
  for (int64_t slot = 0; slot < bits.count(); ++slot) {
    llvm::Value* code = codes[Size(slot)];
    if (bits.Complement(slot) != 0) code = b.CreateXor(code, bits.Complement(slot));
    for (int bit = 0; bit < bits.bits();) {
      const Run run = RunAt(bits, slot, bit);
      llvm::Value* part = code;
      if (bit != 0) part = b.CreateLShr(part, static_cast<uint64_t>(bit));
      part = b.CreateZExtOrTrunc(part, b.getInt32Ty());
      if (run.count < 32) part = b.CreateAnd(part, LowBits(run.count));
      if (run.first.bit != 0) part = b.CreateShl(part, uint64_t{run.first.bit});
      llvm::Value*& word = words[run.first.word];
      word = word == nullptr ? part : b.CreateOr(word, part);
      bit += run.count;
    }
  }
  for (llvm::Value*& word : words) {
    if (word == nullptr) word = b.getInt32(0);
  }
  return words;
}

}  // namespace tarsia::compiler
