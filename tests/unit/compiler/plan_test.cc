// The places of shared tiles, and the layouts of tiles.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "compiler/compile.h"
#include "compiler/pass.h"
#include "compiler/passes/layout_report.h"
#include "compiler/plan_shared.h"
#include "compiler/tile_layout.h"
#include "tests/unit/compiler/programs.h"

namespace tarsia::compiler::plan_test {
namespace {

TEST(PlanShared, TilesThatAreNotLiveTogetherTakeTheSamePlace) {
  const auto program = ProgramAfter(MakeProgram(R"(
kernel k(%n: i32)
  warps 1
{
  %a = alloc.shared : u8 [100]
  %t = fill 1 : reg<u8>[1]
  if %n > 0 {
    %b = alloc.shared : u8 [1000]
    store %b[0], %t
  } else {
    %c = alloc.shared : u8 [10]
    %d = alloc.shared : f32 [3]
    %z = fill 0.0 : reg<f32>[1]
    store %d[0], %z
    store %c[0], %t
  }
  store %a[0], %t
  %e = alloc.shared : u8 [1]
  store %e[0], %t
}
)"),
                                    {}, LimitsOf(Target::kSm80));
  ASSERT_TRUE(program.ok());
  std::vector<int64_t> offsets;
  for (const ResolvedInst& inst : program->instructions()) {
    if (inst.row->Allocates() == Space::kShared) offsets.push_back(inst.at.value_or(-1));
  }
  EXPECT_EQ(offsets, (std::vector<int64_t>{0, 112, 112, 128, 0}));
  const auto plan = PlanShared(*program, Target::kSm80);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->tile_bytes, 1120u);
}

// Shared memory is exactly what tiles and exchanges need. Elements change warps, which no shuffle
// does.
TEST(PlanShared, ScratchIsWhatIsUsed) {
  constexpr uint64_t kPrint = 16;  // what `print` takes after the tiles
  struct Wanted {
    const char* body;
    uint64_t bytes;
  };
  const Wanted all[] = {
      // Nothing moves between threads: the transposition only renames dimensions.
      {R"(
  %g = view %p : global<f32>[64, 64]
  %t = load %g[0, 0] : [64, 64]
  %u = permute %t order [1, 0]
  %v = mul %u, 2.0
  %w = permute %v order [1, 0]
  store %g[0, 0], %w)",
       0},
      // A tile of 32 KiB goes through shared memory; 16 bytes follow each group of 4 rows but the
      // last, so that threads of different rows do not meet in banks.
      {R"(
  %t = iota : i64 [64, 64] spatial(16, 4) * local(4, 16)
  %u = convert_layout %t : [64, 64] column_spatial(16, 4) * local(4, 16)
  print "u", %u)",
       64 * 64 * 8 + 15 * 16 + kPrint},
      // One of 128 KiB does so in two rounds.
      {R"(
  %t = iota : i64 [128, 128] spatial(16, 4) * local(8, 32)
  %u = convert_layout %t : [128, 128] column_spatial(16, 4) * local(8, 32)
  print "u", %u)",
       72 * 1024},
      // After a swizzled tile of 1 KiB, which is at the start and still live; 16 bytes follow each
      // pair of rows but the last.
      {R"(
  %s = alloc.shared : shared<u8>[8, 128] swizzle(row_major(8, 128), 4, 3, 3)
  %t = iota : i64 [8, 8] spatial(8, 8)
  %u = convert_layout %t : [8, 8] column_spatial(8, 8)
  print "u", %u
  %z = fill 0 : reg<u8>[8, 128]
  store %s[0, 0], %z)",
       1024 + 8 * 8 * 8 + 3 * 16 + kPrint},
      // A value that one thread broadcasts to all.
      {R"(
  print "n", %n)",
       16},
  };
  for (const Wanted& wanted : all) {
    const Program program = MakeProgram("kernel k(%p: ptr<f32>, %n: i32)\n  warps 2\n{" +
                                        std::string(wanted.body) + "\n}\n");
    const auto kernel = Compile(program, Target::kSm80);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_EQ(kernel->shared_bytes, wanted.bytes) << wanted.body;
  }
}

// Every element has a holder, and none has two in one replica.
void CheckHolders(const TileLayout& layout, int64_t rows, int64_t columns) {
  std::multiset<std::pair<int64_t, int64_t>> seen;
  for (int64_t t = 0; t < layout.threads(); ++t) {
    const Extents of_thread = layout.ThreadOffset(t);
    for (int64_t s = 0; s < layout.slots(); ++s) {
      const Extents of_slot = layout.SlotOffset(s);
      const int64_t row = of_thread[0] + of_slot[0];
      const int64_t column = of_thread[1] + of_slot[1];
      if (row < rows && column < columns) seen.insert({row, column});
    }
  }
  const auto replicas = static_cast<size_t>(layout.reg().replication());
  ASSERT_EQ(seen.size(), static_cast<size_t>(rows * columns) * replicas) << ToString(layout);
  for (const auto& element : seen) ASSERT_EQ(seen.count(element), replicas) << ToString(layout);
}

TEST(Layouts, BlockedCoversEveryShape) {
  for (const int64_t rows : {1, 3, 8, 33}) {
    for (const int64_t columns : {1, 4, 7, 64, 96, 130}) {
      for (const int64_t threads : {32, 64, 128}) {
        for (const int fast : {0, 1}) {
          for (const bool exact : {false, true}) {
            const auto layout = BlockedLayout({rows, columns}, threads, 8, fast, exact);
            ASSERT_TRUE(layout.ok());
            EXPECT_EQ(layout->threads(), threads);
            EXPECT_FALSE(exact && layout->padded()) << ToString(*layout);
            CheckHolders(*layout, rows, columns);
          }
        }
      }
    }
  }
}

