#include "compiler/llvm/tile_access.h"

#include <llvm/IR/InlineAsm.h>

#include <algorithm>
#include <utility>

#include "compiler/llvm/packed_access.h"

namespace tarsia::compiler {
namespace {

constexpr int kMaxVectorBits = 128;

size_t Size(int64_t x) { return static_cast<size_t>(x); }
uint64_t Unsigned(int64_t x) { return static_cast<uint64_t>(x); }

// The largest power of two, at most 16, that divides a number of bytes.
int UnitOf(int64_t bytes) {
  int unit = 1;
  while (unit < 16 && bytes % (unit * 2) == 0) unit *= 2;
  return unit;
}

}  // namespace

TileAccess::TileAccess(Emitter& e, const MemoryTile& memory, LayoutId layout,
                       const std::vector<IndexValue>& start)
    : e_(e), memory_(memory), layout_(layout), tile_(e.Layout(layout)) {
  for (size_t d = 0; d < start.size(); ++d) {
    root_.push_back(e_.Add(memory.dims[d].origin, e_.Saturate(start[d])));
  }
  of_thread_.resize(Size(memory.rank()));
  ChooseVector();
}

void TileAccess::SetAxis(int axis, Slots indices) {
  axis_ = axis;
  axis_indices_ = std::move(indices);
  ChooseVector();
}

// ---- how wide --------------------------------------------------------------------------------

// The dimension along which elements follow each other in memory, or -1.
int TileAccess::ContiguousDim() const {
  for (int d = 0; d < memory_.rank(); ++d) {
    const MemoryTile::Dim& dim = memory_.dims[Size(d)];
    if (memory_.form == MemoryTile::Form::kAffine && dim.stride.facts == Facts::Exactly(1)) {
      return d;
    }
    if (memory_.form != MemoryTile::Form::kModes) continue;
    const auto& modes = memory_.layout->modes(d);
    if (!modes.empty() && modes.back().stride == 1) return d;
  }
  return -1;
}

// Whether all indices of the tile along a dimension are known to be at least the first (`low`), or
// below the end, of what exists.
bool TileAccess::Inside(int dim, bool low) const {
  const Facts& root = root_[Size(dim)].facts;
  const MemoryTile::Dim& d = memory_.dims[Size(dim)];
  if (dim == axis_) return false;
  if (low) return root.lo >= d.low.facts.hi;
  const Facts last =
      root + Facts::Exactly(std::max<int64_t>(0, tile_.reg().shape()[Size(dim)] - 1));
  return last.hi < d.high.facts.lo;
}

// Whether vectors of v elements along `dim` are aligned, whole, and exist together.
bool TileAccess::MayVector(int dim, int64_t v) const {
  const auto n = Unsigned(v);
  const auto bits = n * Unsigned(memory_.bits());
  if (bits % 8 != 0 || !root_[Size(dim)].facts.IsMultipleOf(n)) return false;
  const MemoryTile::Dim& fast = memory_.dims[Size(dim)];
  if (!Inside(dim, true) && !fast.low.facts.IsMultipleOf(n)) return false;
  if (!Inside(dim, false) && !fast.high.facts.IsMultipleOf(n)) return false;
  const auto unit = Unsigned(UnitOf(static_cast<int64_t>(bits / 8)));
  // A swizzle moves aligned runs of 16 bytes.
  if (!memory_.swizzles.empty() && unit * 8 != bits) return false;
  if (memory_.alignment % unit != 0) return false;
  for (int d = 0; d < memory_.rank(); ++d) {
    if (memory_.form == MemoryTile::Form::kModes) {
      const auto& modes = memory_.layout->modes(d);
      for (size_t m = 0; m < modes.size(); ++m) {
        const bool inner = d == dim && m + 1 == modes.size();
        if (inner ? modes[m].extent % v != 0 : Unsigned(modes[m].stride) % n != 0) return false;
      }
    } else if (d != dim && !memory_.dims[Size(d)].stride.facts.IsMultipleOf(n)) {
      return false;
    }
  }
  return true;
}

void TileAccess::ChooseVector() {
  vector_ = 1;
  unit_ = memory_.bits() % 8 == 0 ? static_cast<int>(ElementAlignment()) : 0;
  if (memory_.form == MemoryTile::Form::kPacked) return;
  const int dim = ContiguousDim();
  if (dim < 0 || dim == axis_ || tile_.empty() || tile_.reg().local().empty()) return;
  const RegLayout::Digit& inner = tile_.reg().local().back();
  if (inner.dim != dim || inner.stride != 1) return;
  for (const RegLayout::Digit& digit : tile_.reg().spatial()) {
    if (digit.dim == dim && digit.stride % inner.extent != 0) return;
  }
  // Where the shape ends within a vector, only a part of it would be the tile's.
  for (int64_t v = 1; v <= inner.extent && inner.extent % v == 0; v *= 2) {
    const bool whole = !tile_.PaddedAlong(dim) || tile_.shape()[Size(dim)] % v == 0;
    if (v * memory_.bits() > kMaxVectorBits || !whole) break;
    if (!MayVector(dim, v)) continue;
    vector_ = v;
    unit_ = UnitOf(v * memory_.bits() / 8);
  }
}

uint64_t TileAccess::ElementAlignment() const {
  const int64_t bytes = std::max(1, memory_.bits() / 8);
  return std::min<uint64_t>(memory_.alignment, Unsigned(UnitOf(bytes)));
}

// ---- where -----------------------------------------------------------------------------------

TileAccess::Coordinate TileAccess::CoordinateOf(int64_t slot, int dim) {
  llvm::IRBuilder<>& b = e_.b();
  if (dim == axis_) {
    return {b.CreateAdd(memory_.dims[Size(dim)].origin.value, axis_indices_[Size(slot)]), 0};
  }
  llvm::Value*& of_thread = of_thread_[Size(dim)];
  if (of_thread == nullptr) {
    llvm::Value* thread = b.CreateZExt(e_.ThreadIndex(layout_, dim), e_.I(64));
    of_thread = b.CreateAdd(root_[Size(dim)].value, thread);
  }
  return {of_thread, tile_.SlotOffset(slot)[Size(dim)]};
}

llvm::Value* TileAccess::RootIndex(int64_t slot, int dim) {
  const Coordinate at = CoordinateOf(slot, dim);
  return e_.b().CreateAdd(at.value, e_.Int64(at.constant));
}

llvm::Value* TileAccess::Exists(int64_t slot) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* out = nullptr;
  for (int d = 0; d < memory_.rank(); ++d) {
    const MemoryTile::Dim& dim = memory_.dims[Size(d)];
    const int64_t key = d == axis_ ? slot : tile_.SlotOffset(slot)[Size(d)];
    if (!Inside(d, true)) {
      llvm::Value*& mask = low_masks_[{d, key}];
      if (mask == nullptr) mask = b.CreateICmpSGE(RootIndex(slot, d), dim.low.value);
      out = e_.And(out, mask);
    }
    if (!Inside(d, false)) {
      llvm::Value*& mask = high_masks_[{d, key}];
      if (mask == nullptr) mask = b.CreateICmpSLT(RootIndex(slot, d), dim.high.value);
      out = e_.And(out, mask);
    }
  }
  return out;
}

