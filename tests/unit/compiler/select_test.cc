// Selection of instructions by layouts: tensor cores, and the order of elements in scratch.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/select/lookup.h"
#include "compiler/select/mma.h"
#include "compiler/select/scan_levels.h"
#include "compiler/select/scratch.h"
#include "compiler/select/shuffles.h"
#include "compiler/select/top_k.h"
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

// The registers of a form, as figures of the PTX manual say (groups g = lane / 4, t = lane % 4).
struct ManualForm {
  const char* name;  // of the test
  DotTypes types;
  std::vector<Target> targets;
  int64_t m, k;  // of the elements; n is 8
  int64_t each;  // elements of a in a register
};

// The element of slot `i` of a, b or c, relative to the first one of a fragment.
Extents OfA(const ManualForm& form, int64_t lane, int64_t i) {
  const int64_t rows = form.m / 8, reg = i / form.each;
  return {lane / 4 + 8 * (reg % rows),
          4 * form.each * (reg / rows) + lane % 4 * form.each + i % form.each};
}
Extents OfB(const ManualForm& form, int64_t lane, int64_t i) {
  return {4 * form.each * (i / form.each) + lane % 4 * form.each + i % form.each, lane / 4};
}
Extents OfC(int64_t lane, int64_t i) { return {lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2}; }

Extents Sum(Extents a, const Extents& b) {
  for (size_t d = 0; d < a.size(); ++d) a[d] += b[d];
  return a;
}

// Every product of the whole is computed once by each warp that holds its sum.
void CheckSelection(const ManualForm& form, Target target, const TileLayout& a, const TileLayout& b,
                    const TileLayout& c, bool transposed) {
  const DotTypes& t = form.types;
  const DotTypes types = transposed ? DotTypes{t.b, t.a, t.c} : t;
  const auto selection = SelectMma(types, target, a, b, c);
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
        const int64_t thread = warp * 32 + lane;
        for (int64_t i = 0; i < form.m * form.k / 32; ++i) {
          ASSERT_EQ(turned(ElementAt(left, thread, step.left + i)), Sum(l0, OfA(form, lane, i)));
        }
        for (int64_t i = 0; i < 8 * form.k / 32; ++i) {
          ASSERT_EQ(turned(ElementAt(right, thread, step.right + i)), Sum(r0, OfB(form, lane, i)));
        }
        for (int64_t i = 0; i < form.m * 8 / 32; ++i) {
          ASSERT_EQ(turned(ElementAt(c, thread, step.sum + i)), Sum(s0, OfC(lane, i)));
        }
      }
      EXPECT_TRUE(products.insert({s0[0], s0[1], l0[1]}).second);
    }
    const int64_t k = turned(left.shape())[1];
    EXPECT_EQ(products.size(), static_cast<size_t>(c.slots() / (form.m / 4) * k / form.k));
  }
}

class SelectMmaOf : public testing::TestWithParam<ManualForm> {
 protected:
  // The fragment of an operand: slots of 16 rows by eights, then those along k by fours of
  // registers; written with the primitives that the manual's formulas are sums of.
  static std::string A(const ManualForm& form) {
    return fmt::format("column_local({}, {}) * spatial(8, 4) * local(1, {})", form.m / 8,
                       form.k / (4 * form.each), form.each);
  }
  static std::string B(const ManualForm& form) {
    return fmt::format("local({}, 1) * column_spatial(4, 8) * local({}, 1)",
                       form.k / (4 * form.each), form.each);
  }
  static std::string C(const ManualForm& form) {
    return fmt::format("local({}, 1) * spatial(8, 4) * local(1, 2)", form.m / 8);
  }
};

TEST_P(SelectMmaOf, TakesFragmentsInAnyOrderOfSlotsAndWarps) {
  const ManualForm& form = GetParam();
  for (const Target target : form.targets) {
    CheckSelection(form, target,
                   LayoutOf("spatial(2, 1) * replicate(2) * local(2, 3) * " + A(form)),
                   LayoutOf("replicate(2) * spatial(1, 2) * local(3, 2) * " + B(form)),
                   LayoutOf("spatial(2, 2) * local(2, 2) * " + C(form)), false);
    // The slots of a by columns, those of c by columns, the warps of c the other way around.
    CheckSelection(form, target,
                   LayoutOf("replicate(2) * spatial(2, 1) * column_local(2, 3) * " + A(form)),
                   LayoutOf("spatial(1, 2) * replicate(2) * local(3, 2) * " + B(form)),
                   LayoutOf("column_spatial(2, 2) * column_local(2, 2) * " + C(form)), false);
  }
}

TEST_P(SelectMmaOf, TransposesWhereTheRightOperandHasTheRows) {
  const ManualForm& form = GetParam();
  if (form.m == 8) return;  // it is as good as it is
  for (const Target target : form.targets) {
    CheckSelection(
        form, target, LayoutOf("permute(replicate(4) * local(4, 2) * " + B(form) + ", [1, 0])"),
        LayoutOf("permute(spatial(4, 1) * local(2, 4) * " + A(form) + ", [1, 0])"),
        LayoutOf("permute(spatial(4, 1) * local(2, 2) * " + C(form) + ", [1, 0])"), true);
  }
}

