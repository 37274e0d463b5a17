#include "compiler/llvm/code/access_emitter.h"

#include <algorithm>
#include <utility>

#include "compiler/llvm/code/bit_reader.h"
#include "compiler/select/access.h"
#include "layout/packed_words.h"
#include "support/extents.h"

namespace tarsia::compiler {

AccessEmitter::AccessEmitter(FunctionBuilder& function, Memory& memory, Layouts& layouts,
                             TileWindow window)
    : f_(function),
      b_(function.b()),
      memory_(memory),
      window_(std::move(window)),
      tile_(window_.memory),
      width_(WidthOf(window_)),
      layouts_(layouts),
      addresses_(function, layouts, window_) {
  if (tile_.form == MemoryTile::Form::kPacked) outer_ = OuterLayout(window_);
}

Slots AccessEmitter::Load(AccessPolicy policy) {
  policy_ = PolicyOfLoads(policy);
  if (tile_.form == MemoryTile::Form::kPacked) return LoadPacked();
  if (const auto matrices = FindMatrices(false)) return ReadMatrices(*matrices);
  if (width_.unit != 0) return LoadVectors();
  if (RunOfBits() > 1 && BitReader::MayRead(tile_)) return LoadRunsOfBits(RunOfBits());
  Slots out;
  for (int64_t slot = 0; slot < window_.tile.slots(); ++slot) {
    out.push_back(FromCode(b_, LoadBits(slot, addresses_.LoadMask(slot)), tile_.type));
  }
  return out;
}

void AccessEmitter::Store(const Slots& slots, AccessPolicy policy) {
  if (tile_.form == MemoryTile::Form::kPacked) {
    return outer_ ? StorePackedTiles(*outer_, slots, policy) : StorePacked(slots);
  }
  if (const auto matrices = FindMatrices(true)) return WriteMatrices(*matrices, slots);
  if (width_.unit != 0) {
    // Another store may change the word that these codes are in.
    policy.strong = tile_.type.IsSubByte() && tile_.written_twice;
    return StoreVectors(slots, policy);
  }
  StoreBits(slots);
}

bool AccessEmitter::ReadsWordsOf(const BitLayout& bits) const {
  const std::optional<BitLayoutFamily> order = OrderOfWords();
  return order && order->order == bits.order() && order->compute == bits.compute() &&
         bits.type() == tile_.type && bits.words() * 32 == window_.tile.slots() * tile_.bits();
}

Slots AccessEmitter::LoadWords(AccessPolicy policy) {
  policy_ = PolicyOfLoads(policy);
  return tile_.form == MemoryTile::Form::kPacked ? ReadPackedTiles(*outer_) : ReadVectors();
}

// Threads that write the neighbours of a code change its bytes, or the word that it is in,
// meanwhile.
AccessPolicy AccessEmitter::PolicyOfLoads(AccessPolicy policy) const {
  const bool shares_words = tile_.form == MemoryTile::Form::kPacked || tile_.type.IsSubByte();
  policy.strong = shares_words && tile_.written_in_parts;
  return policy;
}

// The order of the codes in the words that are read, if the slots fill whole words.
std::optional<BitLayoutFamily> AccessEmitter::OrderOfWords() const {
  if (tile_.form != MemoryTile::Form::kPacked) {
    if (width_.unit < 4) return std::nullopt;
    return BitLayoutFamily{};
  }
  const PackedTile& packed = tile_.layout->packed();
  if (packed.tile.slots() * tile_.bits() % 32 != 0 || !outer_) return std::nullopt;
  if (!PackedTilesAreWhole(window_)) return std::nullopt;
  return BitLayoutFamily{packed.bits.order(), {}, {}, packed.bits.compute()};
}

// ---- matrices ----------------------------------------------------------------------------------

std::optional<MatrixAccesses> AccessEmitter::FindMatrices(bool stores) const {
  if (tile_.space != Space::kShared || window_.axis >= 0) return std::nullopt;
  if (stores && !HasMatrixStores(memory_.target())) return std::nullopt;
  const int fast = ContiguousDim(tile_);
  for (int d = 0; d < tile_.rank(); ++d) {
    if (fast < 0 || !window_.IsInside(d)) return std::nullopt;
  }
  const int bytes = tile_.bits() / 8;
  std::optional<MatrixAccesses> found = stores ? FindMatrixStores(window_.tile, fast, bytes)
                                               : FindMatrixLoads(window_.tile, fast, bytes);
  if (!found) return std::nullopt;
  // Each row is one aligned access.
  TileWindow rows{tile_, kNoLayout, found->rows, window_.root};
  if (WidthOf(rows).unit != kWidestAccess) return std::nullopt;
  return found;
}

Slots AccessEmitter::ReadMatrices(const MatrixAccesses& loads) {
  const LayoutId layout = layouts_.Add(loads.rows);
  const TileWindow window{tile_, layout, layouts_[layout], window_.root};
  TileAddresses rows(f_, layouts_, window);
  Slots out = memory_.LoadMatrices(loads, loads.InstructionsFor(window_.tile), tile_.bits(),
                                   [&](int64_t slot) { return rows.PlaceOf(slot).byte; });
  for (llvm::Value*& code : out) code = FromCode(b_, code, tile_.type);
  return out;
}

void AccessEmitter::WriteMatrices(const MatrixAccesses& stores, const Slots& slots) {
  const LayoutId layout = layouts_.Add(stores.rows);
  const TileWindow window{tile_, layout, layouts_[layout], window_.root};
  TileAddresses rows(f_, layouts_, window);
  Slots codes;
  for (llvm::Value* slot : slots) codes.push_back(ToCode(b_, slot, tile_.type));
  memory_.StoreMatrices(stores, codes, tile_.bits(),
                        [&](int64_t slot) { return rows.PlaceOf(slot).byte; });
}

// ---- vectors -----------------------------------------------------------------------------------

// The words of all vectors, of WordBytes each.
Slots AccessEmitter::ReadVectors() {
  const int64_t bytes = width_.vector * tile_.bits() / 8;
  Slots words;
  for (int64_t slot = 0; slot < window_.tile.slots(); slot += width_.vector) {
    llvm::Value* condition = addresses_.LoadMask(slot);
    const Address address = ByteAddress(slot);
    for (int64_t at = 0; at < bytes; at += width_.unit) {
      const Slots part = memory_.LoadWords(tile_.space, {address.base, address.offset + at},
                                           width_.unit, condition, policy_);
      words.insert(words.end(), part.begin(), part.end());
    }
  }
  return words;
}

Slots AccessEmitter::LoadVectors() {
  const int bits = tile_.bits();
  const Slots words = ReadVectors();
  Slots out;
  for (int64_t slot = 0; slot < window_.tile.slots(); ++slot) {
    llvm::Value* code = CodeInRun(b_, words, WordBytes() * 8, static_cast<int>(slot) * bits, bits);
    out.push_back(FromCode(b_, code, tile_.type));
  }
  return out;
}

void AccessEmitter::StoreVectors(const Slots& slots, AccessPolicy policy) {
  const int unit = width_.unit;
  const int word = WordBytes();
  const int64_t bytes = width_.vector * tile_.bits() / 8;
  for (int64_t slot = 0; slot < window_.tile.slots(); slot += width_.vector) {
    Slots codes;
    for (int64_t i = 0; i < width_.vector; ++i) {
      codes.push_back(ToCode(b_, slots[Size(slot + i)], tile_.type));
    }
    const Slots words = RunOfCodes(b_, codes, tile_.bits(), word * 8);
    llvm::Value* condition = addresses_.StoreMask(slot);
    const Address address = ByteAddress(slot);
    for (int64_t at = 0; at < bytes; at += unit) {
      const auto first = words.begin() + at / word;
      memory_.StoreWords(tile_.space, {address.base, address.offset + at}, unit,
                         Slots(first, first + std::max(1, unit / word)), condition, policy);
    }
  }
}

// ---- codes that share bytes --------------------------------------------------------------------

// A code of fewer than 8 bits lies in one byte or in two.
llvm::Value* AccessEmitter::LoadBits(int64_t slot, llvm::Value* condition) {
  const int bits = tile_.bits();
  const TileAddresses::Place place = addresses_.PlaceOf(slot);
  llvm::Value* pair =
      b_.CreateZExt(memory_.LoadWords(tile_.space, place.byte, 1, condition, policy_)[0], f_.I(32));
  if (8 % bits != 0) {
    llvm::Value* spills = b_.CreateICmpUGT(place.bit, f_.Int32(8 - bits));
    llvm::Value* second =
        memory_.LoadWords(tile_.space, place.next, 1, f_.And(condition, spills), policy_)[0];
    pair = b_.CreateOr(pair, b_.CreateShl(b_.CreateZExt(second, f_.I(32)), uint64_t{8}));
  }
  llvm::Value* code = b_.CreateAnd(b_.CreateLShr(pair, place.bit), CodeMask(tile_.type));
  return b_.CreateTrunc(code, f_.I(8));
}

Slots AccessEmitter::LoadRunsOfBits(int64_t run) {
  const int bits = tile_.bits();
  BitReader reader(f_, memory_, tile_, policy_);
  Slots out;
  for (int64_t first = 0; first < window_.tile.slots(); first += run) {
    const Slots words = reader.Read(addresses_.PlaceOf(first), run * bits);
    for (int64_t i = 0; i < run; ++i) {
      llvm::Value* code = CodeInRun(b_, words, 32, static_cast<int>(i) * bits, bits);
      if (llvm::Value* mask = addresses_.LoadMask(first + i)) {
        code = b_.CreateSelect(mask, code, llvm::Constant::getNullValue(code->getType()));
      }
      out.push_back(FromCode(b_, code, tile_.type));
    }
  }
  return out;
}

// Neighbouring slots that are neighbours in memory.
int64_t AccessEmitter::RunOfBits() const {
  const int dim = ContiguousDim(tile_);
  const bool plain = tile_.form == MemoryTile::Form::kAffine && tile_.swizzles.empty();
  if (dim < 0 || window_.axis >= 0 || !plain || window_.tile.reg().local().empty()) return 1;
  const RegLayout::Digit& inner = window_.tile.reg().local().back();
  return inner.dim == dim && inner.stride == 1 ? inner.extent : 1;
}

void AccessEmitter::StoreBits(const Slots& slots) {
  BitMerger merger(f_, memory_, tile_, window_.axis >= 0);
  const int64_t run = RunOfBits();
  merger.Begin();
  for (int64_t first = 0; first < window_.tile.slots(); first += run) {
    Slots codes, conditions;
    for (int64_t slot = first; slot < first + run; ++slot) {
      codes.push_back(ToCode(b_, slots[Size(slot)], tile_.type));
      conditions.push_back(addresses_.StoreMask(slot));
    }
    if (run == 1) {
      merger.Merge(addresses_.PlaceOf(first), codes[0], conditions[0]);
    } else {
      merger.MergeRun(addresses_.PlaceOf(first), codes, conditions);
    }
  }
  merger.End();
}

// ---- packed tiles ------------------------------------------------------------------------------

Slots AccessEmitter::LoadPacked() {
  PackedMap map(f_, tile_);
  if (outer_) return LoadPackedTiles(*outer_);
  Slots out;
  for (int64_t slot = 0; slot < window_.tile.slots(); ++slot) {
    out.push_back(FromCode(b_, LoadPackedCode(map, slot), tile_.type));
  }
  return out;
}

llvm::Value* AccessEmitter::LoadPackedCode(PackedMap& map, int64_t slot) {
  const PackedMap::Home home = map.HomeOf(addresses_.RootIndices(slot));
  llvm::Value* exists = addresses_.LoadMask(slot);
  llvm::Value* code = f_.Int64(0);
  for (const PackedMap::Run& run : map.Runs()) {
    const PackedMap::BitAddress at = map.Bit(home, run.first);
    llvm::Value* word =
        memory_.LoadWords(tile_.space, addresses_.AddressOf(at.word_byte), 4, exists, policy_)[0];
    llvm::Value* part = b_.CreateAnd(b_.CreateLShr(word, at.bit), run.mask());
    code = b_.CreateOr(
        code, b_.CreateShl(b_.CreateZExt(part, f_.I(64)), static_cast<uint64_t>(run.first)));
  }
  code = b_.CreateXor(code, map.Complement(home));
  if (exists != nullptr) code = b_.CreateSelect(exists, code, f_.Int64(0));
  return b_.CreateTrunc(code, CodeType(b_.getContext(), tile_.type));
}

// i1, or null for always: whether the packed tile of an element exists.
llvm::Value* AccessEmitter::PackedTileExists(const Slots& root) {
  llvm::Value* exists = nullptr;
  for (int d = 0; d < tile_.rank(); ++d) {
    if (window_.IsInside(d)) continue;
    llvm::Value* extent = f_.Int64(tile_.layout->packed().tile.shape()[Size(d)]);
    llvm::Value* number = b_.CreateSDiv(root[Size(d)], extent);
    llvm::Value* in = b_.CreateICmpULT(number, tile_.dims[Size(d)].tiles.value);
    exists = f_.And(exists, in);
  }
  return exists;
}

// Which thread of a packed tile this one is.
llvm::Value* AccessEmitter::ThreadOfPackedTile() const {
  return b_.CreateURem(f_.Thread(), f_.Int32(tile_.layout->packed().tile.threads()));
}

// The pieces of a thread in the packed tile that has an element.
std::vector<AccessEmitter::PackedPiece> AccessEmitter::PackedPiecesAt(PackedMap& map,
                                                                      const Slots& root,
                                                                      llvm::Value* thread) {
  const PackedTile& packed = tile_.layout->packed();
  llvm::Value* tile_byte = map.TileByte(root);
  std::vector<PackedPiece> out;
  for (int64_t word = 0; word < packed.bits.words();) {
    const PackedWord place = PlaceOfPackedWord(packed.tile.threads(), packed.bits.words(), word);
    const auto bytes = static_cast<int>(place.piece) * 4;
    // The first word is a constant of the instruction, so pieces of one width share a register.
    llvm::Value* own = b_.CreateZExt(b_.CreateMul(thread, f_.Int32(bytes)), f_.I(64));
    Address at = addresses_.AddressOf(b_.CreateAdd(tile_byte, own));
    at.offset += place.first * 4;
    out.push_back({at, bytes});
    word += place.piece;
  }
  return out;
}

// Zeros instead of words where the packed tile does not exist are code 0 already, except for bits
// that are stored complemented.
void AccessEmitter::CodesOfNothing(llvm::Value* exists, Slots& words) {
  const PackedTile& packed = tile_.layout->packed();
  const Slots zeros = WordsOfCodes(b_, packed.bits, Slots(Size(packed.tile.slots()), f_.Int32(0)));
  for (size_t i = 0; i < words.size(); ++i) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(zeros[i]);
    if (constant != nullptr && constant->isNullValue()) continue;
    words[i] = b_.CreateSelect(exists, words[i], zeros[i]);
  }
}

