// The widest access with partial knowledge, against every place that the facts allow.
#include "layout/vector_access.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "layout/diagnostics.h"
#include "tests/unit/layout/layout_testing.h"

namespace tarsia::vector_access_test {
namespace {

using testing::Ints;
using testing::Memory;
using testing::RandomModel;
using testing::Reg;
using testing::Seed;

int Widest(const char* tile, const char* tensor, int bits, const AddressFacts& facts = {}) {
  const auto out = WidestAccess(Reg(tile), Memory(tensor), bits, facts);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message);
  return out.ok() ? *out : -1;
}

TEST(VectorAccessTest, ByHand) {
  const char* const tile = "spatial(16, 8) * local(1, 8)";
  EXPECT_EQ(Widest(tile, "row_major(16, 64)", 16), 16);
  // Only the pointer.
  EXPECT_EQ(Widest(tile, "row_major(16, 64)", 16, {.pointer_alignment = 8}), 8);
  EXPECT_EQ(Widest(tile, "row_major(16, 64)", 16, {.pointer_alignment = 24}), 8);
  EXPECT_EQ(Widest(tile, "row_major(16, 64)", 16, {.pointer_alignment = 1}), 1);
  // The tile anywhere in a larger tensor, at multiples of its own shape or of less.
  EXPECT_EQ(Widest(tile, "row_major(64, 256)", 16, {.index_multiples = {16, 64}}), 16);
  EXPECT_EQ(Widest(tile, "row_major(64, 256)", 16, {.index_multiples = {1, 4}}), 8);
  EXPECT_EQ(Widest(tile, "row_major(64, 256)", 16, {.index_multiples = {1, 1}}), 2);
  EXPECT_EQ(Widest(tile, "row_major(64, 252)", 16, {.index_multiples = {1, 8}}), 8);
  // The only other place is the last one.
  EXPECT_EQ(
      Widest(tile, "strided(shape=[16, 68], strides=[72, 1])", 16, {.index_multiples = {0, 4}}), 8);
  // u4: at odd columns a code begins within a byte.
  EXPECT_EQ(Widest(tile, "row_major(64, 256)", 4, {.index_multiples = {1, 1}}), 0);
  EXPECT_EQ(Widest(tile, "row_major(64, 256)", 4, {.index_multiples = {1, 2}}), 1);
  // Rows of a length that is known to be a multiple of 4 elements.
  EXPECT_EQ(Widest(tile, "row_major(16, 64)", 16, {.stride_multiples = {4, 0}}), 8);
  EXPECT_EQ(Widest(tile, "row_major(16, 64)", 16, {.stride_multiples = {1, 0}}), 2);
  EXPECT_EQ(Widest(tile, "row_major(16, 64)", 16, {.stride_multiples = {8, 0}}), 16);
  // An open stride along the vectors leaves single elements.
  EXPECT_EQ(Widest(tile, "row_major(16, 64)", 16, {.stride_multiples = {0, 1}}), 2);
  // Swizzles keep 16 bytes together.
  EXPECT_EQ(Widest(tile, "swizzle(row_major(64, 64), 4, 3, 3)", 16, {.index_multiples = {16, 0}}),
            16);
}

// Whether units of `bytes` are whole and aligned when the tile begins at `begin`.
bool Fits(const RegLayout& tile, const MemLayout& tensor, int bits, const Ints& begin, int bytes,
          int64_t pointer) {
  if (tile.slots() * bits % (bytes * 8) != 0) return false;
  Ints index(begin.size());
  for (int64_t thread = 0; thread < tile.threads(); ++thread) {
    uint64_t head = 0;
    for (int64_t bit = 0; bit < tile.slots() * bits; ++bit) {
      tile.Element(thread, bit / bits, index);
      for (size_t d = 0; d < begin.size(); ++d) index[d] += begin[d];
      const uint64_t at = tensor.BitAddress(index, bits, static_cast<int>(bit % bits)) +
                          static_cast<uint64_t>(pointer) * 8;
      const int64_t in_unit = bit % (bytes * 8);
      if (in_unit == 0) head = at;
      if (head % static_cast<uint64_t>(bytes * 8) != 0) return false;
      if (at != head + static_cast<uint64_t>(in_unit)) return false;
    }
  }
  return true;
}

// Random tiles in random tensors: the result is legal at every place, and twice as much is not.
TEST(VectorAccessTest, AgreesWithEveryPlace) {
  SCOPED_TRACE(Seed());
  std::mt19937_64 random(Seed() + 30);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  const char* const tensors[] = {"row_major(24, 32)",
                                 "column_major(24, 32)",
                                 "strided(shape=[24, 32], strides=[36, 1])",
                                 "strided(shape=[24, 32], modes=[24, 4, 8], strides=[8, 192, 1])",
                                 "strided(shape=[24, 32], modes=[3, 8, 32], strides=[256, 1, 8])",
                                 "swizzle(row_major(24, 32), 4, 2, 2)"};
  const int widths[] = {4, 8, 16, 32};
  int wide = 0;
  for (int round = 0; round < 400; ++round) {
    const RegLayout tile = RandomModel(random, 2, 2).Make();
    const MemLayout tensor = Memory(tensors[below(6)]);
    if (tile.shape()[0] > 24 || tile.shape()[1] > 32) continue;
    const int bits = widths[below(4)];
    AddressFacts facts;
    facts.pointer_alignment = int64_t{1} << below(6);
    facts.index_multiples = {below(9), int64_t{1} << below(5)};
    const auto widest = WidestAccess(tile, tensor, bits, facts);
    ASSERT_TRUE(widest.ok()) << widest.error().message;
    const auto legal = [&](int bytes) {
      const int64_t row_step = std::max<int64_t>(facts.index_multiples[0], 1);
      const int64_t rows = facts.index_multiples[0] == 0 ? 0 : 24 - tile.shape()[0];
      for (int64_t i = 0; i <= rows; i += row_step) {
        for (int64_t j = 0; j <= 32 - tile.shape()[1]; j += facts.index_multiples[1]) {
          if (!Fits(tile, tensor, bits, {i, j}, bytes, facts.pointer_alignment)) return false;
        }
      }
      return true;
    };
    int expected = 16;
    while (expected > 0 && !legal(expected)) expected /= 2;
    ASSERT_EQ(*widest, expected) << ToString(tile) << " in " << ToString(tensor) << ", " << bits
                                 << " bits, pointer " << facts.pointer_alignment << ", multiples "
                                 << ToString(facts.index_multiples);
    if (expected > 1) ++wide;
  }
  EXPECT_GT(wide, 30);
}

TEST(VectorAccessTest, PackedTensors) {
  const auto family =
      testing::Eval<MemLayoutFamily>("packed(spatial(4, 8) * local(4, 8), contiguous)");
  const MemLayout tensor = *Apply(family, Ints{64, 128}, kU4);
  const RegLayout tile = Reg("spatial(4, 8) * local(4, 8)");
  const auto widest = [&](const Ints& multiples) {
    return *WidestAccess(tile, tensor, 4, {.index_multiples = multiples});
  };
  EXPECT_EQ(widest({16, 64}), 16);  // whole packed tiles
  EXPECT_EQ(widest({4, 64}), 16);   // whole blocks of other threads
  EXPECT_EQ(widest({2, 64}), 8);    // halves of two blocks
  EXPECT_EQ(widest({1, 64}), 4);    // rows of eight codes
}

TEST(VectorAccessTest, Refusals) {
  const auto error = [](const char* tile, const char* tensor, const AddressFacts& facts) {
    return WidestAccess(Reg(tile), Memory(tensor), 16, facts).error().info;
  };
  EXPECT_EQ(error("local(4)", "row_major(4, 4)", {}), &diag::kAccessShape);
  EXPECT_EQ(error("local(4)", "row_major(8)", {.index_multiples = {1, 2}}), &diag::kAccessFacts);
  EXPECT_EQ(error("local(4)", "row_major(8)", {.index_multiples = {-1}}), &diag::kLayoutExtent);
  EXPECT_EQ(error("local(4)", "row_major(8)", {.pointer_alignment = 0}), &diag::kLayoutExtent);
  EXPECT_EQ(error("local(4)", "strided(shape=[8], modes=[2, 4], strides=[1, 2])",
                  {.stride_multiples = {4}}),
            &diag::kAccessOpenStride);
  EXPECT_EQ(error("local(4)", "row_major(2)", {}), &diag::kLayoutSlice);
  EXPECT_EQ(error("local(4)", "strided(shape=[1048576], modes=[2, 524288], strides=[1, 2])",
                  {.index_multiples = {1}}),
            &diag::kLayoutTooLarge);
}

}  // namespace
}  // namespace tarsia::vector_access_test