TEST_P(SelectMmaOf, LeavesTargetsWithoutTheInstruction) {
  const ManualForm& form = GetParam();
  for (const TargetRow& row : AllTargets()) {
    const bool has =
        std::find(form.targets.begin(), form.targets.end(), row.target) != form.targets.end();
    const auto selection =
        SelectMma(form.types, row.target, LayoutOf(A(form)), LayoutOf(B(form)), LayoutOf(C(form)));
    // Without it, fragments may still be several of a smaller one.
    EXPECT_EQ(selection && selection->steps.size() == 1, has) << row.name;
  }
}

const std::vector<Target> all_targets = {Target::kSm80, Target::kSm89, Target::kSm90a};
const ManualForm f16_form = {"f16", {kF16, kF16, kF32}, all_targets, 16, 16, 2};
INSTANTIATE_TEST_SUITE_P(
    Types, SelectMmaOf,
    testing::Values(f16_form, ManualForm{"bf16", {kBF16, kBF16, kF32}, all_targets, 16, 16, 2},
                    ManualForm{"tf32", {kTF32, kTF32, kF32}, all_targets, 16, 8, 1},
                    ManualForm{"i8", {kI8, kI8, kI32}, all_targets, 16, 32, 4},
                    ManualForm{"i8_u8", {kI8, kU8, kI32}, all_targets, 16, 32, 4},
                    ManualForm{"u8_i8", {kU8, kI8, kI32}, all_targets, 16, 32, 4},
                    ManualForm{"u8", {kU8, kU8, kI32}, all_targets, 16, 32, 4},
                    ManualForm{"e4m3", {kF8E4M3FN, kF8E4M3FN, kF32}, {Target::kSm89}, 16, 32, 4},
                    ManualForm{"e4m3_e5m2", {kF8E4M3FN, kF8E5M2, kF32}, {Target::kSm89}, 16, 32, 4},
                    ManualForm{"e5m2_e4m3", {kF8E5M2, kF8E4M3FN, kF32}, {Target::kSm89}, 16, 32, 4},
                    ManualForm{"e5m2", {kF8E5M2, kF8E5M2, kF32}, {Target::kSm89}, 16, 32, 4},
                    ManualForm{"f64", {kF64, kF64, kF64}, {Target::kSm80, Target::kSm89}, 8, 4, 1},
                    ManualForm{"f64_hopper", {kF64, kF64, kF64}, {Target::kSm90a}, 16, 16, 1},
                    // Pairs of f16 that are neighbours along the 16 of f16.
                    ManualForm{"c32", {kC32, kC32, kC64}, all_targets, 16, 8, 1}),
    [](const auto& of) { return of.param.name; });

TEST(SelectMma, RefusesWhatNoWarpCanDo) {
  const auto select = [](const TileLayout& a, const TileLayout& b, const TileLayout& c) {
    return SelectMma(f16_form.types, Target::kSm80, a, b, c);
  };
  const TileLayout a = LayoutOf("spatial(2, 1) * local(1, 2) * mma.m16n8k16.f16.a");
  const TileLayout b = LayoutOf("replicate(2) * local(2, 1) * mma.m16n8k16.f16.b");
  const TileLayout c = LayoutOf("spatial(2, 1) * mma.m16n8k16.f16.c");
  EXPECT_TRUE(select(a, b, c));
  // A part of k in each warp; the rows in another warp; other slots in each warp; no fragments.
  EXPECT_FALSE(select(LayoutOf("local(2, 1) * spatial(1, 2) * mma.m16n8k16.f16.a"), b,
                      LayoutOf("replicate(2) * local(2, 1) * mma.m16n8k16.f16.c")));
  EXPECT_FALSE(select(a, LayoutOf("spatial(2, 1) * mma.m16n8k16.f16.b"), c));
  EXPECT_FALSE(select(LayoutOf("replicate(2) * local(2, 2) * mma.m16n8k16.f16.a"), b, c));
  EXPECT_FALSE(select(a, b, LayoutOf("spatial(16, 4) * local(2, 2)")));
  // Types that tensor cores do not multiply, and sums that they do not make.
  EXPECT_FALSE(SelectMma({kF32, kF32, kF32}, Target::kSm90a, a, b, c));
  EXPECT_FALSE(SelectMma({kF16, kBF16, kF32}, Target::kSm90a, a, b, c));
}

