// Selection of instructions by layouts: tensor cores, and the order of elements in scratch.
#include <gtest/gtest.h>

#include <map>
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

int64_t Dot(const Extents& a, const Extents& b, const Extents& strides) {
  int64_t out = 0;
  for (size_t d = 0; d < strides.size(); ++d) out += (a[d] + b[d]) * strides[d];
  return out;
}

// By the row-major number of an element in `tile`: its place.
std::map<int64_t, int64_t> PlacesOf(const TileLayout& tile, const TileLayout& places,
                                    const ScratchOrder& order) {
  std::map<int64_t, int64_t> out;
  for (int64_t thread = 0; thread < tile.threads(); ++thread) {
    for (int64_t slot = 0; slot < tile.slots(); ++slot) {
      const int64_t element =
          Dot(tile.ThreadOffset(thread), tile.SlotOffset(slot), {tile.shape()[1], 1});
      const int64_t place =
          Dot(places.ThreadOffset(thread), places.SlotOffset(slot), order.strides);
      const auto [known, is_new] = out.try_emplace(element, place);
      EXPECT_EQ(known->second, place);
    }
  }
  return out;
}

// The wavefronts of the first access of the first warp, of `unit` bytes a thread.
int64_t FirstWavefronts(const TileLayout& places, const ScratchOrder& order, int bytes, int unit) {
  std::vector<uint64_t> addresses;
  for (int64_t lane = 0; lane < 32; ++lane) {
    addresses.push_back(static_cast<uint64_t>(
        bytes * Dot(places.ThreadOffset(lane), Extents(order.strides.size(), 0), order.strides)));
  }
  return WavefrontsOf(addresses, unit);
}

// Every element has one place below the room, the same for who puts and who gets it; and no access
// meets a bank twice.
TEST(Scratch, HasNoConflictsBetweenRowsAndColumns) {
  const TileLayout rows = LayoutOf("local(4, 1) * spatial(16, 8) * local(1, 8)");
  const TileLayout columns = LayoutOf("local(1, 4) * column_spatial(8, 16) * local(8, 1)");
  const TileLayout pairs = LayoutOf("replicate(4) * local(4, 4) * mma.m16n8k16.f16.a");
  const TileLayout runs = LayoutOf("spatial(64, 2) * local(1, 32)");
  for (const auto& [from, to] :
       {std::pair{rows, columns}, {columns, rows}, {rows, pairs}, {runs, pairs}}) {
    for (const int bytes : {1, 2, 4, 8}) {
      const ScratchPlan plan = PlanScratch(from, to, bytes);
      const auto put = PlacesOf(from, plan.put_places, plan.order);
      const auto get =
          PlacesOf(plan.get.matrices ? plan.get.matrices->rows : to, plan.get_places, plan.order);
      EXPECT_EQ(put, get);
      std::set<int64_t> places;
      for (const auto& [element, place] : put) places.insert(place);
      EXPECT_EQ(places.size(), static_cast<size_t>(64 * 64));
      EXPECT_GE(*places.begin(), 0);
      EXPECT_LT(*places.rbegin(), plan.order.elements);
    }
  }
  for (const TileLayout& from : {rows, runs}) {
    const ScratchPlan plan = PlanScratch(from, pairs, 2);
    ASSERT_TRUE(plan.get.matrices);
    EXPECT_EQ(plan.put.run, 8);
    EXPECT_EQ(FirstWavefronts(plan.put_places, plan.order, 2, 16), 4) << "512 bytes of 128 each";
    EXPECT_EQ(FirstWavefronts(plan.get_places, plan.order, 2, 16), 4);
  }
}

// A thread has elements (t / 4, 2 * (t % 4)) and the next of each matrix; those of rows in memory
// as they are, those of columns turned.
TEST(Matrices, AreThoseOfFragments) {
  const TileLayout a = LayoutOf("local(2, 2) * mma.m16n8k16.f16.a");
  const TileLayout b = LayoutOf("local(1, 3) * mma.m16n8k16.f16.b");
  const auto plain = FindMatrixLoads(a, 1, 2);
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->transposed);
  EXPECT_EQ(plain->count, 4);
  // Rows of b in memory are k; a thread has two of k in one column.
  const auto turned = FindMatrixLoads(b, 1, 2);
  ASSERT_TRUE(turned);
  EXPECT_TRUE(turned->transposed);
  EXPECT_EQ(turned->count, 2) << "the fragments are 2 x 1 matrices, and there are 3";
  EXPECT_FALSE(FindMatrixLoads(b, 0, 2)->transposed);
  EXPECT_FALSE(FindMatrixLoads(a, 1, 4));
  EXPECT_FALSE(FindMatrixLoads(LayoutOf("spatial(4, 8) * local(2, 4)"), 1, 2));
}

// Matrix j of instruction i comes from the rows that threads 8 * j to 8 * j + 7 name.
TEST(Matrices, ComeFromTheRowsThatThreadsName) {
  for (const char* const text :
       {"local(2, 2) * mma.m16n8k16.f16.a", "spatial(2, 1) * local(1, 3) * mma.m16n8k16.f16.b",
        "replicate(2) * column_local(4, 2) * mma.m16n8k16.f16.b"}) {
    const TileLayout tile = LayoutOf(text);
    for (const int fast : {0, 1}) {
      const auto loads = FindMatrixLoads(tile, fast, 2);
      ASSERT_TRUE(loads);
      for (int64_t thread = 0; thread < tile.threads(); ++thread) {
        for (int64_t slot = 0; slot < tile.slots(); ++slot) {
          const int64_t matrix = slot / 2;
          // PTX ISA: without .trans, thread t has elements 2 * (t % 4) and the next of row t / 4;
          // with it, of column t / 4.
          const int64_t lane = thread % 32, pair = 2 * (lane % 4) + slot % 2, line = lane / 4;
          const int64_t row = loads->transposed ? pair : line;
          const int64_t at = loads->transposed ? line : pair;
          const int64_t owner = thread - lane + matrix % loads->count * 8 + row;
          Extents named = loads->rows.ThreadOffset(owner);
          const Extents offset = loads->rows.SlotOffset(matrix / loads->count * 8 + at);
          for (size_t d = 0; d < 2; ++d) named[d] += offset[d];
          Extents element = tile.ThreadOffset(thread);
          const Extents own = tile.SlotOffset(slot);
          for (size_t d = 0; d < 2; ++d) element[d] += own[d];
          ASSERT_EQ(named, element) << text << " thread " << thread << " slot " << slot;
        }
      }
    }
  }
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