llvm::Value* TileAccess::Mask(int64_t slot, bool first_holder) {
  llvm::Value* out = e_.And(Exists(slot), e_.IsElement(layout_, slot));
  return first_holder ? e_.And(out, e_.IsFirstHolder(layout_)) : out;
}

// Offset in elements: a value, and a constant for what is known of strides. The value of slots that
// differ only by constants is one.
llvm::Value* TileAccess::LinearOffset(int64_t slot, int64_t* constant) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* out = linear_;
  const auto add = [&](llvm::Value* part) { out = out == nullptr ? part : b.CreateAdd(out, part); };
  if (out == nullptr) {
    for (int d = 0; d < memory_.rank(); ++d) {
      if (d == axis_) continue;
      add(b.CreateMul(CoordinateOf(slot, d).value, memory_.dims[Size(d)].stride.value));
    }
    if (out == nullptr) out = e_.Int64(0);
    linear_ = out;
  }
  for (int d = 0; d < memory_.rank(); ++d) {
    const IndexValue& stride = memory_.dims[Size(d)].stride;
    if (d == axis_) {
      add(b.CreateMul(CoordinateOf(slot, d).value, stride.value));
      continue;
    }
    const int64_t offset = tile_.SlotOffset(slot)[Size(d)];
    if (stride.facts.IsExact()) {
      *constant += offset * stride.facts.lo;
    } else if (offset != 0) {
      llvm::Value*& part = strides_[{d, offset}];
      if (part == nullptr) part = b.CreateMul(stride.value, e_.Int64(offset));
      add(part);
    }
  }
  return out;
}