// What a reduction along `axes` combines is in one warp wherever the other dimension has a part for
// each warp.
TEST(Layouts, WarpRowsKeepReductionsInWarps) {
  const auto one = LayoutOfWarpRows({4, 1024}, 4, 8, 1, std::vector<int64_t>{1});
  ASSERT_TRUE(one);
  EXPECT_EQ(ToString(*one),
            "layout(shape=[4, 1024], modes=[4, 4, 32, 8], spatial=[0, 2], local=[1, 3])");
  for (const int64_t rows : {4, 8, 12, 33}) {
    for (const int64_t columns : {4, 64, 96, 130}) {
      for (const int fast : {0, 1}) {
        for (const int64_t axis : {0, 1}) {
          const std::vector<int64_t> axes = {axis};
          const auto layout = LayoutOfWarpRows({rows, columns}, 4, 8, fast, axes);
          const int64_t kept = axis == 0 ? columns : rows;
          ASSERT_EQ(layout.has_value(), kept % 2 == 0) << rows << " " << columns << " " << axis;
          if (!layout) continue;
          CheckHolders(*layout, rows, columns);
          EXPECT_LE(ReduceThreads(*layout, axes).parts, kept % 4 == 0 ? 1 : 2) << ToString(*layout);
        }
      }
    }
  }
  EXPECT_FALSE(LayoutOfWarpRows({1, 1024}, 4, 8, 1, std::vector<int64_t>{1}));
  EXPECT_FALSE(LayoutOfWarpRows({4, 1024}, 4, 8, 1, std::vector<int64_t>{0, 1}));
}

// A thread reduces its rows without its neighbours, which have the neighbours of its elements.
TEST(Layouts, RowsOfThreadsNeedNoExchange) {
  struct Case {
    Extents shape, axes;
    int fast;
  };
  const Case cases[] = {{{32, 32, 3}, {2}, 1}, {{3, 5, 64}, {0, 1}, 2}, {{7, 2}, {1}, 0}};
  for (const Case& c : cases) {
    const auto layout = LayoutOfThreadRows(c.shape, 4, c.fast, c.axes);
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->shape(), c.shape);
    EXPECT_EQ(layout->threads(), 128);
    const ThreadReduction threads = ReduceThreads(*layout, c.axes);
    EXPECT_TRUE(threads.lane_masks.empty());
    EXPECT_EQ(threads.parts, 1);
    EXPECT_EQ(layout->ThreadOffset(1)[static_cast<size_t>(c.fast)], 1);
    for (const int64_t axis : c.axes) EXPECT_FALSE(layout->PaddedAlong(static_cast<int>(axis)));
  }
}

TEST(Layouts, SlotsThatMoveWithinTheirThread) {
  const auto rows = RegLayout::Local(Extents{2, 3});
  const auto columns = RegLayout::ColumnLocal(Extents{2, 3});
  const auto order = SlotPermutation(TileLayout::Exact(*rows), TileLayout::Exact(*columns));
  ASSERT_TRUE(order);
  EXPECT_EQ(*order, (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  const auto spread = RegLayout::Spatial(Extents{2, 3});
  EXPECT_FALSE(SlotPermutation(TileLayout::Exact(*rows), TileLayout::Exact(*spread)));
}

// 8 rows by 4 columns of lanes, and 4 warps along the rows.
TEST(Layouts, ReductionsFindTheirThreads) {
  const auto warps = RegLayout::Spatial(Extents{4, 1});
  const auto lanes = RegLayout::Spatial(Extents{8, 4});
  const TileLayout layout = TileLayout::Exact(*Product(*warps, *lanes));
  const std::vector<int64_t> along_columns = {1}, along_rows = {0};
  const ThreadReduction columns = ReduceThreads(layout, along_columns);
  EXPECT_EQ(columns.lane_masks, (std::vector<int>{1, 2}));
  EXPECT_EQ(columns.parts, 1);
  const ThreadReduction rows = ReduceThreads(layout, along_rows);
  EXPECT_EQ(rows.lane_masks, (std::vector<int>{4, 8, 16}));
  EXPECT_EQ(rows.parts, 4);
  ASSERT_EQ(rows.cross.size(), 1u);
  EXPECT_EQ(rows.cross[0].stride, 32);
}

// A thread has a row of four, which is 16 bytes, and so its sum.
TEST(Layouts, AreToldWithTheirReason) {
  const Program program = MakeProgram(R"(
kernel k(%x: ptr<f32>)
  warps 1
{
  %g = view %x : global<f32>[32, 4]
  %t = load %g[0, 0] : [32, 4]
  %r = reduce.sum %t axes [1]
  store %g[0, 0], %t
  print "r", %r
}
)");
  PassOptions options;
  options.until = "layouts";
  const std::string report = LayoutReport(RunPasses(program, options), options.target, 77);
  EXPECT_TRUE(report.starts_with("kernel k: 77 cycles of a warp on sm_80\n")) << report;
  EXPECT_NE(report.find("  %t : f32[32, 4] layout(shape=[32, 4], modes=[32, 4], spatial=[0], "
                        "local=[1]) (wide accesses of line 6: `load`"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find("  %r : f32[32] layout(shape=[32], modes=[32], spatial=[0], local=[]) "),
            std::string::npos)
      << report;
}

}  // namespace
}  // namespace tarsia::compiler::plan_test
