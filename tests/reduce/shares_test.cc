// Plans that several ranks share: every reducer merges, results are those of the meaning in f64 for
// any number of ranks and any limit, and the library's merges do what the planner says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/reduce/run_plan.h"

namespace tarsia::reduce_test {
namespace {

// `body` as a graph over x [i, j], z [k, j], v [j] and whole numbers q [i, j].
std::string Text(const std::string& body, int64_t i, int64_t j, int64_t k) {
  return fmt::format(
      "graph g(%x: f32[i:{}, j:{}], %z: f32[k:{}, j], %v: f32[j], %q: i32[i, j])\n{{\n{}}}\n", i, j,
      k, body);
}

bool Same(const std::vector<double>& a, const std::vector<double>& b) {
  const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

// Without a limit, below the smallest one, and between; through the library the same bits.
void RunEverywhere(const std::string& text, size_t ranks) {
  SCOPED_TRACE(fmt::format("{} ranks\n{}", ranks, text));
  const ConcreteGraph graph = MakeGraph(text, {});
  const auto inputs = RandomInputs(graph, ranks);
  for (const LimitKind kind : {LimitKind::kTotal, LimitKind::kScratch}) {
    const uint64_t smallest = RefusedBelow(graph, 0, kind, ranks).value_or(0);
    if (smallest > 0) {
      EXPECT_EQ(RefusedBelow(graph, smallest - 1, kind, ranks), smallest);
    }
    for (const uint64_t limit : {kNoLimit, smallest + smallest / 3, smallest}) {
      const auto out = RunAndCompareShares(graph, inputs, limit, kind, ranks, "cpu");
      if (testing::Test::HasFailure()) return;
      if (kind != LimitKind::kTotal || limit == 0) continue;
      const auto again = RunThroughApi(text, graph, inputs, limit, static_cast<uint32_t>(ranks));
      for (size_t o = 0; o < out.size(); ++o) EXPECT_TRUE(Same(out[o], again[o])) << o;
    }
  }
}

// The axis that the ranks share.
std::string SharedAxis(const std::string& text, size_t ranks) {
  const ConcreteGraph graph = MakeGraph(text, {});
  Diagnostics found;
  const auto plan = MakePlan(graph, {kNoLimit, LimitKind::kTotal, false, 0, ranks}, found);
  if (!plan || !plan->share) return "";
  return std::string(graph.axes()[plan->share->axis].name);
}

// ---- each reducer over the shared axis ----------------------------------------------------------

class SharedReducer : public testing::TestWithParam<const char*> {};

TEST_P(SharedReducer, Merges) {
  // Nothing but j can be shared, as all else has one element.
  const std::string text = Text(GetParam(), 1, 205, 1);
  for (const size_t ranks : {2, 3, 7}) {
    EXPECT_EQ(SharedAxis(text, ranks), "j");
    RunEverywhere(text, ranks);
  }
}

INSTANTIATE_TEST_SUITE_P(
    ReduceShares, SharedReducer,
    testing::Values(
        "  %y = sum<j> %x\n  return %y\n", "  %y = sum<j>(%x * 3) accumulate kahan\n  return %y\n",
        "  %y = sum<j> %x accumulate pairwise\n  return %y\n",
        "  %y = mean<j> %x accumulate f64\n  return %y\n",
        "  %y = sum<j> %q\n  return %y\n",  //
        "  %y = prod<j>(1 + %x * 0.01)\n  return %y\n",
        "  %y = max<j> %x\n  %z1 = min<j> %q\n  return %y, %z1\n",
        "  %y, %at = argmax<j> %x\n  return %y, %at\n",
        "  %y, %at = argmin<j> %q\n  return %y, %at\n",
        "  %y = logsumexp<j>(%x * 3)\n  return %y\n", "  %y = softmax<j>(%x, %v)\n  return %y\n",
        "  %y, %at = topk<j> %x, t:9\n  return %y, %at\n",
        "  %y, %at = topk<j> %q, t:20\n  return %y, %at\n", "  %y = var<j> %x\n  return %y\n",
        "  %y = dot<j> %x, %z\n  %d = sqdist<j> %x, %z\n  return %y, %d\n",
        "  %y = cosine<j> %x, %z\n  %d = l1dist<j> %x, %z\n  return %y, %d\n",
        "  %y = segment_sum<j->s:1>(%v, iota<j> % 5)\n  return %y\n"));

// Equal elements in all ranks: the lowest index wins.
TEST(ReduceShares, TiesGoToTheLowestIndex) {
  const std::string text = Text(
      "  %e = %q * 0\n  %a, %at = argmax<j> %e\n  %b, %bt = argmin<j> %e\n"
      "  %c, %ct = topk<j> %e, t:6\n  return %at, %bt, %ct\n",
      1, 50, 1);
  const ConcreteGraph graph = MakeGraph(text, {});
  const auto out =
      RunAndCompareShares(graph, RandomInputs(graph, 1), kNoLimit, LimitKind::kTotal, 4, "cpu");
  const std::vector<std::vector<double>> want = {{0}, {0}, {0, 1, 2, 3, 4, 5}};
  EXPECT_EQ(out, want);
}

// ---- what is solved -----------------------------------------------------------------------------

// Every rank has the factor, and its own right-hand sides.
TEST(ReduceShares, RightHandSides) {
  const std::string text =
      "graph g(%a: f64[i:70, h:70], %b: f64[i:70, r:90])\n{\n"
      "  %l = cholesky<i, h>(%a * 0.01 + select(iota<i> == iota<h>, cast<f64>(3), 0))\n"
      "  %x = triangular_solve<i, h>(%l, %b)\n  %y = triangular_solve<h, i>(%l, %x) upper\n"
      "  return %y\n}\n";
  EXPECT_EQ(SharedAxis(text, 4), "r");
  RunEverywhere(text, 4);
}

TEST(ReduceShares, ManyMatrices) {
  const std::string text =
      "graph g(%x: f64[c:41, i:9, d:3], %b: f64[c:41, i:9])\n{\n"
      "  %l = cholesky<i, j>(dot<d>(%x, rename<i->j>(%x)) + select(iota<i> == iota<j>, "
      "cast<f64>(4), 0))\n"
      "  %y = triangular_solve<i, j>(%l, %b)\n  %s = sum<c, j>(%y * %y)\n  return %s, %y\n}\n";
  EXPECT_EQ(SharedAxis(text, 3), "c");
  RunEverywhere(text, 3);
}

// All ranks add to the matrix, and each factors all of it.
TEST(ReduceShares, AFactorOfWhatIsMerged) {
  const std::string text =
      "graph g(%x: f64[i:9, d:205], %b: f64[i:9])\n{\n"
      "  %l = cholesky<i, j>(dot<d>(%x, rename<i->j>(%x)) + select(iota<i> == iota<j>, "
      "cast<f64>(4), 0))\n"
      "  %y = triangular_solve<i, j>(%l, %b)\n  return %l, %y\n}\n";
  EXPECT_EQ(SharedAxis(text, 3), "d");
  RunEverywhere(text, 3);
}

// ---- whole graphs -------------------------------------------------------------------------------

TEST(ReduceShares, RowsNeedNoMerge) {
  const std::string text =
      Text("  %s = sqdist<j> %x, %z\n  %y = sum<k>(exp(-%s))\n  return %y\n", 45, 3, 33);
  EXPECT_EQ(SharedAxis(text, 4), "i");
  const ConcreteGraph graph = MakeGraph(text, {});
  Diagnostics found;
  const Plan plan = MakePlan(graph, {kNoLimit, LimitKind::kTotal, false, 1, 4}, found).value();
  for (const PlanStep& step : plan.steps) EXPECT_NE(step.kind, PlanStep::Kind::kMerge);
  // It reads the rows that it needs, and no others.
  EXPECT_LE(plan.buffers[0].bytes, 12U * 3 * 4);
  RunEverywhere(text, 4);
}

// A result of all rows that each row needs: one merge, then a second loop over the same axis.
TEST(ReduceShares, TwoLoopsOverTheSharedAxis) {
  RunEverywhere(Text("  %m = max<j> %v\n  %e = exp(%v - %m)\n  %s = sum<j> %e\n"
                     "  %p = %e / %s\n  return %p, %m\n",
                     1, 101, 1),
                3);
}

TEST(ReduceShares, SeveralOutputs) {
  RunEverywhere(Text("  %y = sum<j> %x\n  %c = sum<i> %x\n  %t = sum<i> %y\n  %g = %v * 2\n"
                     "  return %y, %c, %t, %g\n",
                     61, 43, 1),
                3);
}

// Of a reduction over two axes, the loop over the one that is not shared is around the other one.
TEST(ReduceShares, AMergeIsBehindBothLoops) {
  const std::string text =
      "graph g(%x: f32[i:40, j:150, d:5])\n{\n  %b, %at = topk<d>(%x, t:2)\n"
      "  %y = sum<i, j, t> %b\n  return %y\n}\n";
  const ConcreteGraph graph = MakeGraph(text, {});
  const uint64_t smallest = RefusedBelow(graph, 0, LimitKind::kScratch, 3).value();
  Diagnostics found;
  const Plan plan = MakePlan(graph, {smallest, LimitKind::kScratch, false, 0, 3}, found).value();
  ASSERT_EQ(plan.splits.size(), 2U);
  EXPECT_EQ(graph.axes()[plan.splits[0].axis].name, "i");
  EXPECT_EQ(plan.share->axis, plan.splits[1].axis);
  RunEverywhere(text, 3);
}

// Global indices: masks, random numbers, and rows that are read at another index.
TEST(ReduceShares, IndicesAreThoseOfTheWholeAxis) {
  RunEverywhere(Text("  %r = uniform<i, j> 7\n  %y = select(iota<j> <= iota<i> * 2, %x, %r)\n"
                     "  %s = sum<j>(%y * rename<i->h>(sum<j>(%x))) \n"
                     "  %t = sum<h>(%s)\n  return %t\n",
                     37, 29, 1),
                4);
}

TEST(ReduceShares, PartsOfTheAxisThatAreConcatenatedAndSliced) {
  RunEverywhere(Text("  %all = concat<i, k->c>(%x, %z + 1)\n  %low = sum<c>(%all * %v)\n"
                     "  %part = slice<j->t:11>(%x * 2, 7)\n  return %low, %part\n",
                     23, 31, 18),
                3);
}

TEST(ReduceShares, InPlace) {
  RunEverywhere(
      "graph g(%x: f32[i:45, j:30]) -> f32[i:45, j:30] in %x, f32[i:45]\n{\n"
      "  %m = max<j> %x\n  %y = %x - %m\n  return %y, %m\n}\n",
      4);
}

TEST(ReduceShares, PackedInputs) {
  RunEverywhere(
      "graph g(%x: f32[i:7, d:24], %q: u4[j:203, d:24], %s: f16[j:203, g:3]) -> f32[i:7, k:5], "
      "i64[i:7, k:5]\n{\n  %z = cast<f32>(%q) * expand<g->d>(cast<f32>(%s))\n"
      "  %best, %at = topk<j>(-sqdist<d>(%x, %z), k:5)\n  return %best, %at\n}\n",
      3);
}

TEST(ReduceShares, MoreRanksThanElements) {
  RunEverywhere(Text("  %y = sum<j> %x\n  %t, %at = argmax<j> %x\n  return %y, %t, %at\n", 1, 3, 1),
                5);
  RunEverywhere(Text("  %y = %v * 2\n  %t = sum<j> %v\n  return %y, %t\n", 1, 3, 1), 5);
}

TEST(ReduceShares, OnTheEmulator) {
  const ConcreteGraph graph = MakeGraph(
      Text("  %y = softmax<j>(%x, %z)\n  %t, %at = topk<j> %v, p:3\n  return %y, %t, %at\n", 1, 150,
           5),
      {});
  RunAndCompareShares(graph, RandomInputs(graph, 3), kNoLimit, LimitKind::kTotal, 2, "ptx");
}

// A value of all elements that is read at another index is no part of one rank's share.
TEST(ReduceShares, NothingToShare) {
  EXPECT_EQ(SharedAxis(Text("  %y = %q * 2\n  return %y\n", 1, 1, 1), 4), "");
}

}  // namespace
}  // namespace tarsia::reduce_test