// The products of a batch that each warp does: batch, row and column of the sum, and k.
std::vector<std::set<std::vector<int64_t>>> ProductsOfBatch(const TileLayout& a,
                                                            const TileLayout& b,
                                                            const TileLayout& c, bool transposed) {
  const auto selection = SelectMma(f16_form.types, Target::kSm80, a, b, c);
  EXPECT_TRUE(selection);
  std::vector<std::set<std::vector<int64_t>>> out(static_cast<size_t>(c.threads() / 32));
  if (!selection) return out;
  EXPECT_EQ(selection->transposed, transposed);
  for (size_t warp = 0; warp < out.size(); ++warp) {
    for (const MmaStep& step : selection->steps) {
      const auto first = static_cast<int64_t>(warp) * 32;
      const Extents x = ElementAt(a, first, transposed ? step.right : step.left);
      const Extents y = ElementAt(b, first, transposed ? step.left : step.right);
      const Extents z = ElementAt(c, first, step.sum);
      EXPECT_EQ(x, (Extents{z[0], z[1], y[1]}));
      EXPECT_EQ(y, (Extents{z[0], x[2], z[2]}));
      EXPECT_TRUE(out[warp].insert({z[0], z[1], z[2], x[2]}).second);
    }
  }
  return out;
}

TEST(SelectMma, TakesTheProductsOfABatchInAnyOrder) {
  // Four products of 16 x 32 by 32 x 16: each warp has two of them, one after the other.
  const auto plain = ProductsOfBatch(
      LayoutOf("spatial(2, 1, 1) * local(2, 1, 2) * unsqueeze(mma.m16n8k16.f16.a, [0])"),
      LayoutOf("spatial(2, 1, 1) * local(2, 2, 2) * unsqueeze(mma.m16n8k16.f16.b, [0])"),
      LayoutOf("spatial(2, 1, 1) * local(2, 1, 2) * unsqueeze(mma.m16n8k16.f16.c, [0])"), false);
  for (const int64_t warp : {0, 1}) {
    std::set<std::vector<int64_t>> want;
    for (const int64_t batch : {2 * warp, 2 * warp + 1}) {
      for (const int64_t column : {0, 8}) {
        for (const int64_t k : {0, 16}) want.insert({batch, 0, column, k});
      }
    }
    EXPECT_EQ(plain[static_cast<size_t>(warp)], want);
  }
  // Two of 8 x 16 by 16 x 32, transposed: two warps have one, with half of its columns each.
  const auto swapped = ProductsOfBatch(
      LayoutOf("spatial(2, 1, 1) * replicate(2) * "
               "unsqueeze(permute(mma.m16n8k16.f16.b, [1, 0]), [0])"),
      LayoutOf("spatial(2, 1, 2) * unsqueeze(permute(mma.m16n8k16.f16.a, [1, 0]), [0])"),
      LayoutOf("spatial(2, 1, 2) * unsqueeze(permute(mma.m16n8k16.f16.c, [1, 0]), [0])"), true);
  for (const int64_t warp : {0, 1, 2, 3}) {
    EXPECT_EQ(swapped[static_cast<size_t>(warp)],
              (std::set<std::vector<int64_t>>{{warp / 2, 0, warp % 2 * 16, 0}}));
  }
}

TEST(SelectMma, RefusesOperandsOfAnotherBatch) {
  const auto of = [](const char* outer, const char* fragment) {
    return LayoutOf(std::string(outer) + " * unsqueeze(mma.m16n8k16.f16." + fragment + ", [0])");
  };
  const TileLayout a = of("spatial(2, 1, 1)", "a");
  const TileLayout b = of("spatial(2, 1, 1)", "b");
  EXPECT_TRUE(SelectMma(f16_form.types, Target::kSm80, a, b, of("spatial(2, 1, 1)", "c")));
  // The batches in other warps, and of another number; the operand of all batches in each warp, in
  // which each takes it from another slot; a matrix for a batch.
  EXPECT_FALSE(
      SelectMma(f16_form.types, Target::kSm80, a, b, of("local(2, 1, 1) * replicate(2)", "c")));
  EXPECT_FALSE(SelectMma(f16_form.types, Target::kSm80, a,
                         of("spatial(2, 1, 1) * local(2, 1, 1)", "b"),
                         of("spatial(2, 1, 1)", "c")));
  EXPECT_FALSE(SelectMma(f16_form.types, Target::kSm80, a, of("local(2, 1, 1) * replicate(2)", "b"),
                         of("spatial(2, 1, 1)", "c")));
  EXPECT_FALSE(SelectMma(f16_form.types, Target::kSm80, a,
                         LayoutOf("replicate(2) * mma.m16n8k16.f16.b"),
                         of("spatial(2, 1, 1)", "c")));
}