llvm::Value* TileAccess::ModesOffset(int64_t slot) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* out = e_.Int64(0);
  for (int d = 0; d < memory_.rank(); ++d) {
    llvm::Value* index = RootIndex(slot, d);
    const auto& modes = memory_.layout->modes(d);
    for (auto mode = modes.rbegin(); mode != modes.rend(); ++mode) {
      llvm::Value* extent = e_.Int64(mode->extent);
      llvm::Value* digit = mode + 1 == modes.rend() ? index : b.CreateURem(index, extent);
      out = b.CreateAdd(out, b.CreateMul(digit, e_.Int64(mode->stride)));
      index = b.CreateUDiv(index, extent);
    }
  }
  return out;
}

llvm::Value* TileAccess::Swizzled(llvm::Value* byte) {
  llvm::IRBuilder<>& b = e_.b();
  for (const Swizzle& swizzle : memory_.swizzles) {
    const uint64_t mask = ((uint64_t{1} << swizzle.bits) - 1) << (swizzle.base + swizzle.shift);
    byte = b.CreateXor(byte,
                       b.CreateLShr(b.CreateAnd(byte, mask), static_cast<uint64_t>(swizzle.shift)));
  }
  return byte;
}

Address TileAccess::ByteAddress(int64_t slot) { return PlaceOf(slot).byte; }

// Whether the part of an address that is no constant is an address already: in shared memory an
// instruction adds its constant without wrapping.
bool TileAccess::ConstantsMayFollow() const {
  if (memory_.space != Space::kShared) return true;
  return axis_ < 0 &&
         std::all_of(
             root_.begin(), root_.end(), [](const IndexValue& i) { return i.facts.lo >= 0; });
}

TileAccess::BitPlace TileAccess::PlaceOf(int64_t slot) {
  llvm::IRBuilder<>& b = e_.b();
  const int bits = memory_.bits();
  const bool affine = memory_.form == MemoryTile::Form::kAffine;
  int64_t constant = 0;
  llvm::Value* offset = affine ? LinearOffset(slot, &constant) : ModesOffset(slot);
  const auto at = [&](llvm::Value* byte, int64_t rest) {
    if (memory_.space == Space::kShared) {
      if (!ConstantsMayFollow()) byte = b.CreateAdd(byte, e_.Int64(std::exchange(rest, 0)));
      byte = b.CreateTrunc(byte, e_.I(32));
    }
    return Address{b.CreateAdd(memory_.base, byte), rest};
  };
  if (bits % 8 == 0) {
    const int64_t bytes = bits / 8;
    if (affine && memory_.swizzles.empty() && offset == linear_ && ConstantsMayFollow()) {
      if (address_ == nullptr) address_ = at(b.CreateMul(offset, e_.Int64(bytes)), 0).base;
      return {{address_, constant * bytes}, {}, nullptr};
    }
    llvm::Value* byte = b.CreateMul(offset, e_.Int64(bytes));
    if (memory_.swizzles.empty()) return {at(byte, constant * bytes), {}, nullptr};
    byte = Swizzled(b.CreateAdd(byte, e_.Int64(constant * bytes)));
    return {at(byte, 0), {}, nullptr};
  }
  llvm::Value* bit = b.CreateMul(b.CreateAdd(offset, e_.Int64(constant)), e_.Int64(bits));
  llvm::Value* byte = b.CreateLShr(bit, uint64_t{3});
  const Address first = at(Swizzled(byte), 0);
  const Address next = memory_.swizzles.empty() ? Address{first.base, first.offset + 1}
                                                : at(Swizzled(b.CreateAdd(byte, e_.Int64(1))), 0);
  return {first, next, b.CreateTrunc(b.CreateAnd(bit, uint64_t{7}), e_.I(32))};
}

// ---- moving ----------------------------------------------------------------------------------

Slots TileAccess::Load(Emitter::Cache cache) {
  if (memory_.form == MemoryTile::Form::kPacked) return LoadPacked();
  if (unit_ != 0) return LoadVectors(cache);
  Slots out;
  for (int64_t slot = 0; slot < tile_.slots(); ++slot) {
    out.push_back(FromCode(e_.b(), LoadBits(slot, Mask(slot, false)), memory_.type));
  }
  return out;
}

