#include "compiler/llvm/code/bit_merger.h"

#include <llvm/IR/InlineAsm.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tarsia::compiler {
namespace {

constexpr char kLockName[] = "tarsia_lock";

// A word of the module, for writers of bytes at the end of a buffer to take turns: i64 address of 4
// bytes, 0 while no thread holds it.
llvm::Constant* LockWord(FunctionBuilder& f) {
  llvm::GlobalVariable* word = f.module().getGlobalVariable(kLockName, /*AllowInternal=*/true);
  if (word == nullptr) {
    word = new llvm::GlobalVariable(f.module(), f.I(32), false, llvm::GlobalValue::InternalLinkage,
                                    f.b().getInt32(0), kLockName, nullptr,
                                    llvm::GlobalValue::NotThreadLocal, 1);
    word->setAlignment(llvm::Align(4));
  }
  return llvm::ConstantExpr::getPtrToInt(word, f.I(64));
}

// Trying the lock ($1), merging the bits ($4) of a mask ($3) into the bytes of the word at $2, and
// giving the lock back; $0 is 0 if the lock was taken. A byte is read only if it has bits that this
// thread does not store. All are one run of predicated instructions: threads of a warp that wait
// for each other at the end of a branch could not take the lock in turns otherwise.
std::string TailText() {
  std::string text =
      "{ .reg .pred taken, mine, shares; .reg .b32 seen, held, part; "
      "atom.global.cas.b32 held, [$1], 0, 1; setp.eq.u32 taken, held, 0; @taken membar.gl; ";
  for (int i = 0; i < 4; ++i) {
    const std::string byte = std::to_string(0xFFu << (i * 8));
    const std::string place = std::to_string(i * 8);
    const std::string at = "[$2+" + std::to_string(i) + "]";
    text += "and.b32 part, $3, " + byte + "; setp.ne.and.u32 mine, part, 0, taken; " +
            "setp.ne.and.u32 shares, part, " + byte + ", mine; mov.b32 seen, 0; " +
            "@shares ld.volatile.global.u8 seen, " + at + "; " +  //
            "@mine shl.b32 seen, seen, " + place + "; " +
            "@mine not.b32 part, part; @mine and.b32 seen, seen, part; " +
            "@mine or.b32 seen, seen, $4; @mine shr.u32 seen, seen, " + place + "; " +
            "@mine st.volatile.global.u8 " + at + ", seen; ";
  }
  return text +
         "@taken membar.gl; @taken atom.global.exch.b32 held, [$1], 0; "
         "selp.b32 $0, 1, 0, taken; }";
}

}  // namespace

// Where each element has one writer, its bits may be cleared and set by two operations, because no
// thread may read it in between. Of several writers one must win as a whole, which takes one
// operation.
void BitMerger::MergeWord(llvm::Value* address, llvm::Value* mask, llvm::Value* bits) {
  llvm::Value* pointer = memory_.Pointer(tile_.space, address);
  const auto relaxed = llvm::AtomicOrdering::Monotonic;
  if (!contested_) {
    b_.CreateAtomicRMW(llvm::AtomicRMWInst::And, pointer, b_.CreateNot(mask), llvm::MaybeAlign(4),
                       relaxed);
    b_.CreateAtomicRMW(llvm::AtomicRMWInst::Or, pointer, bits, llvm::MaybeAlign(4), relaxed);
    return;
  }
  llvm::Value* first =
      memory_.LoadWords(tile_.space, {address, 0}, 4, nullptr, {.strong = true})[0];
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* again = f_.NewBlock("merge");
  llvm::BasicBlock* done = f_.NewBlock("merged");
  b_.CreateBr(again);
  b_.SetInsertPoint(again);
  llvm::PHINode* old = b_.CreatePHI(f_.I(32), 2, "expected");
  old->addIncoming(first, before);
  llvm::Value* next = b_.CreateOr(b_.CreateAnd(old, b_.CreateNot(mask)), bits);
  llvm::Value* result =
      b_.CreateAtomicCmpXchg(pointer, old, next, llvm::MaybeAlign(4), relaxed, relaxed);
  old->addIncoming(b_.CreateExtractValue(result, 0), again);
  b_.CreateCondBr(b_.CreateExtractValue(result, 1), done, again);
  b_.SetInsertPoint(done);
}