TEST(LayoutsOfMma, PutsTheWarpsAlongTheBatchOutermost) {
  // Three batches of 16 x 16 by 16 x 20, for two warps along the batch and two along n.
  const MmaForm& form = *MmaFormsOf(f16_form.types, Target::kSm80)[0];
  const auto made = LayoutsOfMma(form, {3, 16, 20, 16}, {2, 1, 2});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->a,
            TileLayout::Padded(LayoutOf("spatial(2, 1, 1) * replicate(2) * local(2, 1, 1) * "
                                        "unsqueeze(mma.m16n8k16.f16.a, [0])")
                                   .reg(),
                               {3, 16, 16}));
  EXPECT_EQ(made->b, TileLayout::Padded(LayoutOf("spatial(2, 1, 2) * local(2, 1, 2) * "
                                                 "unsqueeze(mma.m16n8k16.f16.b, [0])")
                                            .reg(),
                                        {3, 16, 20}));
  EXPECT_EQ(made->c, TileLayout::Padded(LayoutOf("spatial(2, 1, 2) * local(2, 1, 2) * "
                                                 "unsqueeze(mma.m16n8k16.f16.c, [0])")
                                            .reg(),
                                        {3, 16, 20}));
  EXPECT_EQ(made->steps, 4);
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
      const ScratchPlan plan = PlanScratch(from, to, bytes, Target::kSm80);
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
    const ScratchPlan plan = PlanScratch(from, pairs, 2, Target::kSm80);
    ASSERT_TRUE(plan.get.matrices);
    EXPECT_EQ(plan.put.run, 8);
    EXPECT_EQ(FirstWavefronts(plan.put_places, plan.order, 2, 16), 4) << "512 bytes of 128 each";
    EXPECT_EQ(FirstWavefronts(plan.get_places, plan.order, 2, 16), 4);
  }
}

// Four slices of sums that a thread gets side by side: eight stores and two loads of 16 bytes,
// whose stores meet in banks, cost more than eight of each without conflicts.
TEST(Scratch, LiesAlongAnotherDimensionWhereRunsMeetInBanks) {
  const TileLayout sums = LayoutOf(
      "layout(shape=[4, 16, 64], modes=[4, 2, 4, 2, 4, 2, 8], spatial=[0, 4, 6, 2], local=[1, 5, "
      "3])");
  const TileLayout slices =
      LayoutOf("layout(shape=[4, 16, 64], modes=[4, 16, 2, 32], spatial=[1, 3], local=[2, 0])");
  ScratchEnd from(sums, 4, Target::kSm80), to(slices, 4, Target::kSm80);
  ScratchSearch search(from, to);
  EXPECT_EQ(search.Accesses(), 10);
  EXPECT_EQ(search.Wavefronts(), 16);
  EXPECT_EQ(search.Accesses(), 16);
  EXPECT_EQ(search.Plan().fast, 2);
}

// An end that has served other pairs, on either side, says the same as a new one.
TEST(Scratch, EndsThatAreUsedAgainSayTheSame) {
  const std::array layouts = {LayoutOf("local(4, 1) * spatial(16, 8) * local(1, 8)"),
                              LayoutOf("local(1, 4) * column_spatial(8, 16) * local(8, 1)"),
                              LayoutOf("replicate(4) * local(4, 4) * mma.m16n8k16.f16.a"),
                              LayoutOf("spatial(2, 2) * local(2, 4) * mma.m16n8k16.f16.c"),
                              LayoutOf("spatial(64, 2) * local(1, 32)"),
                              LayoutOf("local(1, 64) * spatial(64, 1) * replicate(2)")};
  for (const Target target : {Target::kSm80, Target::kSm90a}) {
    for (const int bytes : {1, 2, 4, 8}) {
      std::vector<ScratchEnd> ends;
      for (const TileLayout& layout : layouts) ends.emplace_back(layout, bytes, target);
      for (size_t i = 0; i < layouts.size(); ++i) {
        for (size_t j = 0; j < layouts.size(); ++j) {
          ScratchSearch used(ends[i], ends[j]);
          ScratchEnd from(layouts[i], bytes, target), to(layouts[j], bytes, target);
          ScratchSearch fresh(from, to);
          EXPECT_EQ(used.Accesses(), fresh.Accesses()) << i << " to " << j;
          EXPECT_EQ(used.Wavefronts(), fresh.Wavefronts()) << i << " to " << j;
          EXPECT_EQ(used.Plan().order.strides, fresh.Plan().order.strides) << i << " to " << j;
        }
      }
    }
  }
}

