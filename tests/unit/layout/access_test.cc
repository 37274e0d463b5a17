// The cost of accesses, each case counted by hand.
#include "layout/access.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "layout/diagnostics.h"
#include "tests/unit/layout/layout_testing.h"

namespace tarsia::access_test {
namespace {

using testing::Eval;
using testing::Ints;
using testing::Memory;
using testing::Reg;

TileAccess Make(const RegLayout& tile, const MemLayout& memory, int width,
                const BitLayout* bits = nullptr) {
  const Result<TileAccess> out = TileAccess::Make(tile, memory, width, bits);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message);
  return *out;
}

TEST(AccessTest, WidestVector) {
  const RegLayout row8 = Reg("spatial(16, 8) * local(1, 8)");
  EXPECT_EQ(Make(row8, Memory("row_major(16, 64)"), 16).WidestVector(), 16);
  EXPECT_EQ(Make(row8, Memory("row_major(16, 64)"), 32).WidestVector(), 16);
  EXPECT_EQ(Make(row8, Memory("row_major(16, 64)"), 8).WidestVector(), 8);
  EXPECT_EQ(Make(row8, Memory("row_major(16, 64)"), 4).WidestVector(), 4);
  EXPECT_EQ(Make(row8, Memory("row_major(16, 64)"), 3).WidestVector(), 1);  // 24 bits a thread
  EXPECT_EQ(Make(row8, Memory("row_major(16, 64)"), 16).WidestVector(4), 4);
  EXPECT_EQ(Make(row8, Memory("column_major(16, 64)"), 16).WidestVector(), 2);
  EXPECT_EQ(Make(row8, Memory("column_major(16, 64)"), 4).WidestVector(), 0);
  EXPECT_EQ(Make(row8, Memory("column_major(16, 64)"), 64).WidestVector(), 8);
  EXPECT_EQ(Make(row8, Memory("strided(shape=[16, 64], strides=[66, 1])"), 16).WidestVector(), 4);
  EXPECT_EQ(Make(row8, Memory("swizzle(row_major(16, 64), 4, 3, 3)"), 16).WidestVector(), 16);
  const MemLayout shifted = *Memory("row_major(16, 72)").Slice(Ints{0, 4}, Ints{16, 64});
  EXPECT_EQ(Make(row8, shifted, 16).WidestVector(), 8);
  // A slot order against the memory order cannot be vectorised.
  EXPECT_EQ(Make(Reg("column_local(2, 2)"), Memory("row_major(2, 2)"), 16).WidestVector(), 2);
}

TEST(AccessTest, PackedTilesAreReadInPieces) {
  const RegLayout tile = Reg("permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0])");
  const auto family = Eval<MemLayoutFamily>(
      "packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))");
  const int expected[] = {4, 8, 4, 16, 4, 8, 4, 16};  // 1, 2, 2+1, 4, 4+1, 4+2, 4+2+1, 8 words
  const DType types[] = {kU1, kU2, kU3, kU4, kU5, kU6, kU7, kU8};
  for (int width = 1; width <= 8; ++width) {
    const DType type = types[width - 1];
    const MemLayout memory = *Apply(family, tile.shape(), type);
    const BitLayout bits = *BitLayout::Lanes(type, 32, kF16);
    const TileAccess access = Make(tile, memory, width, &bits);
    EXPECT_EQ(access.WidestVector(), expected[width - 1]) << width;
    if (width == 4) {
      // One access, 512 contiguous bytes.
      EXPECT_EQ(access.GlobalSectors(16), (TileAccess::Cost{1, 16, 16}));
    }
  }
}

TEST(AccessTest, BankConflictsByHand) {
  // A column of f32 at a stride of 32 words: one bank. Of 33: all banks.
  const RegLayout column = Reg("spatial(32, 1)");
  const auto wavefronts = [&](const char* memory, int width) {
    const MemLayout whole = Memory(memory);
    const MemLayout part = *whole.Slice(Ints{0, 0}, Ints{32, 1});
    return Make(column, part, width).SharedWavefronts(width / 8);
  };
  EXPECT_EQ(wavefronts("row_major(32, 32)", 32), (TileAccess::Cost{1, 32, 1}));
  EXPECT_EQ(wavefronts("row_major(32, 33)", 32), (TileAccess::Cost{1, 1, 1}));
  EXPECT_EQ(wavefronts("row_major(32, 2)", 32), (TileAccess::Cost{1, 2, 1}));
  // f16 at a stride of 64 elements is one bank again; neighbours in one word do not conflict.
  EXPECT_EQ(wavefronts("row_major(32, 64)", 16), (TileAccess::Cost{1, 32, 1}));
  EXPECT_EQ(wavefronts("column_major(32, 64)", 16), (TileAccess::Cost{1, 1, 1}));
  // f64 rows of 32 banks: two phases of 16 threads, each 16 words deep.
  EXPECT_EQ(wavefronts("row_major(32, 16)", 64), (TileAccess::Cost{1, 32, 2}));
  // All threads at one word: a broadcast.
  EXPECT_EQ(WavefrontsOf(std::vector<uint64_t>(32, 64), 4), 1);
}

// The most distinct words of a bank, in the phases in which the lanes of a warp access shared
// memory.
int64_t WavefrontsByBank(const std::vector<uint64_t>& addresses, int bytes) {
  const size_t lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  int64_t out = 0;
  for (size_t first = 0; first < addresses.size(); first += lanes) {
    std::map<uint64_t, std::set<uint64_t>> words_of_bank;
    for (size_t i = first; i < std::min(first + lanes, addresses.size()); ++i) {
      for (uint64_t byte = addresses[i]; byte < addresses[i] + static_cast<uint64_t>(bytes);
           ++byte) {
        words_of_bank[byte / 4 % 32].insert(byte / 4);
      }
    }
    size_t most = 0;
    for (const auto& [bank, words] : words_of_bank) most = std::max(most, words.size());
    out += static_cast<int64_t>(most);
  }
  return out;
}

TEST(AccessTest, WavefrontsOfRandomAddresses) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 3000; ++round) {
    const int bytes = 1 << random() % 5;
    const uint64_t unit = random() % 4 == 0 ? 1 : static_cast<uint64_t>(bytes);  // some unaligned
    const uint64_t range = uint64_t{1} << (4 + random() % 8);
    std::vector<uint64_t> addresses(1 + random() % 32);
    for (uint64_t& address : addresses) address = random() % range * unit;
    ASSERT_EQ(WavefrontsOf(addresses, bytes), WavefrontsByBank(addresses, bytes))
        << bytes << " bytes, round " << round;
  }
}

