// Conflicts and the best swizzle, against a simulation of the banks in this file.
#include "layout/swizzle_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "layout/access.h"
#include "layout/diagnostics.h"
#include "tests/unit/layout/layout_testing.h"

namespace tarsia::swizzle_search_test {
namespace {

using testing::Ints;
using testing::Memory;
using testing::RandomModel;
using testing::Reg;
using testing::Seed;

// The addresses in bytes that each lane of each warp reads in each of its accesses of `bytes`.
using Accesses = std::vector<std::vector<int64_t>>;
Accesses Simulate(const RegLayout& tile, const MemLayout& memory, int bits, int bytes) {
  Accesses out;
  const int64_t units = tile.slots() * bits / 8 / bytes;
  for (int64_t warp = 0; warp * 32 < tile.threads(); ++warp) {
    for (int64_t unit = 0; unit < units; ++unit) {
      std::vector<int64_t>& lanes = out.emplace_back();
      for (int64_t t = warp * 32; t < std::min(tile.threads(), warp * 32 + 32); ++t) {
        Ints index(static_cast<size_t>(tile.rank()));
        tile.Element(t, unit * bytes * 8 / bits, index);
        lanes.push_back(static_cast<int64_t>(memory.BitAddress(index, bits, 0) / 8));
      }
    }
  }
  return out;
}

// Cycle by cycle: in each, every bank delivers one word to all lanes of the phase that need it.
int64_t Cycles(const std::vector<int64_t>& lanes, int bytes) {
  const size_t phase = bytes == 16 ? 8 : bytes == 8 ? 16 : 32;
  int64_t out = 0;
  for (size_t first = 0; first < lanes.size(); first += phase) {
    std::map<int64_t, std::set<int64_t>> waiting;  // bank -> words
    for (size_t lane = first; lane < std::min(first + phase, lanes.size()); ++lane) {
      for (int64_t byte = lanes[lane]; byte < lanes[lane] + bytes; ++byte) {
        waiting[byte / 4 % 32].insert(byte / 4);
      }
    }
    while (!waiting.empty()) {
      ++out;
      for (auto bank = waiting.begin(); bank != waiting.end();) {
        bank->second.erase(bank->second.begin());
        bank = bank->second.empty() ? waiting.erase(bank) : std::next(bank);
      }
    }
  }
  return out;
}

int64_t Sectors(const std::vector<int64_t>& lanes, int bytes, int64_t* ideal) {
  std::set<int64_t> sectors, touched;
  for (const int64_t address : lanes) {
    for (int64_t byte = address; byte < address + bytes; ++byte) {
      sectors.insert(byte / 32);
      touched.insert(byte);
    }
  }
  *ideal += (static_cast<int64_t>(touched.size()) + 31) / 32;
  return static_cast<int64_t>(sectors.size());
}

TEST(SwizzleSearchTest, WavefrontsAndSectorsAgreeWithTheSimulation) {
  SCOPED_TRACE(Seed());
  std::mt19937_64 random(Seed() + 40);
  const char* const forms[] = {"row_major(64, 64)", "column_major(64, 64)",
                               "strided(shape=[64, 64], strides=[72, 1])",
                               "swizzle(row_major(64, 64), 4, 3, 3)"};
  int conflicts = 0;
  for (int round = 0; round < 500; ++round) {
    const RegLayout tile = *Product(RandomModel(random, 2, 3).Make(), Reg("local(1, 2)"));
    if (tile.shape()[0] > 64 || tile.shape()[1] > 64) continue;
    const MemLayout memory = *Memory(forms[random() % 4]).Slice(Ints{0, 0}, tile.shape());
    const int bits = round % 2 == 0 ? 16 : 32;
    const auto access = TileAccess::Make(tile, memory, bits);
    ASSERT_TRUE(access.ok());
    const int bytes = access->WidestVector();
    ASSERT_GT(bytes, 0);
    TileAccess::Cost shared, global;
    for (const auto& lanes : Simulate(tile, memory, bits, bytes)) {
      std::set<int64_t> words;
      for (const int64_t address : lanes) {
        for (int64_t byte = address; byte < address + bytes; ++byte) words.insert(byte / 4);
      }
      ++shared.accesses;
      shared.actual += Cycles(lanes, bytes);
      shared.ideal += (static_cast<int64_t>(words.size()) + 31) / 32;
      ++global.accesses;
      global.actual += Sectors(lanes, bytes, &global.ideal);
    }
    ASSERT_EQ(access->SharedWavefronts(bytes), shared) << ToString(tile) << ToString(memory);
    ASSERT_EQ(access->GlobalSectors(bytes), global) << ToString(tile) << ToString(memory);
    if (shared.actual > shared.ideal) ++conflicts;
  }
  EXPECT_GT(conflicts, 30);
}

TEST(SwizzleSearchTest, TheUsualSwizzleForRowsOf128Bytes) {
  // Stored row by row, read as matrices by rows and by columns.
  const MemLayout memory = Memory("row_major(64, 64)");
  const SharedAccess store{Reg("spatial(16, 8) * local(1, 8)")};
  SharedAccess rows{Reg("local(4, 4) * mma.m16n8k16.f16.a")};
  const SharedAccess accesses[] = {{Product(Reg("local(4, 1)"), store.tile).value()}, rows};
  const auto choice = BestSwizzle(memory, 16, accesses);
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  ASSERT_TRUE(choice->swizzle.has_value());
  EXPECT_EQ(*choice->swizzle, (Swizzle{4, 3, 3}));
  EXPECT_EQ(choice->wavefronts, choice->ideal);
  // 64 matrices of 8 rows in one bank group, and 16 stores of 4 wavefronts.
  EXPECT_EQ(choice->before, 64 * 8 + 16 * 4);
}

TEST(SwizzleSearchTest, NoneWhereNoneIsNeeded) {
  const SharedAccess rows{Reg("spatial(8, 4) * local(1, 8)")};
  const auto choice = BestSwizzle(Memory("row_major(8, 32)"), 16, {&rows, 1});
  ASSERT_TRUE(choice.ok());
  EXPECT_FALSE(choice->swizzle.has_value());
  EXPECT_EQ(choice->before, choice->wavefronts);
}

// The best of all swizzles of chunks, found by making the memory layout for each.
TEST(SwizzleSearchTest, IsTheBestOfAll) {
  SCOPED_TRACE(Seed());
  std::mt19937_64 random(Seed() + 41);
  int found = 0;
  for (int round = 0; round < 12; ++round) {
    const int64_t columns = int64_t{16} << random() % 3;
    const MemLayout memory = *MemLayout::RowMajor(Ints{32, columns});
    std::vector<SharedAccess> accesses;
    for (const char* const text :
         {"spatial(32, 1) * local(1, 8)", "spatial(8, 4) * local(4, 2)",
          "spatial(16, 2) * local(1, 4)", "column_spatial(16, 2) * local(2, 8)"}) {
      if (random() % 2 == 0 || accesses.empty()) {
        accesses.push_back({Reg(text), {}, 1 + static_cast<int64_t>(random() % 3), false});
      }
    }
    const auto cost = [&](const MemLayout& laid) {
      int64_t out = 0;
      for (const SharedAccess& access : accesses) {
        const MemLayout part = *laid.Slice(Ints{0, 0}, access.tile.shape());
        const int bytes = TileAccess::Make(access.tile, part, 16)->WidestVector();
        for (const auto& lanes : Simulate(access.tile, part, 16, bytes)) {
          out += access.weight * Cycles(lanes, bytes);
        }
      }
      return out;
    };
    int64_t best = cost(memory);
    const int64_t before = best;
    for (int base = 4; base <= 6; ++base) {
      for (int bits = 1; base + bits <= 7; ++bits) {
        for (int shift = 1; shift <= 12; ++shift) {
          best = std::min(best, cost(*memory.WithSwizzle({base, bits, shift})));
        }
      }
    }
    const auto choice = BestSwizzle(memory, 16, accesses);
    ASSERT_TRUE(choice.ok()) << choice.error().message;
    EXPECT_EQ(choice->before, before);
    EXPECT_EQ(choice->wavefronts, best);
    EXPECT_EQ(choice->swizzle.has_value(), best < before);
    if (choice->swizzle) {
      EXPECT_EQ(cost(*memory.WithSwizzle(*choice->swizzle)), best);
      ++found;
    }
  }
  EXPECT_GT(found, 3);
}

TEST(SwizzleSearchTest, MatricesOfLdmatrix) {
  const MemLayout plain = *Memory("row_major(16, 64)").Slice(Ints{0, 0}, Ints{16, 16});
  const auto access = TileAccess::Make(Reg("mma.m16n8k16.f16.a"), plain, 16);
  ASSERT_TRUE(access.ok());
  // Four matrices, each of eight rows of 16 bytes that are 128 bytes apart: the same four banks.
  EXPECT_EQ(access->LdMatrixWavefronts(TileAccess::LdMatrix::kPlain), (TileAccess::Cost{4, 32, 4}));
  EXPECT_EQ(access->MatrixRows(TileAccess::LdMatrix::kPlain, 0, 0),
            (std::vector<uint64_t>{0, 128, 256, 384, 512, 640, 768, 896}));
  // Register 2 of a is columns 8 to 15 of the first eight rows.
  EXPECT_EQ(access->MatrixRows(TileAccess::LdMatrix::kPlain, 0, 2)[1], 144u);
  // b read from rows of k: transposed.
  const MemLayout b = *Memory("row_major(16, 64)").Slice(Ints{0, 0}, Ints{16, 8});
  const auto turned = TileAccess::Make(Reg("mma.m16n8k16.f16.b"), b, 16);
  ASSERT_EQ(turned->LdMatrixShape(), TileAccess::LdMatrix::kTransposed);
  EXPECT_EQ(turned->MatrixRows(TileAccess::LdMatrix::kTransposed, 0, 1),
            (std::vector<uint64_t>{1024, 1152, 1280, 1408, 1536, 1664, 1792, 1920}));
}

TEST(SwizzleSearchTest, Refusals) {
  const SharedAccess access{Reg("spatial(4)")};
  EXPECT_EQ(BestSwizzle(Memory("column_major(4)"), 3, {&access, 1}).error().info,
            &diag::kAccessNoBytes);
  const SharedAccess large{Reg("spatial(1048576)")};
  EXPECT_EQ(BestSwizzle(Memory("row_major(1048576)"), 8, {&large, 1}).error().info,
            &diag::kLayoutTooLarge);
  EXPECT_EQ(BestSwizzle(Memory("row_major(3)"), 16, {&access, 1}).error().info,
            &diag::kLayoutSlice);
}

}  // namespace
}  // namespace tarsia::swizzle_search_test