// Runs of the tile and rows of matrices lie in different places of the same split rows.
TEST(Scratch, PlacesAreThoseOfTheAccesses) {
  const TileLayout pairs = LayoutOf("replicate(4) * local(4, 4) * mma.m16n8k16.f16.a");
  const ScratchGaps gaps{.fast = 1, .split = 0, .group = 2};
  ScratchEnd both(pairs, 2, Target::kSm80), one(pairs, 2, Target::kSm80);
  ASSERT_TRUE(both.Places(gaps, ScratchEnd::Side::kPut));
  ASSERT_TRUE(both.Places(gaps, ScratchEnd::Side::kGet));
  EXPECT_EQ(*both.Places(gaps, ScratchEnd::Side::kGet), *one.Places(gaps, ScratchEnd::Side::kGet));
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

// Only elements of 16 bits are turned.
TEST(Matrices, OfOtherWidthsLieInRows) {
  const TileLayout bytes = LayoutOf("local(2, 1) * mma.m16n8k32.i8.b");
  EXPECT_EQ(FindMatrixLoads(bytes, 0, 1)->count, 4);
  EXPECT_FALSE(FindMatrixLoads(bytes, 1, 1));
  const TileLayout words = LayoutOf("mma.m16n8k8.tf32.a");
  EXPECT_EQ(FindMatrixLoads(words, 1, 4)->count, 4);
  EXPECT_FALSE(FindMatrixLoads(words, 0, 4));
  EXPECT_FALSE(FindMatrixLoads(LayoutOf("mma.m16n8k16.f64.a"), 1, 8));
}

TEST(Matrices, AreStoredByTheirOnlyHolders) {
  const TileLayout c = LayoutOf("spatial(2, 1) * local(1, 4) * mma.m16n8k16.f16.c");
  const auto rows = FindMatrixStores(c, 1, 2);
  ASSERT_TRUE(rows);
  EXPECT_FALSE(rows->transposed);
  EXPECT_EQ(rows->count, 4);
  EXPECT_TRUE(FindMatrixStores(c, 0, 2)->transposed);
  const char* const halves = "replicate(2) * local(1, 2) * mma.m16n8k16.f16.c";
  ASSERT_TRUE(FindMatrixLoads(LayoutOf(halves), 1, 2));
  EXPECT_EQ(FindMatrixLoads(LayoutOf(halves), 1, 2)->count, 4);
  EXPECT_FALSE(FindMatrixStores(LayoutOf(halves), 1, 2)) << "two threads have each element";
  EXPECT_FALSE(HasMatrixStores(Target::kSm89));
  EXPECT_TRUE(HasMatrixStores(Target::kSm90a));
}

// The columns of a fragment share a row of the tile, as its scales: two pieces of 16 bytes are the
// rows of a matrix, and the threads share its columns.
TEST(Matrices, GiveTheColumnsOfFragmentsTheirRow) {
  const auto four =
      FindMatrixLoads(LayoutOf("spatial(1, 4) * local(1, 8) * spatial(1, 8) * replicate(4)"), 1, 2);
  ASSERT_TRUE(four);
  EXPECT_TRUE(four->transposed);
  EXPECT_EQ(four->count, 4);
  EXPECT_EQ(FindMatrixLoads(LayoutOf("local(1, 6) * spatial(1, 8) * replicate(4)"), 1, 2)->count, 1)
      << "six pieces are three matrices";
  EXPECT_FALSE(FindMatrixLoads(LayoutOf("local(1, 3) * spatial(1, 8) * replicate(4)"), 1, 2));
  EXPECT_FALSE(FindMatrixLoads(LayoutOf("local(1, 8) * spatial(1, 4) * replicate(8)"), 1, 2));
  EXPECT_FALSE(FindMatrixLoads(LayoutOf("local(1, 8) * replicate(4) * spatial(1, 8)"), 1, 2));
  EXPECT_FALSE(FindMatrixLoads(LayoutOf("local(1, 8) * spatial(1, 8) * replicate(4)"), 1, 4));
}

// Outer dimensions have one element each.
TEST(Matrices, LieInOnePlane) {
  const auto one = FindMatrixLoads(LayoutOf("spatial(1, 8, 4) * local(1, 1, 2)"), 2, 2);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->count, 1);
  EXPECT_EQ(one->rows.rank(), 3);
  const char* const planes = "spatial(2, 1, 1) * spatial(1, 8, 4) * local(1, 1, 2)";
  EXPECT_FALSE(FindMatrixLoads(LayoutOf(planes), 2, 2));
}

// On the way to rows of 16 bytes a thread, through shared memory without conflicts.
TEST(Matrices, OfSumsAreStoredWithoutConflicts) {
  const TileLayout c = LayoutOf("spatial(2, 2) * local(4, 8) * mma.m16n8k16.f16.c");
  const TileLayout rows = LayoutOf("local(16, 1) * spatial(8, 16) * local(1, 8)");
  const ScratchPlan plan = PlanScratch(c, rows, 2, Target::kSm90a);
  ASSERT_TRUE(plan.put.matrices);
  EXPECT_EQ(plan.put.Accesses(c), 128 / 8) << "elements of a thread, 8 at once";
  EXPECT_EQ(FirstWavefronts(plan.put_places, plan.order, 2, 16), 4) << "512 bytes of 128 each";
  EXPECT_FALSE(PlanScratch(c, rows, 2, Target::kSm80).put.matrices);
}

// What each thread reads is what it wants.
void CheckShuffles(const std::string& from_text, const std::string& to_text, int bits,
                   int64_t shuffles) {
  SCOPED_TRACE(from_text + " to " + to_text);
  const TileLayout from = LayoutOf(from_text), to = LayoutOf(to_text);
  const auto plan = PlanShuffles(from, to, bits);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->shuffles(), shuffles);
  for (int64_t thread = 0; thread < to.threads(); ++thread) {
    int64_t lane = 0, choice = 0;
    for (const auto& bit : plan->lane) lane |= (thread >> bit.from & 1) << bit.to;
    for (size_t i = 0; i < plan->choice.size(); ++i) {
      choice |= (thread >> plan->choice[i] & 1) << i;
    }
    for (int64_t slot = 0; slot < to.slots(); ++slot) {
      const ShufflePlan::Run& run = plan->runs[static_cast<size_t>(slot / plan->run)];
      const int64_t other = plan->reads_others ? thread / 32 * 32 + (lane | run.lane) : thread;
      const int64_t source = run.sources[static_cast<size_t>(choice)] + slot % plan->run;
      ASSERT_EQ(ElementAt(from, other, source), ElementAt(to, thread, slot))
          << "thread " << thread << " slot " << slot;
    }
  }
}