void TileAccess::Store(const Slots& slots, Emitter::Cache cache) {
  if (memory_.form == MemoryTile::Form::kPacked) return StorePacked(slots);
  if (unit_ != 0) return StoreVectors(slots, cache);
  if (MayHaveTail()) {
    for (llvm::AllocaInst** variable : {&tail_mask_, &tail_bits_}) {
      *variable = e_.Variable(e_.I(32), "tail");
      e_.b().CreateStore(e_.Int32(0), *variable);
    }
  }
  for (int64_t slot = 0; slot < tile_.slots(); ++slot) {
    StoreBits(slot, ToCode(e_.b(), slots[Size(slot)], memory_.type), Mask(slot, true));
  }
  if (MayHaveTail()) MergeTail();
}

Slots TileAccess::LoadVectors(Emitter::Cache cache) {
  const int bits = memory_.bits();
  const int word = std::min(unit_, 4);
  const int64_t bytes = vector_ * bits / 8;
  Slots out;
  for (int64_t slot = 0; slot < tile_.slots(); slot += vector_) {
    llvm::Value* condition = Mask(slot, false);
    const Address address = ByteAddress(slot);
    Slots words;
    for (int64_t at = 0; at < bytes; at += unit_) {
      const Slots part =
          e_.LoadWords(memory_.space, {address.base, address.offset + at}, unit_, condition, cache);
      words.insert(words.end(), part.begin(), part.end());
    }
    for (int64_t i = 0; i < vector_; ++i) {
      llvm::Value* code = e_.BitsOf(words, word * 8, static_cast<int>(i) * bits, bits);
      out.push_back(FromCode(e_.b(), code, memory_.type));
    }
    if (word == 4) words_.insert(words_.end(), words.begin(), words.end());
  }
  if (word == 4) words_order_ = BitLayoutFamily{};
  return out;
}

void TileAccess::StoreVectors(const Slots& slots, Emitter::Cache cache) {
  const int bits = memory_.bits();
  const int word = std::min(unit_, 4);
  const int64_t bytes = vector_ * bits / 8;
  for (int64_t slot = 0; slot < tile_.slots(); slot += vector_) {
    Slots codes;
    for (int64_t i = 0; i < vector_; ++i) {
      codes.push_back(ToCode(e_.b(), slots[Size(slot + i)], memory_.type));
    }
    const Slots words = e_.PackCodes(codes, bits, word * 8);
    llvm::Value* condition = Mask(slot, true);
    const Address address = ByteAddress(slot);
    for (int64_t at = 0; at < bytes; at += unit_) {
      const auto first = words.begin() + at / word;
      e_.StoreWords(memory_.space, {address.base, address.offset + at}, unit_,
                    Slots(first, first + std::max(1, unit_ / word)), condition, cache);
    }
  }
}

// ---- codes that share bytes --------------------------------------------------------------------

// Of codes that lie in bytes with others: who writes those changes the bytes meanwhile.
Emitter::Cache TileAccess::SharedBits() const {
  return memory_.written ? Emitter::Cache::kStrong : Emitter::Cache::kDefault;
}

// A code of fewer than 8 bits lies in one byte or in two.
llvm::Value* TileAccess::LoadBits(int64_t slot, llvm::Value* condition) {
  llvm::IRBuilder<>& b = e_.b();
  const int bits = memory_.bits();
  const BitPlace place = PlaceOf(slot);
  const Emitter::Cache how = SharedBits();
  llvm::Value* pair =
      b.CreateZExt(e_.LoadWords(memory_.space, place.byte, 1, condition, how)[0], e_.I(32));
  if (8 % bits != 0) {
    llvm::Value* spills = b.CreateICmpUGT(place.bit, e_.Int32(8 - bits));
    llvm::Value* second =
        e_.LoadWords(memory_.space, place.next, 1, e_.And(condition, spills), how)[0];
    pair = b.CreateOr(pair, b.CreateShl(b.CreateZExt(second, e_.I(32)), uint64_t{8}));
  }
  llvm::Value* code = b.CreateAnd(b.CreateLShr(pair, place.bit), CodeMask(memory_.type));
  return b.CreateTrunc(code, e_.I(8));
}