// ---- codes of fewer than 8 bits -------------------------------------------------------------

void BitMerger::Begin() {
  if (MayHaveTail()) tail_ = {f_.Int32(0), f_.Int32(0)};
}

void BitMerger::If(llvm::Value* condition, const std::function<void()>& body) {
  const Slots otherwise = tail_;
  tail_ = f_.If(condition, otherwise, [&] {
    body();
    return tail_;
  });
}

void BitMerger::Merge(const TileAddresses::Place& place, llvm::Value* code,
                      llvm::Value* condition) {
  If(condition, [&] { MergeCode(place, code); });
}

void BitMerger::MergeCode(const TileAddresses::Place& place, llvm::Value* code) {
  const int bits = tile_.bits();
  llvm::Value* byte = memory_.Sum(place.byte);
  llvm::Type* type = byte->getType();
  const auto number = [&](uint64_t x) { return llvm::ConstantInt::get(type, x); };
  llvm::Value* in_word = b_.CreateAnd(byte, number(3));
  llvm::Value* word = b_.CreateSub(byte, in_word);
  llvm::Value* shift =
      b_.CreateAdd(b_.CreateZExtOrTrunc(b_.CreateShl(in_word, number(3)), f_.I(64)),
                   b_.CreateZExt(place.bit, f_.I(64)));
  llvm::Value* mask = b_.CreateShl(f_.Int64((int64_t{1} << bits) - 1), shift);
  llvm::Value* value = b_.CreateShl(b_.CreateZExt(code, f_.I(64)), shift);
  const auto half = [&](llvm::Value* x, bool high) {
    return b_.CreateTrunc(high ? b_.CreateLShr(x, uint64_t{32}) : x, f_.I(32));
  };
  MergeOrKeep(word, half(mask, false), half(value, false));
  if (8 % bits == 0) return;
  llvm::Value* high = half(mask, true);
  llvm::Value* next = b_.CreateAdd(word, number(4));
  if (!tile_.swizzles.empty()) next = b_.CreateAnd(place.next.base, number(~uint64_t{3}));
  If(b_.CreateICmpNE(high, f_.Int32(0)), [&] { MergeOrKeep(next, high, half(value, true)); });
}

// Where some codes of the run do not exist, the mask says which ones do.
void BitMerger::MergeRun(const TileAddresses::Place& place, const Slots& codes,
                         const Slots& conditions) {
  const bool together = std::all_of(conditions.begin(), conditions.end(),
                                    [&](llvm::Value* x) { return x == conditions[0]; });
  const int bits = tile_.bits();
  Slots all;
  for (llvm::Value* condition : conditions) {
    llvm::Value* ones = b_.getInt8(static_cast<uint8_t>((1 << bits) - 1));
    const bool always = together || condition == nullptr;
    all.push_back(always ? ones : b_.CreateSelect(condition, ones, b_.getInt8(0)));
  }
  Slots words = RunOfCodes(b_, codes, bits, 32);
  const Slots masks = RunOfCodes(b_, all, bits, 32);
  for (size_t i = 0; i < words.size(); ++i) words[i] = b_.CreateAnd(words[i], masks[i]);
  If(together ? conditions[0] : nullptr, [&] { MergeShifted(place, words, masks); });
}