TEST(Shuffles, ReadTheElementsOfTheirWarp) {
  const char* const pairs = "spatial(4, 8) * local(1, 2)";
  CheckShuffles(pairs, "column_spatial(4, 8) * local(1, 2)", 16, 1);
  CheckShuffles(pairs, "column_spatial(4, 8) * local(1, 2)", 32, 2);
  CheckShuffles(pairs, "column_spatial(4, 8) * local(1, 2)", 64, 4);
  CheckShuffles("spatial(4, 4) * replicate(2)", "replicate(8) * spatial(4, 1) * local(1, 4)", 32,
                4);
  CheckShuffles("replicate(32) * local(1, 4)", "replicate(8) * spatial(1, 4)", 32, 0);
  CheckShuffles("replicate(4) * local(4, 1) * spatial(1, 32)", "spatial(4, 32)", 32, 0);
}

TEST(Shuffles, ReadOneSlotOrChooseAmongTheirOwn) {
  EXPECT_FALSE(PlanShuffles(LayoutOf("local(1, 2) * spatial(4, 8)"),
                            LayoutOf("spatial(4, 8) * local(1, 2)"), 16));
  EXPECT_FALSE(PlanShuffles(LayoutOf("replicate(8) * spatial(4, 1) * local(1, 4)"),
                            LayoutOf("spatial(4, 4) * replicate(2)"), 32));
}

TEST(Shuffles, StayWithinAWarp) {
  const TileLayout rows = LayoutOf("spatial(4, 32) * local(4, 1)");
  EXPECT_FALSE(PlanShuffles(rows, LayoutOf("local(4, 1) * spatial(4, 32)"), 32));
  EXPECT_FALSE(PlanShuffles(rows, LayoutOf("spatial(1, 32) * local(16, 1) * replicate(4)"), 32));
  // Each thread has one element, and some want that of the other warp.
  EXPECT_FALSE(PlanShuffles(LayoutOf("spatial(2, 32)"), LayoutOf("column_spatial(2, 32)"), 32));
}

// Matrix j of instruction i comes from the rows that threads 8 * j to 8 * j + 7 name.
void CheckRows(const std::string& text, int fast, int bytes) {
  SCOPED_TRACE(text);
  const TileLayout tile = LayoutOf(text);
  const auto loads = FindMatrixLoads(tile, fast, bytes);
  ASSERT_TRUE(loads);
  const int64_t each = 4 / bytes;
  for (int64_t thread = 0; thread < tile.threads(); ++thread) {
    for (int64_t slot = 0; slot < tile.slots(); ++slot) {
      const int64_t matrix = slot / each;
      // PTX ISA: without .trans, thread t has bytes 4 * (t % 4) to 4 * (t % 4) + 3 of row t / 4;
      // with it, elements 2 * (t % 4) and the next of column t / 4.
      const int64_t lane = thread % 32, own = each * (lane % 4) + slot % each, line = lane / 4;
      const int64_t row = loads->transposed ? own : line;
      const int64_t at = loads->transposed ? line : own;
      const int64_t owner = thread - lane + matrix % loads->count * 8 + row;
      const int64_t first = matrix / loads->count * 16 / bytes;
      ASSERT_EQ(ElementAt(loads->rows, owner, first + at), ElementAt(tile, thread, slot))
          << "thread " << thread << " slot " << slot;
    }
  }
}

TEST(Matrices, ComeFromTheRowsThatThreadsName) {
  for (const char* const text :
       {"local(2, 2) * mma.m16n8k16.f16.a", "spatial(2, 1) * local(1, 3) * mma.m16n8k16.f16.b",
        "replicate(2) * column_local(4, 2) * mma.m16n8k16.f16.b"}) {
    for (const int fast : {0, 1}) CheckRows(text, fast, 2);
  }
  CheckRows("spatial(1, 4) * local(1, 8) * spatial(1, 8) * replicate(4)", 1, 2);
  CheckRows("local(1, 2) * spatial(1, 2) * local(1, 2) * spatial(1, 8) * replicate(4)", 1, 2);
  CheckRows("local(1, 6) * spatial(1, 8) * replicate(4)", 1, 2);
  CheckRows("spatial(2, 1) * local(2, 2) * mma.m16n8k32.i8.a", 1, 1);
  CheckRows("replicate(2) * column_local(4, 3) * mma.m16n8k32.f8.b", 0, 1);
  CheckRows("spatial(2, 1) * local(2, 3) * mma.m16n8k8.tf32.a", 1, 4);
  CheckRows("replicate(2) * local(2, 3) * mma.m16n8k8.tf32.b", 0, 4);
}