void TileAccess::StoreBits(int64_t slot, llvm::Value* code, llvm::Value* condition) {
  const BitPlace place = PlaceOf(slot);
  e_.If(condition, [&] { MergeBytes(place, code); });
}

// Replaces the code's bits in the aligned words that hold them, by atomic steps that leave the
// other bits alone, so that writers of those lose nothing.
void TileAccess::MergeBytes(const BitPlace& place, llvm::Value* code) {
  llvm::IRBuilder<>& b = e_.b();
  const int bits = memory_.bits();
  llvm::Value* byte = place.byte.base;
  llvm::Type* type = byte->getType();
  const auto number = [&](uint64_t x) { return llvm::ConstantInt::get(type, x); };
  llvm::Value* in_word = b.CreateAnd(byte, number(3));
  llvm::Value* word = b.CreateSub(byte, in_word);
  llvm::Value* shift = b.CreateAdd(b.CreateZExtOrTrunc(b.CreateShl(in_word, number(3)), e_.I(64)),
                                   b.CreateZExt(place.bit, e_.I(64)));
  llvm::Value* mask = b.CreateShl(e_.Int64((int64_t{1} << bits) - 1), shift);
  llvm::Value* value = b.CreateShl(b.CreateZExt(code, e_.I(64)), shift);
  const auto half = [&](llvm::Value* x, bool high) {
    return b.CreateTrunc(high ? b.CreateLShr(x, uint64_t{32}) : x, e_.I(32));
  };
  const auto merge = [&](llvm::Value* at, llvm::Value* m, llvm::Value* v) {
    if (!MayHaveTail()) return MergeWord(at, m, v);
    llvm::Value* whole = b.CreateICmpULE(b.CreateAdd(at, e_.Int64(4)), EndOfMemory());
    e_.If(whole, [&] { MergeWord(at, m, v); });
    e_.If(b.CreateNot(whole), [&] { KeepForTail(m, v); });
  };
  merge(word, half(mask, false), half(value, false));
  if (8 % bits == 0) return;
  llvm::Value* high = half(mask, true);
  llvm::Value* next = b.CreateAdd(word, number(4));
  if (!memory_.swizzles.empty()) {
    next = b.CreateAnd(place.next.base, number(~uint64_t{3}));
  }
  e_.If(b.CreateICmpNE(high, e_.Int32(0)), [&] { merge(next, high, half(value, true)); });
}

// Where each element has one writer, clearing and setting its bits are two steps that nobody may
// look in between. Of several writers one must win as a whole: that takes one step.
void TileAccess::MergeWord(llvm::Value* address, llvm::Value* mask, llvm::Value* bits) {
  llvm::IRBuilder<>& b = e_.b();
  const unsigned space = memory_.space == Space::kShared ? 3 : 1;
  llvm::Value* pointer = b.CreateIntToPtr(address, llvm::PointerType::get(b.getContext(), space));
  const auto relaxed = llvm::AtomicOrdering::Monotonic;
  if (axis_ < 0) {
    b.CreateAtomicRMW(llvm::AtomicRMWInst::And, pointer, b.CreateNot(mask), llvm::MaybeAlign(4),
                      relaxed);
    b.CreateAtomicRMW(llvm::AtomicRMWInst::Or, pointer, bits, llvm::MaybeAlign(4), relaxed);
    return;
  }
  llvm::AllocaInst* expected = e_.Variable(e_.I(32), "expected");
  llvm::BasicBlock* again = e_.NewBlock("merge");
  llvm::BasicBlock* done = e_.NewBlock("merged");
  b.CreateStore(e_.LoadWords(memory_.space, {address, 0}, 4, nullptr, Emitter::Cache::kStrong)[0],
                expected);
  b.CreateBr(again);
  b.SetInsertPoint(again);
  llvm::Value* old = b.CreateLoad(e_.I(32), expected);
  llvm::Value* next = b.CreateOr(b.CreateAnd(old, b.CreateNot(mask)), bits);
  llvm::Value* result =
      b.CreateAtomicCmpXchg(pointer, old, next, llvm::MaybeAlign(4), relaxed, relaxed);
  b.CreateStore(b.CreateExtractValue(result, 0), expected);
  b.CreateCondBr(b.CreateExtractValue(result, 1), done, again);
  b.SetInsertPoint(done);
}

