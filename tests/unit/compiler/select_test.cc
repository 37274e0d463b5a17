// Selection of instructions by layouts: tensor cores, and the order of elements in scratch.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "compiler/select/mma.h"
#include "compiler/select/scratch.h"
#include "layout/access.h"
#include "layout/text/eval.h"

namespace tarsia::compiler::select_test {
namespace {

TileLayout LayoutOf(const std::string& text) {
  Result<EvalValue> value = EvaluateText(text);
  EXPECT_TRUE(value.ok()) << text;
  return TileLayout::Exact(std::get<RegLayout>(*value));
}

Extents ElementAt(const TileLayout& layout, int64_t thread, int64_t slot) {
  Extents at = layout.ThreadOffset(thread);
  const Extents offset = layout.SlotOffset(slot);
  for (size_t d = 0; d < at.size(); ++d) at[d] += offset[d];
  return at;
}

// Follows the definition: the registers of an m16n8k16 hold the elements that the PTX manual gives
// (groups g = lane / 4, t = lane % 4), and every product of the whole is computed once by each warp
// that holds its sum.
void CheckSelection(const TileLayout& a, const TileLayout& b, const TileLayout& c,
                    bool transposed) {
  const auto selection = SelectMma(a, b, c);
  ASSERT_TRUE(selection);
  EXPECT_EQ(selection->transposed, transposed);
  const TileLayout& left = transposed ? b : a;
  const TileLayout& right = transposed ? a : b;
  const auto turned = [&](Extents at) {
    if (transposed) std::swap(at[0], at[1]);
    return at;
  };
  for (int64_t warp = 0; warp < c.threads() / 32; ++warp) {
    std::set<std::vector<int64_t>> products;  // rows and columns of sums, and k
    for (const MmaStep& step : selection->steps) {
      const Extents l0 = turned(ElementAt(left, warp * 32, step.left));
      const Extents r0 = turned(ElementAt(right, warp * 32, step.right));
      const Extents s0 = turned(ElementAt(c, warp * 32, step.sum));
      ASSERT_EQ(l0, (Extents{s0[0], r0[0]}));
      ASSERT_EQ(r0[1], s0[1]);
      for (int64_t lane = 0; lane < 32; ++lane) {
        const int64_t g = lane / 4, t = lane % 4, thread = warp * 32 + lane;
        for (int64_t i = 0; i < 8; ++i) {
          const Extents at = turned(ElementAt(left, thread, step.left + i));
          ASSERT_EQ(at, (Extents{l0[0] + g + i / 2 % 2 * 8, l0[1] + t * 2 + i % 2 + i / 4 * 8}));
        }
        for (int64_t i = 0; i < 4; ++i) {
          const Extents r = turned(ElementAt(right, thread, step.right + i));
          ASSERT_EQ(r, (Extents{r0[0] + t * 2 + i % 2 + i / 2 * 8, r0[1] + g}));
          const Extents s = turned(ElementAt(c, thread, step.sum + i));
          ASSERT_EQ(s, (Extents{s0[0] + g + i / 2 * 8, s0[1] + t * 2 + i % 2}));
        }
      }
      EXPECT_TRUE(products.insert({s0[0], s0[1], l0[1]}).second);
    }
    const int64_t k = turned(left.shape())[1];
    EXPECT_EQ(products.size(), static_cast<size_t>(c.slots() / 4 * k / 16));
  }
}

TEST(SelectMma, TakesFragmentsInAnyOrderOfSlotsAndWarps) {
  CheckSelection(LayoutOf("spatial(2, 1) * replicate(2) * local(2, 3) * mma.m16n8k16.f16.a"),
                 LayoutOf("replicate(2) * spatial(1, 2) * local(3, 2) * mma.m16n8k16.f16.b"),
                 LayoutOf("spatial(2, 2) * local(2, 2) * mma.m16n8k16.f16.c"), false);
  // The slots of a by columns, those of c by columns, the warps of c the other way around.
  CheckSelection(LayoutOf("replicate(2) * spatial(2, 1) * column_local(2, 3) * mma.m16n8k16.f16.a"),
                 LayoutOf("spatial(1, 2) * replicate(2) * local(3, 2) * mma.m16n8k16.f16.b"),
                 LayoutOf("column_spatial(2, 2) * column_local(2, 2) * mma.m16n8k16.f16.c"), false);
}

TEST(SelectMma, TransposesWhereTheRightOperandHasTheRows) {
  CheckSelection(LayoutOf("permute(replicate(4) * local(4, 2) * mma.m16n8k16.f16.b, [1, 0])"),
                 LayoutOf("permute(spatial(4, 1) * local(2, 4) * mma.m16n8k16.f16.a, [1, 0])"),
                 LayoutOf("permute(spatial(4, 1) * local(2, 2) * mma.m16n8k16.f16.c, [1, 0])"),
                 true);
}

TEST(SelectMma, RefusesWhatNoWarpCanDo) {
  const TileLayout a = LayoutOf("spatial(2, 1) * local(1, 2) * mma.m16n8k16.f16.a");
  const TileLayout b = LayoutOf("replicate(2) * local(2, 1) * mma.m16n8k16.f16.b");
  const TileLayout c = LayoutOf("spatial(2, 1) * mma.m16n8k16.f16.c");
  EXPECT_TRUE(SelectMma(a, b, c));
  // A part of k in each warp; the rows in another warp; other slots in each warp; no fragments.
  EXPECT_FALSE(SelectMma(LayoutOf("local(2, 1) * spatial(1, 2) * mma.m16n8k16.f16.a"), b,
                         LayoutOf("replicate(2) * local(2, 1) * mma.m16n8k16.f16.c")));
  EXPECT_FALSE(SelectMma(a, LayoutOf("spatial(2, 1) * mma.m16n8k16.f16.b"), c));
  EXPECT_FALSE(SelectMma(LayoutOf("replicate(2) * local(2, 2) * mma.m16n8k16.f16.a"), b, c));
  EXPECT_FALSE(SelectMma(a, b, LayoutOf("spatial(16, 4) * local(2, 2)")));
}

// Every element has its own place below the room, and rows and columns meet no bank twice.
TEST(Scratch, HasNoConflictsBetweenRowsAndColumns) {
  const TileLayout rows = LayoutOf("local(4, 1) * spatial(16, 8) * local(1, 8)");
  const TileLayout columns = LayoutOf("local(1, 4) * column_spatial(8, 16) * local(8, 1)");
  const TileLayout pairs = LayoutOf("replicate(4) * local(4, 4) * mma.m16n8k16.f16.a");
  for (const auto& [from, to] : {std::pair{rows, columns}, {columns, rows}, {rows, pairs}}) {
    for (const int bytes : {1, 2, 4, 8}) {
      const ScratchOrder order = PlanScratch(from, to, bytes).order;
      std::set<int64_t> places;
      const int64_t n = from.shape()[0], m = from.shape()[1];
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < m; ++j) places.insert(i * order.strides[0] + j * order.strides[1]);
      }
      EXPECT_EQ(places.size(), static_cast<size_t>(n * m));
      EXPECT_LT(*places.rbegin(), order.elements);
    }
  }
  const ScratchOrder order = PlanScratch(rows, pairs, 2).order;
  std::vector<uint64_t> addresses;
  for (int64_t lane = 0; lane < 32; ++lane) {
    const Extents at = pairs.ThreadOffset(lane);
    addresses.push_back(
        static_cast<uint64_t>(2 * (at[0] * order.strides[0] + at[1] * order.strides[1])));
  }
  EXPECT_EQ(WavefrontsOf(addresses, 4), 1);
}

TEST(Scratch, LaysElementsAlongTheWiderRuns) {
  const TileLayout rows = LayoutOf("spatial(8, 4) * local(1, 8)");
  const TileLayout columns = LayoutOf("local(4, 1) * spatial(2, 16) * local(1, 2)");
  EXPECT_EQ(RunAlong(rows, 1, 2), 8);
  EXPECT_EQ(RunAlong(rows, 1, 4), 4);
  EXPECT_EQ(RunAlong(rows, 0, 2), 1);
  EXPECT_EQ(RunAlong(columns, 1, 2), 2);
  EXPECT_EQ(PlanAccesses(rows, columns, 2).fast, 1);
}

}  // namespace
}  // namespace tarsia::compiler::select_test