// Tiles of 64 rows, from rows in runs of 16 bytes to fragments: the words of an access fill whole
// wavefronts, whatever the extent of a row.
TEST(Scratch, HasNoConflictsForRowsOfAnyExtent) {
  for (const int64_t columns : {16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256}) {
    const auto rows = BlockedLayout({64, columns}, 128, 8, 1, true);
    ASSERT_TRUE(rows.ok());
    const TileLayout fragments = LayoutOf("spatial(4, 1) * local(1, " +
                                          std::to_string(columns / 16) + ") * mma.m16n8k16.f16.a");
    const ScratchPlan plan = PlanScratch(*rows, fragments, 2, Target::kSm80);
    ASSERT_TRUE(plan.get.matrices) << columns;
    EXPECT_EQ(plan.put.run, 8) << columns;
    EXPECT_EQ(PlacesOf(*rows, plan.put_places, plan.order),
              PlacesOf(plan.get.matrices->rows, plan.get_places, plan.order));
    // Of 32 threads, 16 bytes each.
    EXPECT_EQ(FirstWavefronts(plan.put_places, plan.order, 2, 16), 4) << columns;
    EXPECT_EQ(FirstWavefronts(plan.get_places, plan.order, 2, 16), 4) << columns;
  }
}

// Runs are whole in tiles with padding, as long as the tile ends at one.
TEST(Scratch, MovesRunsOfPaddedTiles) {
  const auto padded = BlockedLayout({64, 96}, 128, 8, 1);
  ASSERT_TRUE(padded.ok() && padded->PaddedAlong(1));
  EXPECT_EQ(RunAlong(*padded, 1, 2), 8);
  const TileLayout cut = TileLayout::Padded(padded->reg(), {64, 92});
  EXPECT_EQ(RunAlong(cut, 1, 2), 4);
}

TEST(Scratch, LaysElementsAlongTheWiderRuns) {
  const TileLayout rows = LayoutOf("spatial(8, 4) * local(1, 8)");
  const TileLayout columns = LayoutOf("local(4, 1) * spatial(2, 16) * local(1, 2)");
  EXPECT_EQ(RunAlong(rows, 1, 2), 8);
  EXPECT_EQ(RunAlong(rows, 1, 4), 4);
  EXPECT_EQ(RunAlong(rows, 0, 2), 1);
  EXPECT_EQ(RunAlong(columns, 1, 2), 2);
  EXPECT_EQ(PlanScratch(rows, columns, 2, Target::kSm80).fast, 1);
}

// ---- scans -----------------------------------------------------------------------------------

using Kind = ScanLevel::Kind;

// From the last digit of the index to the first, whatever list has it.
TEST(ScanLevels, AreTheDigitsAlongTheAxis) {
  const auto levels = [](const char* text) { return ScanLevels(LayoutOf(text), 1); };
  using Levels = std::vector<ScanLevel>;
  EXPECT_EQ(levels("spatial(32, 1)"), Levels());
  EXPECT_EQ(levels("replicate(4) * local(2, 8) * spatial(1, 32)"),
            (Levels{{Kind::kLanes, 32, 1, 1}, {Kind::kSlots, 8, 1, 32}}));
  EXPECT_EQ(
      levels("spatial(1, 4) * local(2, 2) * spatial(1, 32)"),
      (Levels{{Kind::kLanes, 32, 1, 1}, {Kind::kSlots, 2, 1, 32}, {Kind::kThreads, 4, 32, 64}}));
  EXPECT_EQ(levels("local(1, 3) * spatial(1, 16) * spatial(4, 1) * local(5, 2)"),
            (Levels{{Kind::kSlots, 2, 1, 1},
                    {Kind::kLanes, 8, 4, 2},
                    {Kind::kThreads, 2, 32, 16},
                    {Kind::kSlots, 3, 10, 32}}));
  // Lanes that are no power of two go through shared memory.
  EXPECT_EQ(levels("spatial(1, 3) * spatial(32, 1)"), (Levels{{Kind::kThreads, 3, 32, 1}}));
  EXPECT_EQ(levels("spatial(1, 6) * spatial(16, 1)"),
            (Levels{{Kind::kLanes, 2, 16, 1}, {Kind::kThreads, 3, 32, 2}}));
}