// The words of each packed tile, one after the other.
Slots AccessEmitter::ReadPackedTiles(const RegLayout& outer) {
  PackedMap map(f_, tile_);
  const int64_t inner_slots = tile_.layout->packed().tile.slots();
  llvm::Value* thread = ThreadOfPackedTile();
  const bool whole = PackedTilesAreWhole(window_);
  Slots words;
  for (int64_t turn = 0; turn < outer.slots(); ++turn) {
    const Slots root = addresses_.RootIndices(turn * inner_slots);
    llvm::Value* exists = PackedTileExists(root);
    Slots loaded;
    for (const PackedPiece& piece : PackedPiecesAt(map, root, thread)) {
      // Zeros where the packed tile does not exist.
      const Slots part =
          memory_.LoadWords(tile_.space, piece.address, piece.bytes, exists, policy_);
      loaded.insert(loaded.end(), part.begin(), part.end());
    }
    if (whole && exists != nullptr) CodesOfNothing(exists, loaded);
    words.insert(words.end(), loaded.begin(), loaded.end());
  }
  return words;
}

Slots AccessEmitter::LoadPackedTiles(const RegLayout& outer) {
  const PackedTile& packed = tile_.layout->packed();
  const int64_t inner_slots = packed.tile.slots();
  const bool whole = PackedTilesAreWhole(window_);
  const Slots words = ReadPackedTiles(outer);
  Slots out;
  for (int64_t turn = 0; turn < outer.slots(); ++turn) {
    const auto first = words.begin() + turn * packed.bits.words();
    const Slots loaded(first, first + packed.bits.words());
    for (int64_t slot = 0; slot < inner_slots; ++slot) {
      llvm::Value* code = CodeOfWords(b_, packed.bits, slot, loaded);
      if (llvm::Value* mask = whole ? nullptr : addresses_.LoadMask(turn * inner_slots + slot)) {
        code = b_.CreateSelect(mask, code, llvm::Constant::getNullValue(code->getType()));
      }
      out.push_back(FromCode(b_, code, tile_.type));
    }
  }
  return out;
}

