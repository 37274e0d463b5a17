// What instructions count as work, and the published formula.
#include "compiler/cost/cost.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/data/test_data.h"

namespace tarsia::compiler::cost_test {
namespace {

constexpr int64_t kRowsAxis[] = {0};
constexpr int64_t kColumnsAxis[] = {1};

// A layout of a 32 x 32 tile: `lanes` of the rows, the other lanes along the columns.
TileLayout Tile(std::vector<int64_t> modes, std::vector<int64_t> spatial,
                std::vector<int64_t> local) {
  const Extents shape = {32, 32};
  return TileLayout::Exact(*RegLayout::Make(shape, modes, spatial, local));
}
// A row a thread, and a column a thread.
TileLayout ByRow() { return Tile({32, 32}, {0}, {1}); }
TileLayout ByColumn() { return Tile({32, 32}, {1}, {0}); }

AccessedMemory RowMajor(DType type, Space space) {
  AccessedMemory out;
  out.type = type;
  out.space = space;
  out.strides = {32, 1};
  out.is_load = true;
  out.fast = 1;
  out.begins = {0, 0};
  out.extents = {32, 32};
  return out;
}

TEST(Cost, OfAnAccessCountsWhatAWarpMoves) {
  // Rows of 128 bytes: each of the 8 accesses of 16 bytes touches 32 sectors.
  const Work rows = AccessWork(RowMajor(kF32, Space::kGlobal), ByRow());
  EXPECT_EQ(rows.issued, 8);
  EXPECT_EQ(rows.global_sectors, 8 * 32);
  const Work columns = AccessWork(RowMajor(kF32, Space::kGlobal), ByColumn());
  EXPECT_EQ(columns.issued, 32);
  EXPECT_EQ(columns.global_sectors, 128);
  // In shared memory the 8 lanes of a phase meet in the same banks.
  EXPECT_EQ(AccessWork(RowMajor(kF32, Space::kShared), ByRow()).shared_wavefronts, 8 * 32);
  EXPECT_EQ(AccessWork(RowMajor(kF32, Space::kShared), ByColumn()).shared_wavefronts, 32);
}

// Of 128 bytes each, 132 bytes apart: only the first one begins with a sector.
TEST(Cost, OfAnAccessCountsTheSectorsOfEachRow) {
  const Extents shape = {4, 32}, modes = {4, 32}, spatial = {1}, local = {0};
  const TileLayout layout = TileLayout::Exact(*RegLayout::Make(shape, modes, spatial, local));
  AccessedMemory memory = RowMajor(kF32, Space::kGlobal);
  memory.strides = {33, 1};
  EXPECT_EQ(AccessWork(memory, layout).global_sectors, 4 + 3 * 5);
}

// Eight rows, each in four neighbouring lanes: only one of the four stores.
TEST(Cost, OfAStoreCountsFirstHolders) {
  const Extents shape = {8, 4}, modes = {8, 4}, spatial = {0, ~4}, local = {1};
  const TileLayout layout = TileLayout::Exact(*RegLayout::Make(shape, modes, spatial, local));
  AccessedMemory memory = RowMajor(kF32, Space::kShared);
  memory.strides = {4, 1};
  EXPECT_EQ(AccessWork(memory, layout).shared_wavefronts, 4);
  memory.is_load = false;  // two of 16 bytes in each of the four phases
  EXPECT_EQ(AccessWork(memory, layout).shared_wavefronts, 4);
  const Extents outer = {~4, 0};
  const TileLayout above = TileLayout::Exact(*RegLayout::Make(shape, modes, outer, local));
  EXPECT_EQ(AccessWork(memory, above).shared_wavefronts, 1);  // all in the first phase
}

TEST(Cost, OfAReductionCountsItsExchanges) {
  const Work in_thread = ReductionWork(Opcode::kReduceSum, kF32, ByRow(), kColumnsAxis, {1, 1, 1});
  EXPECT_EQ(in_thread.shuffles, 0);
  EXPECT_EQ(in_thread.arithmetic, 32);
  const Work across = ReductionWork(Opcode::kReduceSum, kF32, ByRow(), kRowsAxis, {32, 1, 1});
  EXPECT_EQ(across.shuffles, 5 * 32);
  EXPECT_EQ(across.arithmetic, 32 + 5 * 32);
  const Work pairs = ReductionWork(Opcode::kReduceSum, kF32, ByRow(), kRowsAxis, {32, 2, 2});
  EXPECT_EQ(pairs.shuffles, 2 * 5 * 32);
}

TEST(Cost, OfAReductionOverAWarpIsThatOfOneInstruction) {
  const auto work = [](Opcode reduce, DType type, int64_t words) {
    return ReductionWork(reduce, type, ByRow(), kRowsAxis, {32, words, words});
  };
  EXPECT_EQ(work(Opcode::kReduceSum, kI32, 1).warp_reductions, 32);
  EXPECT_EQ(work(Opcode::kReduceSum, kI32, 1).shuffles, 0);
  EXPECT_EQ(work(Opcode::kReduceArgmin, kF32, 2).warp_reductions, 2 * 32);
  EXPECT_EQ(work(Opcode::kReduceMax, kF16, 1).warp_reductions, 32);
  EXPECT_EQ(work(Opcode::kReduceMax, kF64, 2).warp_reductions, 0);
  EXPECT_EQ(work(Opcode::kReduceSum, kI64, 2).shuffles, 2 * 5 * 32);
}

TEST(Cost, OfAScanCountsItsLevels) {
  const Work in_thread = ScanWork(ByRow(), static_cast<int>(kColumnsAxis[0]), 1, false);
  EXPECT_EQ(in_thread.shuffles + in_thread.barriers, 0);
  EXPECT_EQ(in_thread.arithmetic, 32);
  // Each slot by itself: 5 steps, one more for what comes before an element.
  const auto lanes = static_cast<int>(kRowsAxis[0]);
  EXPECT_EQ(ScanWork(ByRow(), lanes, 1, false).shuffles, 5 * 32);
  EXPECT_EQ(ScanWork(ByRow(), lanes, 1, true).shuffles, 6 * 32);
  EXPECT_EQ(ScanWork(ByRow(), lanes, 2, false).shuffles, 2 * 5 * 32);
  // 8 slots, 32 lanes, then 4 warps: each reads the totals of the first three.
  const TileLayout warps =
      TileLayout::Exact(*Product(*RegLayout::Spatial(Extents{128}), *RegLayout::Local(Extents{8})));
  const Work across = ScanWork(warps, 0, 1, false);
  EXPECT_EQ(across.shuffles, 5 + 1 + 1);
  EXPECT_EQ(across.barriers, 2);
  EXPECT_EQ(across.shared_wavefronts, 1 + 3);
}

TEST(Cost, OfATopKCountsItsTurns) {
  // Each slot by itself: a turn for each that is found, of one word for f16 and two for f32.
  EXPECT_EQ(TopKWork(ByRow(), kF16, kRowsAxis[0], 8).warp_reductions, 8 * 32);
  EXPECT_EQ(TopKWork(ByRow(), kF32, kRowsAxis[0], 8).warp_reductions, 2 * 8 * 32);
  EXPECT_EQ(TopKWork(ByRow(), kF64, kRowsAxis[0], 8).warp_reductions, 3 * 8 * 32);
  const Work in_thread = TopKWork(ByRow(), kF16, kColumnsAxis[0], 8);
  EXPECT_EQ(in_thread.shuffles + in_thread.warp_reductions + in_thread.barriers, 0);
  // 4 warps find 8 each, in 8 turns; then each lane has one of those 32.
  const TileLayout warps =
      TileLayout::Exact(*Product(*RegLayout::Spatial(Extents{128}), *RegLayout::Local(Extents{8})));
  const Work across = TopKWork(warps, kF16, 0, 8);
  EXPECT_EQ(across.warp_reductions, 8 + 8);
  EXPECT_EQ(across.barriers, 2);
  EXPECT_EQ(across.shared_wavefronts, 8 + 1);
  EXPECT_EQ(TopKWork(warps, kF32, 0, 8).shared_wavefronts, 8 + 2);
  EXPECT_EQ(TopKWork(warps, kI64, 0, 8).shared_wavefronts, 2 * (8 + 2));
}

TEST(Cost, OfALookupFollowsItsWay) {
  EXPECT_EQ(LookupWork(kU4, kF16, ByRow()).arithmetic, 3 * 32);
  EXPECT_EQ(LookupWork(kU4, kF32, ByRow()).shuffles, 32);
  EXPECT_EQ(LookupWork(kU5, kF64, ByRow()).shuffles, 2 * 32);
  EXPECT_EQ(LookupWork(kU8, kF16, ByRow()).barriers, 2);
}

TEST(Cost, OfAConversionIsThatOfMovesOrOfSharedMemory) {
  EXPECT_EQ(ConversionWork(ByRow(), ByRow(), kF32, Target::kSm80), Work());
  const TileLayout turned = Tile({32, 4, 8}, {0}, {2, 1});
  const Work moves = ConversionWork(ByRow(), turned, kF32, Target::kSm80);
  EXPECT_EQ(moves.issued, 8);
  EXPECT_EQ(moves.barriers + moves.shared_wavefronts, 0);
  // One side moves 16 bytes a thread.
  const Work through = ConversionWork(ByRow(), ByColumn(), kF32, Target::kSm80);
  EXPECT_EQ(through.barriers, 2);
  EXPECT_EQ(through.issued, 8 + 32);
  EXPECT_EQ(through.shared_wavefronts, 32 + 32);
}

TEST(Cost, IsTheSumOfCountsTimesPrices) {
  Work work;
  work.issued = 3;
  work.global_sectors = 2;
  EXPECT_EQ(CyclesOf(work, Target::kSm80), 3 * 1 + 2 * 13);
  EXPECT_EQ(CyclesOf(2 * work + work, Target::kSm90a), 3 * (3 * 1 + 2 * 9));
}

TEST(Cost, HasASourceForEachPriceAndIsPublished) {
  const std::string docs = ReadTestFile(TestData("docs/compiler.md"));
  for (const CostPrice& row : CostPrices()) {
    EXPECT_GE(row.source.size(), 20U) << row.name;
    const std::string line = fmt::format("\n| `{}` | {} | {} | {} | {} |\n", row.name, row.what,
                                         row.price[0], row.price[1], row.price[2]);
    EXPECT_NE(docs.find(line), std::string::npos) << "docs/compiler.md lacks" << line;
  }
}

}  // namespace
}  // namespace tarsia::compiler::cost_test