// The totals of a level: all elements that differ in the level and beyond it have places of their
// own.
TEST(ScanLevels, TotalsOfALevelHaveTheirOwnPlaces) {
  for (const char* const text :
       {"spatial(1, 128) * local(2, 2)", "local(2, 2) * spatial(2, 64) * local(1, 2)",
        "spatial(1, 4) * local(2, 2) * spatial(4, 8)",
        "replicate(2) * spatial(1, 64) * local(2, 3)"}) {
    SCOPED_TRACE(text);
    const TileLayout layout = LayoutOf(text);
    for (const ScanLevel& level : ScanLevels(layout, 1)) {
      std::map<Extents, int64_t> place_of;  // by the row, and the index in units of the level
      std::set<int64_t> places;
      for (int64_t thread = 0; thread < layout.threads(); ++thread) {
        for (int64_t slot = 0; slot < layout.slots(); ++slot) {
          const auto digit = [&](bool is_slot, int64_t extent, int64_t stride) {
            return (is_slot ? slot : thread) / stride % extent;
          };
          const ScanTotals totals = TotalsOf(layout, 1, level);
          const int64_t place =
              totals.PlaceOf(true, slot) + totals.PlaceOf(false, thread) +
              digit(level.kind == Kind::kSlots, level.extent, level.stride) * totals.step;
          EXPECT_LT(place, totals.count);
          Extents at = ElementAt(layout, thread, slot);
          at[1] /= level.along;
          const auto [known, is_new] = place_of.try_emplace(at, place);
          EXPECT_EQ(known->second, place);
          if (is_new) {
            EXPECT_TRUE(places.insert(place).second) << "two totals at one place";
          }
        }
      }
    }
  }
}

// ---- the largest elements ----------------------------------------------------------------------

// Every order of zeros and ones, which proves it for all numbers (Knuth, 5.3.4, theorem Z). That
// holds of a selection, too: the k greatest in order are at the front for each threshold.
TEST(SelectionNetwork, FindsTheGreatestInOrder) {
  for (int64_t n = 0; n <= 14; ++n) {
    for (int64_t k = 1; k <= n + 1; ++k) {
      const std::vector<Comparator> network = SelectionNetwork(n, k);
      for (uint32_t bits = 0; bits < uint32_t{1} << n; ++bits) {
        uint32_t wires = bits;
        for (const Comparator& at : network) {
          const uint32_t first = wires >> at.first & 1, second = wires >> at.second & 1;
          wires &= ~(uint32_t{1} << at.first | uint32_t{1} << at.second);
          wires |= (first | second) << at.first | (first & second) << at.second;
        }
        const int ones = std::min(std::popcount(bits), static_cast<int>(std::min(n, k)));
        const uint32_t front = wires & ((uint32_t{1} << std::min(n, k)) - 1);
        ASSERT_EQ(front, (uint32_t{1} << ones) - 1) << n << " wires, " << k << ", " << bits;
      }
    }
  }
}

// Knuth's figures for the merge exchange, and one comparison for each loser of a knockout.
TEST(SelectionNetwork, HasNoMoreComparatorsThanItNeeds) {
  EXPECT_EQ(SelectionNetwork(8, 8).size(), 19u);
  EXPECT_EQ(SelectionNetwork(16, 16).size(), 63u);
  EXPECT_EQ(SelectionNetwork(32, 32).size(), 191u);
  for (const int64_t n : {1, 2, 7, 32, 100}) {
    EXPECT_EQ(SelectionNetwork(n, 1).size(), static_cast<size_t>(n - 1));
  }
}

TEST(TopKPlan, FollowsTheLayout) {
  const TopKPlan plan = PlanTopK(LayoutOf("spatial(1, 128) * local(2, 4)"), 1, 8);
  EXPECT_EQ(plan.rows, 2);
  EXPECT_EQ(plan.elements, 4);
  EXPECT_EQ(plan.in_thread, 4);
  EXPECT_EQ(plan.in_warp, 8);
  EXPECT_TRUE(plan.whole_warp());
  EXPECT_EQ(plan.parts(), 32);
  EXPECT_EQ(plan.of_lane, 1);
  // Two lanes of each row, in two warps: each thread looks through what both found.
  const TopKPlan pairs = PlanTopK(LayoutOf("spatial(1, 2) * spatial(16, 2) * local(1, 3)"), 1, 8);
  EXPECT_EQ(pairs.in_warp, 6);
  EXPECT_EQ(pairs.of_lane, 0);
  EXPECT_EQ(pairs.parts(), 12);
}

TEST(TopKPlan, NumbersHaveRoomForTypeAndIndex) {
  EXPECT_EQ(OrderBits(kF16, 65535), 32u);
  EXPECT_EQ(OrderBits(kF16, 65536), 64u);
  EXPECT_EQ(OrderBits(kI8, 65536), 32u);
  EXPECT_EQ(OrderBits(kF32, 3), 64u);
  EXPECT_EQ(OrderBits(kI64, 3), 128u);
}

// ---- lookups ---------------------------------------------------------------------------------

TEST(Lookup, TablesLieWhereTheirWayWantsThem) {
  EXPECT_EQ(TableLayout(kU4, kF16, 128), LayoutOf("replicate(128) * local(16)"));
  EXPECT_EQ(TableLayout(kU4, kF32, 128), LayoutOf("replicate(8) * spatial(16)"));
  EXPECT_EQ(TableLayout(kI5, kF16, 32), LayoutOf("spatial(32)"));
  EXPECT_EQ(TableLayout(kU8, kF16, 128), LayoutOf("local(2) * spatial(128)"));
  EXPECT_EQ(TableLayout(kU8, kF16, 96), LayoutOf("local(8) * replicate(3) * spatial(32)"));
}

}  // namespace
}  // namespace tarsia::compiler::select_test