// Each word of a packed tile belongs to one thread and its replicas.
void AccessEmitter::StorePackedTiles(const RegLayout& outer, const Slots& slots,
                                     AccessPolicy policy) {
  PackedMap map(f_, tile_);
  const int64_t inner_slots = tile_.layout->packed().tile.slots();
  llvm::Value* thread = ThreadOfPackedTile();
  llvm::Value* stores = layouts_.IsFirstHolder(window_.layout);
  const bool whole = PackedTilesAreWhole(window_);
  policy.strong = tile_.written_twice;
  for (int64_t turn = 0; turn < outer.slots(); ++turn) {
    const int64_t first = turn * inner_slots;
    Slots codes;
    for (int64_t slot = first; slot < first + inner_slots; ++slot) {
      codes.push_back(ToCode(b_, slots[Size(slot)], tile_.type));
    }
    const Slots root = addresses_.RootIndices(first);
    const std::vector<PackedPiece> pieces = PackedPiecesAt(map, root, thread);
    const Slots words = WordsOfCodes(b_, tile_.layout->packed().bits, codes);
    if (!whole) {
      const Slots masks = MasksOfPackedWords(first);
      f_.If(stores, [&] { MergePackedWords(pieces, words, masks); });
      continue;
    }
    llvm::Value* condition = f_.And(stores, PackedTileExists(root));
    auto word = words.begin();
    for (const PackedPiece& piece : pieces) {
      memory_.StoreWords(tile_.space, piece.address, piece.bytes,
                         Slots(word, word + piece.bytes / 4), condition, policy);
      word += piece.bytes / 4;
    }
  }
}