// A word that reaches beyond the buffer is not touched as a whole.
bool TileAccess::MayHaveTail() const {
  return memory_.space != Space::kShared && !memory_.padded_to_words;
}

llvm::Value* TileAccess::EndOfMemory() {
  return e_.b().CreateAdd(memory_.base, memory_.root_bytes.value);
}

void TileAccess::KeepForTail(llvm::Value* mask, llvm::Value* bits) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* old_mask = b.CreateLoad(e_.I(32), tail_mask_);
  llvm::Value* old_bits = b.CreateLoad(e_.I(32), tail_bits_);
  b.CreateStore(b.CreateOr(old_mask, mask), tail_mask_);
  b.CreateStore(b.CreateOr(b.CreateAnd(old_bits, b.CreateNot(mask)), bits), tail_bits_);
}

// The bytes of the last word that the buffer has, one writer of the grid at a time. A byte is read
// only if it has bits that this thread does not store. Trying the lock, merging and giving it back
// are one run of predicated instructions: threads of a warp that wait for each other at the end of
// a branch could not have it otherwise.
void TileAccess::MergeTail() {
  llvm::IRBuilder<>& b = e_.b();
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
  text +=
      "@taken membar.gl; @taken atom.global.exch.b32 held, [$1], 0; "
      "selp.b32 $0, 1, 0, taken; }";
  llvm::Value* mask = b.CreateLoad(e_.I(32), tail_mask_);
  e_.If(b.CreateICmpNE(mask, e_.Int32(0)), [&] {
    const std::vector<llvm::Value*> arguments = {e_.LockWord(),
                                                 b.CreateAnd(EndOfMemory(), ~uint64_t{3}), mask,
                                                 b.CreateLoad(e_.I(32), tail_bits_)};
    std::vector<llvm::Type*> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    auto* type = llvm::FunctionType::get(e_.I(32), types, false);
    llvm::BasicBlock* again = e_.NewBlock("lock");
    llvm::BasicBlock* done = e_.NewBlock("unlocked");
    b.CreateBr(again);
    b.SetInsertPoint(again);
    llvm::Value* merged = b.CreateCall(
        type, llvm::InlineAsm::get(type, text, "=&r,l,l,r,r,~{memory}", true), arguments);
    b.CreateCondBr(b.CreateICmpNE(merged, e_.Int32(0)), done, again);
    b.SetInsertPoint(done);
  });
}

Slots TileAccess::WordsOf(const BitLayout& bits) const {
  const bool same = words_order_ && words_order_->order == bits.order() &&
                    words_order_->compute == bits.compute() && bits.type() == memory_.type &&
                    static_cast<int64_t>(words_.size()) == bits.words();
  return same ? words_ : Slots();
}

// ---- packed tiles ------------------------------------------------------------------------------

std::vector<llvm::Value*> TileAccess::RootIndices(int64_t slot) {
  std::vector<llvm::Value*> out;
  for (int d = 0; d < memory_.rank(); ++d) out.push_back(RootIndex(slot, d));
  return out;
}

Slots TileAccess::LoadPacked() {
  llvm::IRBuilder<>& b = e_.b();
  PackedMap map(e_, memory_);
  if (const auto outer = OuterOfPacked()) return LoadPackedTiles(map, *outer);
  Slots out;
  for (int64_t slot = 0; slot < tile_.slots(); ++slot) {
    const PackedMap::Home home = map.HomeOf(RootIndices(slot));
    llvm::Value* exists = Mask(slot, false);
    llvm::Value* code = e_.Int64(0);
    for (const PackedMap::Run& run : map.Runs()) {
      const PackedMap::BitAddress at = map.Bit(home, run.first);
      llvm::Value* word =
          e_.LoadWords(memory_.space, AddressOf(at.word_byte), 4, exists, SharedBits())[0];
      llvm::Value* part = b.CreateAnd(b.CreateLShr(word, at.bit), run.mask());
      code = b.CreateOr(
          code, b.CreateShl(b.CreateZExt(part, e_.I(64)), static_cast<uint64_t>(run.first)));
    }
    code = b.CreateXor(code, map.Complement(home));
    if (exists != nullptr) code = b.CreateSelect(exists, code, e_.Int64(0));
    out.push_back(
        FromCode(b, b.CreateTrunc(code, CodeType(b.getContext(), memory_.type)), memory_.type));
  }
  return out;
}

