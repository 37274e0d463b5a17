#include "compiler/llvm/code/bit_reader.h"

#include "support/align.h"
#include "support/extents.h"

namespace tarsia::compiler {

Slots BitReader::Read(const TileAddresses::Place& place, int64_t bits) {
  const int64_t count = CeilDiv(bits, int64_t{32});
  llvm::Value* byte = memory_.Sum(place.byte);
  llvm::Value* in_word = b_.CreateAnd(byte, uint64_t{3});
  llvm::Value* word = b_.CreateSub(byte, in_word);
  llvm::Value* shift =
      b_.CreateAdd(b_.CreateTrunc(b_.CreateShl(in_word, uint64_t{3}), f_.I(32)), place.bit);
  llvm::Value* first = b_.CreateSub(word, tile_.base);
  llvm::Value* last = b_.CreateSub(tile_.root_bytes.value, f_.Int64(4));
  llvm::Value* tail = tile_.padded_to_words ? nullptr : Tail(first, count + 1);
  Slots words;
  for (int64_t i = 0; i <= count; ++i) {
    llvm::Value* offset = b_.CreateAdd(first, f_.Int64(4 * i));
    llvm::Value* exists = b_.CreateICmpSLE(offset, last);
    exists = b_.CreateAnd(exists, b_.CreateICmpSGE(offset, f_.Int64(0)));
    // The one more that bits reach where they do not begin with a word.
    if (i == count) {
      exists = b_.CreateAnd(exists, b_.CreateICmpUGT(shift, f_.Int32(32 * count - bits)));
    }
    llvm::Value* loaded = memory_.LoadWords(tile_.space, {word, 4 * i}, 4, exists, policy_)[0];
    if (tail != nullptr) {
      llvm::Value* is_tail =
          b_.CreateICmpEQ(offset, b_.CreateAnd(tile_.root_bytes.value, ~uint64_t{3}));
      loaded = b_.CreateSelect(is_tail, tail, loaded);
    }
    words.push_back(loaded);
  }
  Slots out;
  for (size_t i = 0; i < Size(count); ++i) {
    out.push_back(
        b_.CreateIntrinsic(llvm::Intrinsic::fshr, {f_.I(32)}, {words[i + 1], words[i], shift}));
  }
  return out;
}

// The bytes behind the last whole word of the memory, where they are among so many words from an
// offset on.
llvm::Value* BitReader::Tail(llvm::Value* offset, int64_t words) {
  llvm::Value* bytes = b_.CreateAnd(tile_.root_bytes.value, uint64_t{3});
  llvm::Value* begin = b_.CreateSub(tile_.root_bytes.value, bytes);
  llvm::Value* reached = b_.CreateICmpULT(b_.CreateSub(begin, offset), f_.Int64(4 * words));
  return f_.If(reached, {f_.Int32(0)}, [&] {
    llvm::Value* out = f_.Int32(0);
    llvm::Value* address = b_.CreateAdd(tile_.base, begin);
    for (int i = 0; i < 3; ++i) {
      llvm::Value* exists = b_.CreateICmpUGT(bytes, f_.Int64(i));
      llvm::Value* byte = memory_.LoadWords(tile_.space, {address, i}, 1, exists, policy_)[0];
      out = b_.CreateOr(out,
                        b_.CreateShl(b_.CreateZExt(byte, f_.I(32)), static_cast<uint64_t>(i) * 8));
    }
    return Slots{out};
  })[0];
}

}  // namespace tarsia::compiler