// The bits of the packed tile's words that codes of the tile have, of slots from `first` on.
Slots AccessEmitter::MasksOfPackedWords(int64_t first) {
  const PackedTile& packed = tile_.layout->packed();
  llvm::Type* type = CodeType(b_.getContext(), tile_.type);
  llvm::Value* none = llvm::ConstantInt::get(type, 0);
  llvm::Value* all = llvm::ConstantInt::get(type, (uint64_t{1} << tile_.bits()) - 1);
  Slots codes;
  for (int64_t slot = 0; slot < packed.tile.slots(); ++slot) {
    llvm::Value* mask = addresses_.LoadMask(first + slot);
    codes.push_back(mask == nullptr ? all : b_.CreateSelect(mask, all, none));
  }
  Slots out = WordsOfCodes(b_, packed.bits, codes);
  // Some bits are stored complemented.
  const Slots nothing = WordsOfCodes(b_, packed.bits, Slots(Size(packed.tile.slots()), none));
  for (size_t i = 0; i < out.size(); ++i) out[i] = b_.CreateXor(out[i], nothing[i]);
  return out;
}

void AccessEmitter::MergePackedWords(const std::vector<PackedPiece>& pieces, const Slots& words,
                                     const Slots& masks) {
  BitMerger merger(f_, memory_, tile_, false);
  size_t word = 0;
  for (const PackedPiece& piece : pieces) {
    for (int at = 0; at < piece.bytes; at += 4, ++word) {
      merger.StoreOrMerge(memory_.Sum({piece.address.base, piece.address.offset + at}), masks[word],
                          b_.CreateAnd(words[word], masks[word]));
    }
  }
}