// Words of a run, whose first bit lies at a place: one more of memory.
void BitMerger::MergeShifted(const TileAddresses::Place& place, const Slots& words,
                             const Slots& masks) {
  llvm::Value* byte = memory_.Sum(place.byte);
  const auto number = [&](uint64_t x) { return llvm::ConstantInt::get(byte->getType(), x); };
  llvm::Value* in_word = b_.CreateAnd(byte, number(3));
  llvm::Value* word = b_.CreateSub(byte, in_word);
  llvm::Value* shift =
      b_.CreateAdd(b_.CreateZExtOrTrunc(b_.CreateShl(in_word, number(3)), f_.I(32)), place.bit);
  const auto shifted = [&](const Slots& run, size_t i) {
    llvm::Value* here = i < run.size() ? run[i] : f_.Int32(0);
    llvm::Value* before = i > 0 ? run[i - 1] : f_.Int32(0);
    return b_.CreateIntrinsic(llvm::Intrinsic::fshl, {f_.I(32)}, {here, before, shift});
  };
  for (size_t i = 0; i <= words.size(); ++i) {
    StoreOrMerge(b_.CreateAdd(word, number(4 * i)), shifted(masks, i), shifted(words, i));
  }
}

void BitMerger::StoreOrMerge(llvm::Value* address, llvm::Value* mask, llvm::Value* bits) {
  const AccessPolicy policy{.strong = tile_.written_twice};
  llvm::Value* whole = b_.CreateICmpEQ(mask, b_.getInt32(~uint32_t{0}));
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(whole);
  llvm::Value* condition = known != nullptr ? nullptr : whole;
  if (known == nullptr || known->isOne()) {
    memory_.StoreWords(tile_.space, {address, 0}, 4, {bits}, condition, policy);
  }
  if (known != nullptr && known->isOne()) return;
  llvm::Value* some = b_.CreateICmpNE(mask, f_.Int32(0));
  If(b_.CreateAnd(some, b_.CreateNot(whole)), [&] { MergeOrKeep(address, mask, bits); });
}

void BitMerger::End() {
  if (!MayHaveTail()) return;
  f_.If(b_.CreateICmpNE(tail_[0], f_.Int32(0)), [&] { MergeTail(); });
}

// ---- memory that ends within a word ---------------------------------------------------------

// A word that reaches beyond the buffer is not touched as a whole.
bool BitMerger::MayHaveTail() const {
  return tile_.space != Space::kShared && !tile_.padded_to_words;
}

llvm::Value* BitMerger::EndOfMemory() { return b_.CreateAdd(tile_.base, tile_.root_bytes.value); }

void BitMerger::MergeOrKeep(llvm::Value* address, llvm::Value* mask, llvm::Value* bits) {
  if (!MayHaveTail()) return MergeWord(address, mask, bits);
  llvm::Value* whole = b_.CreateICmpULE(b_.CreateAdd(address, f_.Int64(4)), EndOfMemory());
  f_.If(whole, [&] { MergeWord(address, mask, bits); });
  If(b_.CreateNot(whole), [&] { KeepForTail(mask, bits); });
}

void BitMerger::KeepForTail(llvm::Value* mask, llvm::Value* bits) {
  tail_ = {b_.CreateOr(tail_[0], mask),
           b_.CreateOr(b_.CreateAnd(tail_[1], b_.CreateNot(mask)), bits)};
}

// The bytes of the last word that the buffer has, one writer of the grid at a time.
void BitMerger::MergeTail() {
  const std::vector<llvm::Value*> arguments = {
      LockWord(f_), b_.CreateAnd(EndOfMemory(), ~uint64_t{3}), tail_[0], tail_[1]};
  std::vector<llvm::Type*> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  auto* type = llvm::FunctionType::get(f_.I(32), types, false);
  llvm::BasicBlock* again = f_.NewBlock("lock");
  llvm::BasicBlock* done = f_.NewBlock("unlocked");
  b_.CreateBr(again);
  b_.SetInsertPoint(again);
  llvm::Value* merged = b_.CreateCall(
      type, llvm::InlineAsm::get(type, TailText(), "=&r,l,l,r,r,~{memory}", true), arguments);
  b_.CreateCondBr(b_.CreateICmpNE(merged, f_.Int32(0)), done, again);
  b_.SetInsertPoint(done);
}

}  // namespace tarsia::compiler