Address TileAccess::AddressOf(llvm::Value* byte) {
  if (memory_.space == Space::kShared) byte = e_.b().CreateTrunc(byte, e_.I(32));
  return {e_.b().CreateAdd(memory_.base, byte), 0};
}

// The C with C * T = the register tile's layout, where the tile begins at a multiple of T's shape:
// then each thread wants whole words as they lie, and which slot is which bit is known.
std::optional<RegLayout> TileAccess::OuterOfPacked() const {
  if (axis_ >= 0 || tile_.empty()) return std::nullopt;
  const RegLayout& inner = memory_.layout->packed().tile;
  for (int d = 0; d < inner.rank(); ++d) {
    if (!root_[Size(d)].facts.IsMultipleOf(Unsigned(inner.shape()[Size(d)]))) return std::nullopt;
  }
  Result<RegLayout> outer = Divide(tile_.reg(), inner);
  if (!outer.ok()) return std::nullopt;
  return *std::move(outer);
}

// Whether of each packed tile all elements exist or none, and all are the register tile's.
bool TileAccess::PackedTilesAreWhole() const {
  const RegLayout& inner = memory_.layout->packed().tile;
  for (int d = 0; d < memory_.rank(); ++d) {
    if (tile_.PaddedAlong(d)) return false;
    if (Inside(d, true) && Inside(d, false)) continue;
    const MemoryTile::Dim& dim = memory_.dims[Size(d)];
    if (!memory_.whole || !dim.high.facts.IsMultipleOf(Unsigned(inner.shape()[Size(d)]))) {
      return false;
    }
  }
  return true;
}

Slots TileAccess::LoadPackedTiles(PackedMap& map, const RegLayout& outer) {
  llvm::IRBuilder<>& b = e_.b();
  const PackedTile& packed = memory_.layout->packed();
  const int64_t inner_slots = packed.tile.slots();
  const int64_t words = packed.bits.words();
  llvm::Value* thread = b.CreateURem(e_.Thread(), e_.Int32(packed.tile.threads()));
  const bool whole = PackedTilesAreWhole();
  if (whole && inner_slots * memory_.bits() % 32 == 0) {
    words_order_ = BitLayoutFamily{packed.bits.order(), {}, {}, packed.bits.compute()};
  }
  Slots out;
  for (int64_t turn = 0; turn < outer.slots(); ++turn) {
    // Where the packed tile does not exist there are no words.
    llvm::Value* exists = nullptr;
    std::vector<llvm::Value*> root = RootIndices(turn * inner_slots);
    for (int d = 0; d < memory_.rank(); ++d) {
      if (Inside(d, true) && Inside(d, false)) continue;
      llvm::Value* extent = e_.Int64(packed.tile.shape()[Size(d)]);
      llvm::Value* number = b.CreateSDiv(root[Size(d)], extent);
      llvm::Value* in = b.CreateICmpULT(number, memory_.dims[Size(d)].tiles.value);
      exists = e_.And(exists, in);
    }
    llvm::Value* tile_byte = map.HomeOf(root).tile_byte;
    Slots loaded;
    for (int64_t word = 0; word < words;) {
      const auto piece = map.PieceOf(word);
      llvm::Value* byte =
          b.CreateAdd(e_.Int32(piece.first), b.CreateMul(thread, e_.Int32(piece.words * 4)));
      const Slots part = e_.LoadWords(
          memory_.space, AddressOf(b.CreateAdd(tile_byte, b.CreateZExt(byte, e_.I(64)))),
          static_cast<int>(piece.words) * 4, exists);
      loaded.insert(loaded.end(), part.begin(), part.end());
      word += piece.words;
    }
    if (whole && exists != nullptr) {
      // What does not exist reads as zeros, which are code 0 but for complemented bits.
      const Slots zeros = WordsOfCodes(e_, packed.bits, Slots(Size(inner_slots), e_.Int32(0)));
      for (size_t i = 0; i < loaded.size(); ++i) {
        const auto* constant = llvm::dyn_cast<llvm::Constant>(zeros[i]);
        if (constant != nullptr && constant->isNullValue()) continue;
        loaded[i] = b.CreateSelect(exists, loaded[i], zeros[i]);
      }
    }
    words_.insert(words_.end(), loaded.begin(), loaded.end());
    for (int64_t slot = 0; slot < inner_slots; ++slot) {
      const int64_t at = turn * inner_slots + slot;
      llvm::Value* code = CodeOfWords(e_, packed.bits, slot, loaded);
      if (llvm::Value* mask = whole ? nullptr : Mask(at, false)) {
        code = b.CreateSelect(mask, code, llvm::Constant::getNullValue(code->getType()));
      }
      out.push_back(FromCode(b, code, memory_.type));
    }
  }
  return out;
}

