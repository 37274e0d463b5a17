// Packed memory layouts against a second implementation of their definition: every type of at most
// 8 bits, tiles of 32, 64 and 128 threads, whole and ragged shapes.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "layout/mem_layout.h"
#include "tests/unit/layout/layout_testing.h"

namespace tarsia::packed_layout_test {
namespace {

using testing::Eval;
using testing::Ints;
using testing::Reg;

// Where word v of a thread lies in its tile, from the list of pieces.
int64_t ExpectedWord(int64_t threads, int64_t words, int64_t thread, int64_t v) {
  int64_t first = 0, base = 0;
  while (true) {
    const int64_t left = words - first;
    const int64_t size = left >= 4 ? 4 : left >= 2 ? 2 : 1;
    if (v < first + size) return base + thread * size + (v - first);
    first += size;
    base += threads * size;
  }
}

// One tensor: its tiles row-major over the tensor, each a run of words.
class PackedTensor {
 public:
  PackedTensor(const RegLayout& tile, const BitLayout& bits, const Ints& shape)
      : tile_(tile), bits_(bits), shape_(shape), tile_words_(tile.threads() * bits.words()) {
    across_ = (shape[1] + tile.shape()[1] - 1) / tile.shape()[1];
    tiles_ = (shape[0] + tile.shape()[0] - 1) / tile.shape()[0] * across_;
  }

  [[nodiscard]] int64_t words() const { return tiles_ * tile_words_; }

  // Every bit of every element lies where the definition says, and none where another does.
  void ExpectPlaces(const MemLayout& layout) const {
    const int width = bits_.bits();
    ASSERT_EQ(layout.SizeBytes(width), static_cast<uint64_t>(words() * 4));
    EXPECT_EQ(layout.Alignment(), 16);
    std::vector<bool> taken(static_cast<size_t>(words() * 32));
    for (int64_t i = 0; i < shape_[0]; ++i) {
      for (int64_t j = 0; j < shape_[1]; ++j) {
        const auto [first, holder] = Find(i, j);
        for (int bit = 0; bit < width; ++bit) {
          const BitPlace place = bits_.Place(holder.slot, bit);
          const int64_t word = first + Word(holder.thread, place.word);
          const uint64_t at = layout.BitAddress(Ints{i, j}, width, bit);
          ASSERT_EQ(at, static_cast<uint64_t>(word * 32 + place.bit));
          ASSERT_FALSE(taken[at]);
          taken[at] = true;
        }
      }
    }
    for (int64_t t = 0; t < tiles_; ++t) {
      const std::vector<uint32_t> used = layout.UsedBits(t);
      ASSERT_EQ(static_cast<int64_t>(used.size()), tile_words_);
      for (int64_t b = 0; b < tile_words_ * 32; ++b) {
        ASSERT_EQ((used[static_cast<size_t>(b / 32)] >> b % 32 & 1) != 0,
                  taken[static_cast<size_t>(t * tile_words_ * 32 + b)]);
      }
    }
  }

  // Codes that threads pack, each its slots, are read back element by element.
  void ExpectRoundTrip(const MemLayout& layout) const {
    std::mt19937_64 random(testing::Seed());
    std::vector<uint64_t> codes(static_cast<size_t>(shape_[0] * shape_[1]));
    for (uint64_t& code : codes) code = random() & CodeMask(bits_.type());
    const std::vector<uint32_t> packed = Pack(codes);
    for (int64_t i = 0; i < shape_[0]; ++i) {
      for (int64_t j = 0; j < shape_[1]; ++j) {
        uint64_t code = bits_.Complement(Find(i, j).second.slot);
        for (int bit = 0; bit < bits_.bits(); ++bit) {
          const uint64_t at = layout.BitAddress(Ints{i, j}, bits_.bits(), bit);
          code ^= uint64_t{packed[at / 32] >> at % 32 & 1} << bit;
        }
        ASSERT_EQ(code, codes[static_cast<size_t>(i * shape_[1] + j)]) << i << " " << j;
      }
    }
  }

 private:
  [[nodiscard]] int64_t Word(int64_t thread, int64_t v) const {
    return ExpectedWord(tile_.threads(), bits_.words(), thread, v);
  }

