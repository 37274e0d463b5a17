#include "compiler/llvm/packed_access.h"

#include <numeric>

namespace tarsia::compiler {
namespace {

size_t Size(int64_t x) { return static_cast<size_t>(x); }

// Byte offset of word v of thread 0 within a tile, and how far apart the threads are there.
struct WordPlaces {
  std::vector<uint32_t> first;
  std::vector<uint32_t> stride;
};
WordPlaces PlacesOf(int64_t threads, int64_t words) {
  WordPlaces out;
  int64_t base = 0;
  for (int64_t word = 0; word < words;) {
    const int64_t left = words - word;
    const int64_t piece = left >= 4 ? 4 : left >= 2 ? 2 : 1;
    for (int64_t i = 0; i < piece; ++i) {
      out.first.push_back(static_cast<uint32_t>(base + i * 4));
      out.stride.push_back(static_cast<uint32_t>(piece * 4));
    }
    base += threads * piece * 4;
    word += piece;
  }
  return out;
}

// The map of slots to words repeats after so many codes.
int64_t PeriodOf(const BitLayout& bits) {
  const int64_t period = 32;  // as many words as a code has bits
  return std::min(period, std::max<int64_t>(1, bits.count()));
}

}  // namespace

PackedMap::PackedMap(Emitter& e, const MemoryTile& memory)
    : e_(e), memory_(memory), packed_(memory.layout->packed()) {}

PackedMap::Home PackedMap::HomeOf(const std::vector<llvm::Value*>& root) {
  llvm::IRBuilder<>& b = e_.b();
  const RegLayout& tile = packed_.tile;
  llvm::Value* number = e_.Int64(0);
  std::vector<llvm::Value*> within;
  for (int d = 0; d < tile.rank(); ++d) {
    llvm::Value* extent = e_.Int64(tile.shape()[Size(d)]);
    number = b.CreateAdd(b.CreateMul(number, memory_.dims[Size(d)].tiles.value),
                         b.CreateUDiv(root[Size(d)], extent));
    within.push_back(b.CreateTrunc(b.CreateURem(root[Size(d)], extent), e_.I(32)));
  }
  const auto read = [&](std::span<const RegLayout::Digit> digits) {
    llvm::Value* out = e_.Int32(0);
    for (const RegLayout::Digit& digit : digits) {
      llvm::Value* part = b.CreateURem(
          b.CreateUDiv(within[Size(digit.dim)], e_.Int32(digit.stride)), e_.Int32(digit.extent));
      out = b.CreateAdd(b.CreateMul(out, e_.Int32(digit.extent)), part);
    }
    return out;
  };
  return {b.CreateMul(number, e_.Int64(packed_.tile_bits / 8)), read(tile.spatial()),
          read(tile.local())};
}

PackedMap::Piece PackedMap::PieceOf(int64_t word) const {
  const WordPlaces places = PlacesOf(packed_.tile.threads(), packed_.bits.words());
  return {places.stride[Size(word)] / 4, places.first[Size(word)]};
}

std::vector<PackedMap::Run> PackedMap::Runs() const {
  const BitLayout& bits = packed_.bits;
  const auto follows = [&](int bit) {
    for (int64_t slot = 0; slot < PeriodOf(bits); ++slot) {
      const BitPlace before = bits.Place(slot, bit - 1);
      const BitPlace at = bits.Place(slot, bit);
      if (at.word != before.word || at.bit != before.bit + 1) return false;
    }
    return true;
  };
  std::vector<Run> out = {{0, 1}};
  for (int bit = 1; bit < bits.bits(); ++bit) {
    if (follows(bit)) {
      ++out.back().count;
    } else {
      out.push_back({bit, 1});
    }
  }
  return out;
}

PackedMap::BitAddress PackedMap::Bit(const Home& home, int bit) {
  llvm::IRBuilder<>& b = e_.b();
  const BitLayout& bits = packed_.bits;
  const int64_t period = PeriodOf(bits);
  const auto width = bits.bits();
  std::vector<uint32_t> place;  // by slot of the period: word * 32 + bit
  for (int64_t slot = 0; slot < period; ++slot) {
    const BitPlace at = bits.Place(slot, bit);
    place.push_back(at.word * 32 + at.bit);
  }
  llvm::Value* turn = b.CreateUDiv(home.slot, e_.Int32(period));
  llvm::Value* slot = b.CreateURem(home.slot, e_.Int32(period));
  llvm::Value* at = Lookup(place, slot, "place");
  // A period of 32 codes fills as many words as a code has bits.
  llvm::Value* word =
      b.CreateAdd(b.CreateMul(turn, e_.Int32(width)), b.CreateLShr(at, uint64_t{5}));
  const WordPlaces words = PlacesOf(packed_.tile.threads(), bits.words());
  llvm::Value* byte = b.CreateAdd(Lookup(words.first, word, "word"),
                                  b.CreateMul(home.thread, Lookup(words.stride, word, "stride")));
  return {b.CreateAdd(home.tile_byte, b.CreateZExt(byte, e_.I(64))), b.CreateAnd(at, uint64_t{31})};
}

llvm::Value* PackedMap::Complement(const Home& home) {
  const BitLayout& bits = packed_.bits;
  const int64_t period = PeriodOf(bits);
  std::vector<uint32_t> masks;
  uint32_t any = 0;
  for (int64_t slot = 0; slot < period; ++slot) {
    masks.push_back(static_cast<uint32_t>(bits.Complement(slot)));
    any |= masks.back();
  }
  if (any == 0) return e_.Int64(0);
  llvm::Value* slot = e_.b().CreateURem(home.slot, e_.Int32(period));
  return e_.b().CreateZExt(Lookup(masks, slot, "complement"), e_.I(64));
}

llvm::Value* PackedMap::Lookup(const std::vector<uint32_t>& table, llvm::Value* at,
                               const char* name) {
  llvm::IRBuilder<>& b = e_.b();
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(at)) {
    return e_.Int32(table[known->getZExtValue()]);
  }
  // a + i * step is cheaper than memory.
  const uint32_t step = table.size() > 1 ? table[1] - table[0] : 0;
  bool linear = true;
  for (size_t i = 1; i < table.size(); ++i) linear = linear && table[i] - table[i - 1] == step;
  if (linear) {
    return b.CreateAdd(e_.Int32(table[0]), b.CreateMul(at, e_.Int32(step)));
  }
  auto* data = llvm::ConstantDataArray::get(b.getContext(), table);
  llvm::GlobalVariable* array = nullptr;
  for (llvm::GlobalVariable& global : e_.module().globals()) {
    if (global.hasInitializer() && global.getInitializer() == data) array = &global;
  }
  if (array == nullptr) {
    array = new llvm::GlobalVariable(e_.module(), data->getType(), true,
                                     llvm::GlobalValue::PrivateLinkage, data, name, nullptr,
                                     llvm::GlobalValue::NotThreadLocal, 4);
    array->setAlignment(llvm::Align(4));
  }
  llvm::Value* place = b.CreateInBoundsGEP(data->getType(), array, {e_.Int32(0), at}, "place");
  return b.CreateAlignedLoad(e_.I(32), place, llvm::MaybeAlign(4));
}

}  // namespace tarsia::compiler
