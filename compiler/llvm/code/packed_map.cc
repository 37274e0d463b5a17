#include "compiler/llvm/code/packed_map.h"

#include <algorithm>
#include <optional>
#include <span>

#include "layout/checked.h"
#include "layout/packed_words.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// The map of slots to words repeats after so many codes.
int64_t PeriodOf(const BitLayout& bits) {
  const int64_t period = 32;  // as many words as a code has bits
  return std::min(period, std::max<int64_t>(1, bits.count()));
}

}  // namespace

PackedMap::PackedMap(FunctionBuilder& function, const MemoryTile& memory)
    : f_(function), b_(function.b()), memory_(memory), packed_(memory.layout->packed()) {}

// 32 bits hold the number of any bit of the tensor, and so indices and offsets of bytes.
bool PackedMap::IsSmall() const {
  std::optional<int64_t> all = packed_.tile_bits;
  for (const MemoryTile::Dim& dim : memory_.dims) {
    all = all ? CheckedMul(*all, dim.tiles.facts.hi) : all;
  }
  return all && *all <= INT32_MAX;
}

// The byte of the tile that an element is in, in arithmetic of a type.
llvm::Value* PackedMap::TileByte(const std::vector<llvm::Value*>& root, llvm::Type* type) {
  const RegLayout& tile = packed_.tile;
  llvm::Value* number = llvm::ConstantInt::get(type, 0);
  for (int d = 0; d < tile.rank(); ++d) {
    llvm::Value* extent =
        llvm::ConstantInt::get(type, static_cast<uint64_t>(tile.shape()[Size(d)]));
    llvm::Value* index = b_.CreateTrunc(root[Size(d)], type);
    llvm::Value* tiles = b_.CreateTrunc(memory_.dims[Size(d)].tiles.value, type);
    number = b_.CreateAdd(b_.CreateMul(number, tiles), b_.CreateUDiv(index, extent));
  }
  return b_.CreateMul(number,
                      llvm::ConstantInt::get(type, static_cast<uint64_t>(packed_.tile_bits / 8)));
}

llvm::Value* PackedMap::TileByte(const std::vector<llvm::Value*>& root) {
  return TileByte(root, f_.I(64));
}

PackedMap::Home PackedMap::HomeOf(const std::vector<llvm::Value*>& root) {
  const RegLayout& tile = packed_.tile;
  std::vector<llvm::Value*> within;
  for (int d = 0; d < tile.rank(); ++d) {
    llvm::Value* extent = f_.Int64(tile.shape()[Size(d)]);
    within.push_back(b_.CreateTrunc(b_.CreateURem(root[Size(d)], extent), f_.I(32)));
  }
  const auto read = [&](std::span<const RegLayout::Digit> digits) {
    llvm::Value* out = f_.Int32(0);
    for (const RegLayout::Digit& digit : digits) {
      llvm::Value* part = b_.CreateURem(
          b_.CreateUDiv(within[Size(digit.dim)], f_.Int32(digit.stride)), f_.Int32(digit.extent));
      out = b_.CreateAdd(b_.CreateMul(out, f_.Int32(digit.extent)), part);
    }
    return out;
  };
  return {TileByte(root, f_.I(IsSmall() ? 32 : 64)), read(tile.spatial()), read(tile.local())};
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
  const BitLayout& bits = packed_.bits;
  const int64_t period = PeriodOf(bits);
  const auto width = bits.bits();
  std::vector<uint32_t> place;  // by slot of the period: word * 32 + bit
  for (int64_t slot = 0; slot < period; ++slot) {
    const BitPlace at = bits.Place(slot, bit);
    place.push_back(at.word * 32 + at.bit);
  }
  llvm::Value* turn = b_.CreateUDiv(home.slot, f_.Int32(period));
  llvm::Value* slot = b_.CreateURem(home.slot, f_.Int32(period));
  llvm::Value* at = Lookup(place, slot, "place");
  // A period of 32 codes fills as many words as a code has bits.
  llvm::Value* word =
      b_.CreateAdd(b_.CreateMul(turn, f_.Int32(width)), b_.CreateLShr(at, uint64_t{5}));
  std::vector<uint32_t> first, stride;  // by word: bytes
  for (int64_t i = 0; i < bits.words(); ++i) {
    const PackedWord words = PlaceOfPackedWord(packed_.tile.threads(), bits.words(), i);
    first.push_back(static_cast<uint32_t>(words.first * 4));
    stride.push_back(static_cast<uint32_t>(words.piece * 4));
  }
  llvm::Value* byte = b_.CreateAdd(Lookup(first, word, "word"),
                                   b_.CreateMul(home.thread, Lookup(stride, word, "stride")));
  byte = b_.CreateZExt(byte, home.tile_byte->getType());
  return {b_.CreateZExt(b_.CreateAdd(home.tile_byte, byte), f_.I(64)),
          b_.CreateAnd(at, uint64_t{31})};
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
  if (any == 0) return f_.Int64(0);
  llvm::Value* slot = b_.CreateURem(home.slot, f_.Int32(period));
  return b_.CreateZExt(Lookup(masks, slot, "complement"), f_.I(64));
}

llvm::Value* PackedMap::Lookup(const std::vector<uint32_t>& table, llvm::Value* at,
                               const char* name) {
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(at)) {
    return f_.Int32(table[known->getZExtValue()]);
  }
  // a + i * step is cheaper than memory.
  const uint32_t step = table.size() > 1 ? table[1] - table[0] : 0;
  bool linear = true;
  for (size_t i = 1; i < table.size(); ++i) linear = linear && table[i] - table[i - 1] == step;
  if (linear) {
    return b_.CreateAdd(f_.Int32(table[0]), b_.CreateMul(at, f_.Int32(step)));
  }
  auto* data = llvm::ConstantDataArray::get(b_.getContext(), table);
  llvm::GlobalVariable* array = nullptr;
  for (llvm::GlobalVariable& global : f_.module().globals()) {
    if (global.hasInitializer() && global.getInitializer() == data) array = &global;
  }
  if (array == nullptr) {
    array = new llvm::GlobalVariable(f_.module(), data->getType(), true,
                                     llvm::GlobalValue::PrivateLinkage, data, name, nullptr,
                                     llvm::GlobalValue::NotThreadLocal, 4);
    array->setAlignment(llvm::Align(4));
  }
  llvm::Value* place = b_.CreateInBoundsGEP(data->getType(), array, {f_.Int32(0), at}, "place");
  return b_.CreateAlignedLoad(f_.I(32), place, llvm::MaybeAlign(4));
}

}  // namespace tarsia::compiler