  // The first word of an element's tile, and the holder of the element.
  [[nodiscard]] std::pair<int64_t, Holder> Find(int64_t i, int64_t j) const {
    const int64_t number = i / tile_.shape()[0] * across_ + j / tile_.shape()[1];
    return {number * tile_words_,
            tile_.LocateFirst(Ints{i % tile_.shape()[0], j % tile_.shape()[1]})};
  }

  [[nodiscard]] std::vector<uint32_t> Pack(const std::vector<uint64_t>& codes) const {
    std::vector<uint32_t> out(static_cast<size_t>(words()));
    std::vector<uint64_t> slots(static_cast<size_t>(bits_.count()));
    std::vector<uint32_t> packed(static_cast<size_t>(bits_.words()));
    for (int64_t t = 0; t < tiles_ * tile_.threads(); ++t) {
      const int64_t number = t / tile_.threads(), thread = t % tile_.threads();
      for (size_t s = 0; s < slots.size(); ++s) {
        int64_t at[2];
        tile_.Element(thread, static_cast<int64_t>(s), at);
        const int64_t i = number / across_ * tile_.shape()[0] + at[0];
        const int64_t j = number % across_ * tile_.shape()[1] + at[1];
        const bool there = i < shape_[0] && j < shape_[1];
        slots[s] = there ? codes[static_cast<size_t>(i * shape_[1] + j)] : 0;
      }
      bits_.Pack(slots, packed);
      for (size_t v = 0; v < packed.size(); ++v) {
        const int64_t word = number * tile_words_ + Word(thread, static_cast<int64_t>(v));
        out[static_cast<size_t>(word)] = packed[v];
      }
    }
    return out;
  }

  const RegLayout& tile_;
  const BitLayout& bits_;
  const Ints& shape_;
  const int64_t tile_words_;
  int64_t across_ = 0;
  int64_t tiles_ = 0;
};

void CheckType(DType type, const char* tile_text, const std::vector<Ints>& shapes) {
  const RegLayout tile = Reg(tile_text);
  for (const char* const bits_text : {"contiguous", "lanes(f16)", "lanes(bf16)"}) {
    const auto bits = Eval<BitLayoutFamily>(bits_text).Apply(type, tile.slots());
    if (!bits.ok()) {
      EXPECT_TRUE(tile.slots() % 32 != 0 || type.exponent > 5) << DTypeName(type);
      continue;
    }
    for (const Ints& shape : shapes) {
      SCOPED_TRACE(std::string(tile_text) + " " + ToString(*bits) + " " + ToString(shape));
      const auto layout = MemLayout::Packed(tile, *bits, shape);
      ASSERT_TRUE(layout.ok());
      const PackedTensor tensor(tile, *bits, shape);
      tensor.ExpectPlaces(*layout);
      tensor.ExpectRoundTrip(*layout);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

// The tile of the left fragment turned, of 32 threads, and four of them, of 128.
constexpr const char* kTile32 = "permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0])";
constexpr const char* kTile128 =
    "spatial(2, 2) * permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0])";

TEST(PackedLayoutTest, EveryTypeInTilesOf32And128Threads) {
  int types = 0;
  for (const DTypeRow& row : AllDTypes()) {
    if (row.type.bits > 8 || !(row.type.IsInteger() || row.type.IsFloat())) continue;
    ++types;
    CheckType(row.type, kTile32, {Ints{70, 33}});
    CheckType(row.type, kTile128, {Ints{130, 35}});
  }
  EXPECT_EQ(types, 50);
}

TEST(PackedLayoutTest, EveryWidthInManyTilesAndShapes) {
  const std::vector<Ints> shapes = {Ints{64, 16}, Ints{5, 3}, Ints{70, 33}, Ints{0, 9}};
  for (const DType type : {kU1, kU2, kI3, kU4, kI5, kF6E3M2, kU7, kF8E4M3}) {
    // 64x16, 16x16 and 8x192 elements, slots that fit lanes or not.
    for (const char* const tile :
         {kTile32, "spatial(2, 1) * mma.m8n8k16.u8.a", "spatial(8, 8) * local(1, 24)"}) {
      CheckType(type, tile, shapes);
    }
  }
}

}  // namespace
}  // namespace tarsia::packed_layout_test