TEST(AccessTest, SwizzlingRemovesTheConflictsOfRowsOf128Bytes) {
  // 32 rows of 64 f16; each thread reads 16 bytes at the head of its row: every phase of eight
  // threads hits four banks eight times over.
  const RegLayout heads = Reg("spatial(32, 1) * local(1, 8)");
  const MemLayout plain = *Memory("row_major(32, 64)").Slice(Ints{0, 0}, Ints{32, 8});
  const MemLayout swizzled =
      *Memory("swizzle(row_major(32, 64), 4, 3, 3)").Slice(Ints{0, 0}, Ints{32, 8});
  EXPECT_EQ(Make(heads, plain, 16).SharedWavefronts(16), (TileAccess::Cost{1, 32, 4}));
  EXPECT_EQ(Make(heads, swizzled, 16).SharedWavefronts(16), (TileAccess::Cost{1, 4, 4}));
}

TEST(AccessTest, GlobalSectorsByHand) {
  const RegLayout row = Reg("spatial(32)");
  const auto sectors = [&](const MemLayout& memory) {
    return Make(row, memory, 32).GlobalSectors(4);
  };
  EXPECT_EQ(sectors(Memory("row_major(32)")), (TileAccess::Cost{1, 4, 4}));
  EXPECT_EQ(sectors(Memory("strided(shape=[32], strides=[2])")), (TileAccess::Cost{1, 8, 4}));
  EXPECT_EQ(sectors(Memory("strided(shape=[32], strides=[100])")), (TileAccess::Cost{1, 32, 4}));
  EXPECT_EQ(sectors(*Memory("row_major(40)").Slice(Ints{1}, Ints{32})),
            (TileAccess::Cost{1, 5, 4}));
  EXPECT_EQ(SectorsOf(std::vector<uint64_t>{30}, 4), 2);
}

TEST(AccessTest, LdMatrix) {
  using LdMatrix = TileAccess::LdMatrix;
  const auto shape = [](const char* tile, const char* memory, int width) {
    return Make(Reg(tile), Memory(memory), width).LdMatrixShape();
  };
  EXPECT_EQ(shape("mma.m16n8k16.f16.a", "row_major(16, 16)", 16), LdMatrix::kPlain);
  EXPECT_EQ(shape("mma.m16n8k16.f16.a", "swizzle(row_major(16, 16), 4, 1, 3)", 16),
            LdMatrix::kPlain);
  EXPECT_EQ(shape("mma.m16n8k16.f16.a", "column_major(16, 16)", 16), LdMatrix::kTransposed);
  EXPECT_EQ(shape("mma.m16n8k16.f16.b", "row_major(16, 8)", 16), LdMatrix::kTransposed);
  EXPECT_EQ(shape("mma.m16n8k16.f16.b", "column_major(16, 8)", 16), LdMatrix::kPlain);
  EXPECT_EQ(shape("mma.m16n8k32.u8.a", "row_major(16, 32)", 8), LdMatrix::kPlain);
  EXPECT_EQ(shape("mma.m16n8k32.u8.a", "column_major(16, 32)", 8), LdMatrix::kNo);
  EXPECT_EQ(shape("mma.m16n8k8.tf32.a", "row_major(16, 8)", 32), LdMatrix::kPlain);
  EXPECT_EQ(shape("mma.m16n8k16.f16.a", "strided(shape=[16, 16], strides=[20, 1])", 16),
            LdMatrix::kNo);  // rows of 40 bytes
  EXPECT_EQ(shape("spatial(32) * local(2)", "row_major(64)", 16), LdMatrix::kPlain);
  EXPECT_EQ(shape("spatial(16)", "row_major(16)", 16), LdMatrix::kNo);
}

TEST(AccessTest, Refusals) {
  EXPECT_EQ(TileAccess::Make(Reg("local(4)"), Memory("row_major(5)"), 8).error().info,
            &diag::kAccessShape);
  EXPECT_EQ(TileAccess::Make(Reg("local(4)"), Memory("row_major(4)"), 65).error().info,
            &diag::kAccessWidth);
  const BitLayout bits = *BitLayout::Contiguous(kU4, 3);
  EXPECT_EQ(TileAccess::Make(Reg("local(4)"), Memory("row_major(4)"), 4, &bits).error().info,
            &diag::kAccessBits);
}

}  // namespace
}  // namespace tarsia::access_test