void AccessEmitter::StorePacked(const Slots& slots) {
  PackedMap map(f_, tile_);
  BitMerger merger(f_, memory_, tile_, window_.axis >= 0);
  for (int64_t slot = 0; slot < window_.tile.slots(); ++slot) {
    llvm::Value* code = b_.CreateZExt(ToCode(b_, slots[Size(slot)], tile_.type), f_.I(64));
    const Slots root = addresses_.RootIndices(slot);
    f_.If(addresses_.StoreMask(slot), [&] {
      const PackedMap::Home home = map.HomeOf(root);
      llvm::Value* stored = b_.CreateXor(code, map.Complement(home));
      for (const PackedMap::Run& run : map.Runs()) {
        const PackedMap::BitAddress at = map.Bit(home, run.first);
        llvm::Value* part = b_.CreateAnd(
            b_.CreateTrunc(b_.CreateLShr(stored, static_cast<uint64_t>(run.first)), f_.I(32)),
            run.mask());
        llvm::Value* mask = f_.Int32(static_cast<int64_t>(run.mask()));
        merger.MergeWord(addresses_.AddressOf(at.word_byte).base, b_.CreateShl(mask, at.bit),
                         b_.CreateShl(part, at.bit));
      }
    });
  }
}

}  // namespace tarsia::compiler