void TileAccess::StorePacked(const Slots& slots) {
  llvm::IRBuilder<>& b = e_.b();
  PackedMap map(e_, memory_);
  for (int64_t slot = 0; slot < tile_.slots(); ++slot) {
    llvm::Value* code = b.CreateZExt(ToCode(b, slots[Size(slot)], memory_.type), e_.I(64));
    const std::vector<llvm::Value*> root = RootIndices(slot);
    e_.If(Mask(slot, true), [&] {
      const PackedMap::Home home = map.HomeOf(root);
      llvm::Value* stored = b.CreateXor(code, map.Complement(home));
      for (const PackedMap::Run& run : map.Runs()) {
        const PackedMap::BitAddress at = map.Bit(home, run.first);
        llvm::Value* part = b.CreateAnd(
            b.CreateTrunc(b.CreateLShr(stored, static_cast<uint64_t>(run.first)), e_.I(32)),
            run.mask());
        llvm::Value* mask = e_.Int32(static_cast<int64_t>(run.mask()));
        MergeWord(AddressOf(at.word_byte).base, b.CreateShl(mask, at.bit),
                  b.CreateShl(part, at.bit));
      }
    });
  }
}

// ---- bits in registers -------------------------------------------------------------------------

llvm::Value* CodeOfWords(Emitter& e, const BitLayout& bits, int64_t slot, const Slots& words) {
  llvm::IRBuilder<>& b = e.b();
  llvm::IntegerType* type = CodeType(b.getContext(), bits.type());
  llvm::Value* code = nullptr;
  for (int bit = 0; bit < bits.bits();) {
    const tarsia::BitPlace first = bits.Place(slot, bit);
    int count = 1;
    while (bit + count < bits.bits()) {
      const tarsia::BitPlace next = bits.Place(slot, bit + count);
      if (next.word != first.word || next.bit != first.bit + count) break;
      ++count;
    }
    llvm::Value* run = b.CreateLShr(words[first.word], uint64_t{first.bit});
    if (first.bit + count < 32) run = b.CreateAnd(run, (uint64_t{1} << count) - 1);
    run = b.CreateZExtOrTrunc(run, type);
    if (bit != 0) run = b.CreateShl(run, static_cast<uint64_t>(bit));
    code = code == nullptr ? run : b.CreateOr(code, run);
    bit += count;
  }
  const uint64_t complement = bits.Complement(slot);
  return complement == 0 ? code : b.CreateXor(code, complement);
}

Slots WordsOfCodes(Emitter& e, const BitLayout& bits, const Slots& codes) {
  llvm::IRBuilder<>& b = e.b();
  Slots words(Size(bits.words()), e.Int32(0));
  for (int64_t slot = 0; slot < bits.count(); ++slot) {
    llvm::Value* code = codes[Size(slot)];
    if (bits.Complement(slot) != 0) code = b.CreateXor(code, bits.Complement(slot));
    for (int bit = 0; bit < bits.bits();) {
      const tarsia::BitPlace first = bits.Place(slot, bit);
      int count = 1;
      while (bit + count < bits.bits()) {
        const tarsia::BitPlace next = bits.Place(slot, bit + count);
        if (next.word != first.word || next.bit != first.bit + count) break;
        ++count;
      }
      llvm::Value* run =
          b.CreateZExtOrTrunc(b.CreateLShr(code, static_cast<uint64_t>(bit)), e.I(32));
      if (count < 32) run = b.CreateAnd(run, (uint64_t{1} << count) - 1);
      llvm::Value*& word = words[first.word];
      word = b.CreateOr(word, b.CreateShl(run, uint64_t{first.bit}));
      bit += count;
    }
  }
  return words;
}

}  // namespace tarsia::compiler
