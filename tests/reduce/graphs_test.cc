// Each operation and each reducer that the planner takes, against the meaning of graphs in f64,
// under all limits; and what special values do.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "planner/diagnostics.h"
#include "tests/reduce/run_plan.h"

namespace tarsia::reduce_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// `body` as a graph over x [i, j], z [k, j], v [j] and whole numbers q [i, j].
ConcreteGraph Graph(const std::string& type, const std::string& body, int64_t i = 21,
                    int64_t j = 75, int64_t k = 13) {
  return MakeGraph("graph g(%x: " + type + "[i:I, j:J], %z: " + type + "[k:K, j:J], %v: " + type +
                       "[j:J], %q: i32[i:I, j:J])\n  const I: int, J: int, K: int\n{\n" + body +
                       "}\n",
                   {{"I", i}, {"J", j}, {"K", k}});
}

TEST(ReduceGraphs, Elementwise) {
  CompareAtAllLimits(
      Graph("f32",
            "  %a = (%x + %v) * 0.5 - %x / (abs(%v) + 1)\n"
            "  %b = exp(-%x) + log(abs(%x) + 1) + tanh(%x) + erf(%v)\n"
            "  %c = sqrt(abs(%x)) + rsqrt(abs(%v) + 2) + floor(%x * 3)\n"
            "  %d = select(%x < %v and not %x == 0 or %v >= 1, min(%x, 1), max(%v, -1))\n"
            "  %e = cast<f32>(%q % 3) + select(iota<j> <= iota<i>, %x, 0)\n"
            "  %f = cast<i32>(floor(%x)) + %q + cast<i32>(%x * 4)\n"
            "  return %a, %b, %c, %d, %e, %f\n"),
      2, "cpu");
}

TEST(ReduceGraphs, Shapes) {
  CompareAtAllLimits(Graph("f32",
                           "  %y = rename<i->h> %x\n"
                           "  %s = sqdist<j> %x, %y\n"
                           "  %near = sum<h>(exp(-%s))\n"
                           "  %part = slice<j->t:31>(%x * 2, 17)\n"
                           "  %all = concat<i, k->c>(%x, %z + 1)\n"
                           "  %low = min<c>(sum<j>(concat<i, k->c>(%x, %z)))\n"
                           "  %wide = broadcast<b:3> %v\n"
                           "  return %near, %part, %all, %low, %wide\n"),
                     3, "cpu");
}

// Whether one of a plan's kernels has the instruction `dot`.
bool HasMatrixProduct(const ConcreteGraph& graph) {
  Diagnostics diagnostics;
  const std::optional<Plan> plan = MakePlan(graph, {}, diagnostics);
  return plan && plan->Text().find(" = dot ") != std::string::npos;
}

TEST(ReduceGraphs, ProductsOfMatrices) {
  constexpr const char* kBodies[] = {
      "  %y = dot<j> %x, %z\n  return %y\n",
      // Columns before rows; a product with an operand that is made of one with fewer axes.
      "  %y = dot<j>(%z + 1, %x)\n  %w = broadcast<i:I>(%v)\n  %t = dot<j> %w, %z\n"
      "  return %y, %t\n",
      // Weights that no exponential makes, and scores that are a product themselves.
      "  %s = dot<j>(%x, rename<i->h>(%x))\n  %y = softmax<h>(%s, rename<i->h>(%x))\n  return %y\n",
      "  %s = dot<j>(%x, rename<i->h>(%x))\n"
      "  %y = softmax<h>(select(iota<h> <= iota<i>, %s, -inf), rename<i->h>(%x))\n  return %y\n",
  };
  int seed = 40;
  for (const char* const body : kBodies) {
    for (const char* const type : {"f32", "f64"}) {
      SCOPED_TRACE(std::string(type) + "\n" + body);
      const ConcreteGraph graph = Graph(type, body);
      EXPECT_TRUE(HasMatrixProduct(graph));
      CompareAtAllLimits(graph, ++seed, "cpu");
    }
    CompareAtAllLimits(Graph("f32", body, 11, 35, 9), ++seed, "ptx");
  }
  for (const char* const type : {"f16", "bf16"}) {
    const ConcreteGraph graph = Graph(type, kBodies[0]);
    EXPECT_TRUE(HasMatrixProduct(graph));
    CompareAtAllLimits(graph, ++seed, "cpu");
    CompareAtAllLimits(graph, ++seed, "ptx");
  }
}

TEST(ReduceGraphs, SquaredDistancesMayBeExpanded) {
  const ConcreteGraph graph = Graph("f32", "  %y = sqdist<j> %x, %z\n  return %y\n");
  EXPECT_FALSE(HasMatrixProduct(graph));
  PlanOptions options;
  options.fast = true;
  Diagnostics diagnostics;
  const std::optional<Plan> plan = MakePlan(graph, options, diagnostics);
  ASSERT_TRUE(plan.has_value());
  EXPECT_NE(plan->Text().find(" = dot "), std::string::npos);
  // Multiples of 1/64 below 2: all sums are exact in f32. Then rows that are close to each other
  // and far from 0, whose distances are not exact, but not below 0 either.
  auto inputs = RandomInputs(graph, 7);
  for (const bool close : {false, true}) {
    if (close) {
      for (size_t i = 0; i < 2; ++i) {
        for (size_t e = 0; e < inputs[i].size(); ++e) {
          inputs[i][e] = static_cast<float>(1000.1 + 1e-3 * static_cast<double>(e % 75 + i));
        }
      }
    }
    for (const char* const device : {"cpu", "ptx"}) {
      const auto outputs = reduce_test::Run(*plan, graph, inputs, device);
      for (size_t i = 0; i < 21; ++i) {
        for (size_t k = 0; k < 13; ++k) {
          double truth = 0;
          double size = 0;
          for (size_t j = 0; j < 75; ++j) {
            const double a = inputs[0][i * 75 + j];
            const double b = inputs[1][k * 75 + j];
            truth += (a - b) * (a - b);
            size += a * a + b * b;
          }
          const double got = outputs[0][i * 13 + k];
          if (close) {
            EXPECT_GE(got, 0) << device;
            EXPECT_NEAR(got, truth, 75 * 0x1p-24 * size) << device;  // of sums in f32
          } else {
            EXPECT_EQ(got, truth) << device << " " << i << " " << k;
          }
        }
      }
    }
  }
}

TEST(ReduceGraphs, AnOutputMayBeTransposed) {
  const auto graph = MakeGraph(
      "graph t(%x: f32[i:7, j:70]) -> f32[j:70, i:7], f32[j:70]\n{\n  %y = sum<i> %x\n"
      "  return %x, %y\n}\n",
      {});
  CompareAtAllLimits(graph, 4, "cpu");
  CompareAtAllLimits(graph, 4, "ptx");
}

// All reducers, of a type.
std::string Reducers() {
  return "  %total = sum<i, j> %x accumulate pairwise\n"
         "  %column = sum<i> %x accumulate kahan\n"
         "  %row = sum<j> %x accumulate f64\n"
         "  %product = prod<i>(%x * 0.25 + 1)\n"
         "  %high = max<j> %x\n"
         "  %low = min<i, j> %x\n"
         "  %best, %best_at = argmax<j>(%x * %v)\n"
         "  %least, %least_at = argmin<i> %x\n"
         "  %log = logsumexp<j> %x\n"
         "  %mix = softmax<j> %x, %z\n"
         "  %middle = mean<j> %x\n"
         "  %spread = var<j> %x\n"
         "  return %total, %column, %row, %product, %high, %low, %best, %best_at, %least, "
         "%least_at, %log, %mix, %middle, %spread\n";
}

TEST(ReduceGraphs, ReducersOfF32) { CompareAtAllLimits(Graph("f32", Reducers()), 5, "cpu"); }
TEST(ReduceGraphs, ReducersOfF64) { CompareAtAllLimits(Graph("f64", Reducers()), 6, "cpu"); }
TEST(ReduceGraphs, ReducersOfF16) { CompareAtAllLimits(Graph("f16", Reducers()), 7, "cpu"); }
TEST(ReduceGraphs, ReducersOnTheEmulator) {
  const auto graph = Graph("f32", Reducers(), 5, 75, 3);
  RunAndCompare(graph, RandomInputs(graph, 8), kNoLimit, LimitKind::kTotal, "ptx");
}

TEST(ReduceGraphs, ReducersOfIntegers) {
  CompareAtAllLimits(
      Graph("f32",
            "  %total = sum<i, j> %q\n"
            "  %product = prod<i>(%q % 2 + 1)\n"
            "  %high = max<j> %q\n"
            "  %low = min<i> %q\n"
            "  %best, %at = argmax<j> %q\n"
            "  %least, %least_at = argmin<j> %q\n"
            "  return %total, %product, %high, %low, %best, %at, %least, %least_at\n"),
      9, "cpu");
}

TEST(ReduceGraphs, Contractions) {
  for (const char* const type : {"f32", "f16", "f64"}) {
    CompareAtAllLimits(Graph(type,
                             "  %dot = dot<j> %x, %z\n"
                             "  %size = dot<i, j> %x, %x accumulate kahan\n"
                             "  %l2 = sqdist<j> %x, %z\n"
                             "  %l1 = l1dist<j> %x, %z\n"
                             "  %angle = cosine<j> %x, %z\n"
                             "  return %dot, %size, %l2, %l1, %angle\n"),
                       10, "cpu");
  }
}

// A reduction within a reduction, of all widths: kept, split or computed again.
TEST(ReduceGraphs, ReductionsOfReductions) {
  const std::string body =
      "  %s = sqdist<j> %x, %z\n"
      "  %lse = logsumexp<k>(-%s)\n"
      "  %p = exp(-%s - %lse)\n"
      "  %weight = sum<i> %p\n"
      "  %mean = dot<k>(%p, dot<j>(%z, %v))\n"
      "  %far, %at = argmax<k>(sum<i>(%s * %p))\n"
      "  %spread = var<i, k> %s\n"
      "  return %lse, %weight, %mean, %far, %at, %spread\n";
  CompareAtAllLimits(Graph("f32", body), 11, "cpu");
  const auto small = Graph("f32", body, 9, 12, 20);
  const auto inputs = RandomInputs(small, 12);
  for (const uint64_t limit : {uint64_t{1}, uint64_t{600}, uint64_t{1000}, kNoLimit}) {
    RunAndCompare(small, inputs, limit, LimitKind::kScratch, "ptx");
  }
}

TEST(ReduceGraphs, LargestOfEachType) {
  for (const char* const type : {"f32", "f16", "f64"}) {
    CompareAtAllLimits(Graph(type,
                             "  %best, %at = topk<j> %x, a:5\n"
                             "  %near, %near_at = topk<k>(-sqdist<j>(%x, %z), b:3)\n"
                             "  %most, %most_at = topk<j> %q, c:70\n"
                             "  %all, %all_at = topk<i>(%x * 2, all:21)\n"
                             "  return %best, %at, %near, %near_at, %most_at, %most, %all\n"),
                       14, "cpu");
  }
}

TEST(ReduceGraphs, LargestOnTheEmulator) {
  const auto graph = Graph("f32",
                           "  %best, %at = topk<j> %x, a:7\n"
                           "  %near, %near_at = topk<k>(-sqdist<j>(%x, %z), b:3)\n"
                           "  %most, %most_at = topk<j> %q, c:9\n"
                           "  return %best, %at, %near_at, %most, %most_at\n",
                           9, 75, 13);
  CompareAtAllLimits(graph, 15, "ptx");
}

// What topk chooses goes on, with its new axis; one of its results may be an output.
TEST(ReduceGraphs, LargestWithinAGraph) {
  CompareAtAllLimits(Graph("f32",
                           "  %s = sqdist<j> %x, %z\n"
                           "  %near, %at = topk<k>(-%s, a:4)\n"
                           "  %middle = mean<a>(exp(%near) * cast<f32>(%at + 1))\n"
                           "  %best, %where = topk<i> %middle, b:2\n"
                           "  %low = rename<a->c>(%near) - %near\n"
                           "  return %middle, %at, %where, %low\n"),
                     16, "cpu");
}

// Whole numbers, most of which are equal to others, in more tiles than one.
TEST(ReduceGraphs, LargestOfManyTilesKeepTheirOrder) {
  const auto graph = MakeGraph(
      "graph g(%q: i32[i:3, j:5000])\n{\n  %a, %b = topk<j> %q, k:9\n  return %a, %b\n}\n", {});
  CompareAtAllLimits(graph, 25, "cpu");
}

// Parts and chunks of one axis keep the order of the indices: all elements are equal in pairs.
TEST(ReduceGraphs, LargestInPartsAndChunks) {
  const auto graph = MakeGraph(
      "graph g(%x: f32[j:70003, d:2], %y: f32[i:2, d:2])\n{\n"
      "  %s = l1dist<d>(%x, %y)\n  %u = floor(%s)\n"
      "  %a, %b = topk<j> %u, k:12\n  %c = sum<j>(%s * 0.5)\n"
      "  return %a, %b, %c\n}\n",
      {});
  CompareAtAllLimits(graph, 17, "cpu");
}

// x [i, j] by whole numbers, some of them outside of the axis.
std::string ByIndices() {
  return "  %at = %q - 1\n"
         "  %rows = gather<k>(%z, %at)\n"
         "  %some = gather<i>(exp(%x) + dot<k>(%z, %z) * 0.01, slice<i->t:9>(%at, 2))\n"
         "  %pairs = gather<j>(%x, cast<i64>(rename<j->e>(%q)) + iota<i>)\n"
         "  %sums = segment_sum<i->s:5> %x, %at\n"
         "  %total = segment_sum<j->s:5>(%x * %v, cast<u8>(%q)) accumulate f64\n"
         "  %wide = expand<k->w:K * 3>(%z * 2)\n"
         "  %mean = mean<w>(expand<k->w:K * 3>(%z) * cast<f32>(iota<w>))\n"
         "  return %rows, %some, %pairs, %sums, %total, %wide, %mean\n";
}

TEST(ReduceGraphs, ByIndices) { CompareAtAllLimits(Graph("f32", ByIndices(), 21, 35), 18, "cpu"); }
TEST(ReduceGraphs, ByIndicesOnTheEmulator) {
  const auto graph = Graph("f32", ByIndices(), 12, 35, 5);
  RunAndCompare(graph, RandomInputs(graph, 18), kNoLimit, LimitKind::kTotal, "ptx");
  const uint64_t smallest = RefusedBelow(graph, 0, LimitKind::kScratch).value_or(0);
  RunAndCompare(graph, RandomInputs(graph, 18), smallest, LimitKind::kScratch, "ptx");
}

// What is gathered is kept whole, whatever is split.
TEST(ReduceGraphs, KeptResultsByIndices) {
  CompareAtAllLimits(Graph("f32",
                           "  %s = sqdist<j> %x, %z\n"
                           "  %t = sum<k>(exp(-%s))\n"
                           "  %there = gather<i>(%t, max<i>(%q))\n"
                           "  %far = sum<i, j>(%t * exp(-%there))\n"
                           "  %best, %at = argmax<i>(%s)\n"
                           "  %back = gather<i>(%s, %at)\n"
                           "  return %far, %back, %t\n"),
                     19, "cpu");
}

std::string RandomNumbers() {
  return "  %bits = rand<i, j> 7\n"
         "  %share = uniform<j, i>(%seed)\n"
         "  %noise = normal<i, j> %seed\n"
         "  %kept = sum<j>(select(uniform<i, j>(%seed) < 0.9, %x, 0))\n"
         "  %later = slice<j->t:17>(normal<j>(-3), 11)\n"
         "  %bell = sum<i>(normal<i>(5))\n"
         "  return %bits, %share, %noise, %kept, %later, %bell\n";
}

// An input that is needed at two times, under another name the second time, is loaded twice if it
// does not fit beside what is needed between.
TEST(ReduceGraphs, InputsThatComeAgain) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%x: f32[i:40, d:9], %z: f32[j:60, d:9]) -> f32[i:40, a:3], f32[k:40]\n{\n"
      "  %best, %at = topk<j>(-sqdist<d>(%x, %z), a:3)\n"
      "  %y = sum<d>(rename<i->k>(%x) * max<i, a>(%best))\n  return %best, %y\n}\n",
      {});
  CompareAtAllLimits(graph, 3, "cpu");
}

// More elements than a sieve has, in the order of their segments and in none.
TEST(ReduceGraphs, SegmentsOfManyElements) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%x: f32[i:n, d], %row: i32[i:n], %any: i32[i:n]) -> f32[r:m, d], f32[r:m]\n"
      "  const n: int, m: int, d: int\n{\n"
      "  %y = segment_sum<i->r:m>(%x, %row)\n  %z = segment_sum<i->r:m>(sum<d>(%x), %any) "
      "accumulate kahan\n"
      "  return %y, %z\n}\n",
      {{"n", 13'001}, {"m", 300}, {"d", 2}});
  auto inputs = RandomInputs(graph, 9);
  for (size_t i = 0; i < 13'001; ++i) {
    // The last segment of a tile alone for a long time, and the last ones behind all segments.
    const size_t segment = i < 5'000 ? i / 20 : (i < 12'500 ? 255 : 256 + (i - 12'500) / 10);
    inputs[1][i] = static_cast<double>(segment);
    inputs[2][i] = static_cast<double>(i * 7919 % 311) - 5;
  }
  Diagnostics found;
  const auto plan = MakePlan(graph, {}, found);
  ASSERT_TRUE(plan);
  EXPECT_NE(plan->Text().find("load.scalar"), std::string::npos);
  RunAndCompare(graph, inputs, kNoLimit, LimitKind::kTotal, "cpu");
  RunAndCompare(graph, inputs, RefusedBelow(graph, 0, LimitKind::kTotal).value() + 40'000,
                LimitKind::kTotal, "cpu");
  RunAndCompare(graph, inputs, kNoLimit, LimitKind::kScratch, "ptx");
}

// More values than a word has bits.
TEST(ReduceGraphs, ManyValues) {
  std::string inputs;
  std::string sum;
  for (int i = 0; i < 70; ++i) {
    inputs += fmt::format("{}%x{}: f32[i:7]", i == 0 ? "" : ", ", i);
    sum += fmt::format("{}%x{}", i == 0 ? "" : " + ", i);
  }
  const ConcreteGraph graph =
      MakeGraph("graph g(" + inputs + ") -> f32[i:7]\n{\n  %y = " + sum + "\n  return %y\n}\n", {});
  RunAndCompare(graph, RandomInputs(graph, 4), kNoLimit, LimitKind::kTotal, "cpu");
}

TEST(ReduceGraphs, RandomNumbers) {
  const auto graph =
      MakeGraph("graph g(%x: f32[i:21, j:75], %seed: u64)\n{\n" + RandomNumbers() + "}\n", {});
  CompareAtAllLimits(graph, 20, "cpu");
  RunAndCompare(graph, RandomInputs(graph, 21), kNoLimit, LimitKind::kTotal, "ptx");
}

TEST(ReduceGraphs, Powers) {
  for (const char* const type : {"f32", "f16", "f64"}) {
    CompareAtAllLimits(Graph(type,
                             "  %a = pow(abs(%x), %v)\n"
                             "  %b = pow(%x, 3) + pow(%x, -2) * 0.125\n"
                             "  %c = sum<j>(pow(%x, 0))\n"
                             "  return %a, %b, %c\n"),
                       22, "cpu");
  }
}

// An output takes the memory of an input that other outputs need, at other elements, too.
TEST(ReduceGraphs, OutputsInTheMemoryOfInputs) {
  const auto graph = MakeGraph(
      "graph g(%x: f32[i:45, j:70], %z: f32[i:45, j:70]) -> f32[i:45, j:70] in %x, f32[j:70], "
      "f32[i:45, j:70] in %z, f32[i:45, j:70]\n{\n"
      "  %y = (%x - mean<j>(%x)) * rsqrt(var<j>(%x) + 1)\n"
      "  %column = sum<i>(exp(%x))\n"
      "  %w = %z * 2 + %y\n"
      "  %v = %x * %z + 1\n"
      "  return %y, %column, %w, %v\n}\n",
      {});
  CompareAtAllLimits(graph, 23, "cpu");
  RunAndCompare(graph, RandomInputs(graph, 23), kNoLimit, LimitKind::kTotal, "ptx");
  RunAndCompare(graph, RandomInputs(graph, 23), kNoLimit, LimitKind::kScratch, "ptx");
  Diagnostics found;
  const auto plan = MakePlan(graph, {}, found);
  ASSERT_TRUE(plan);
  for (const PlanBuffer& buffer : plan->buffers) {
    if (!buffer.in_place) continue;
    EXPECT_EQ(buffer.offset, plan->buffers[*buffer.in_place].offset);
  }
  const auto chunked = MakeGraph(
      "graph g(%x: f32[i:45, d:30], %y: f32[j:77, d:30]) -> f32[i:45, d:30] in %x\n{\n"
      "  %k = exp(-sqdist<d>(%x, %y))\n  %z = %x * 0.5 + dot<j>(%k, %y)\n  return %z\n}\n",
      {});
  CompareAtAllLimits(chunked, 24, "cpu");
}

// Long reductions with few results are cut into parts, which cost memory.
TEST(ReduceGraphs, LongReductionsInParts) {
  const auto graph = MakeGraph(
      "graph g(%x: f32[i:500], %y: f32[j:301])\n{\n  %s = exp(%x * 0.1) * %y\n"
      "  %total = sum<i, j> %s accumulate kahan\n  %log = logsumexp<i, j> %s\n"
      "  %spread = var<i, j> %s\n  %high = max<i, j> %s\n"
      "  return %total, %log, %spread, %high\n}\n",
      {});
  Diagnostics found;
  const auto plan = MakePlan(graph, {}, found);
  ASSERT_TRUE(plan);
  const auto partial = std::any_of(plan->buffers.begin(), plan->buffers.end(), [](const auto& b) {
    return b.kind == PlanBuffer::Kind::kScratch && b.extents[0] > 1;
  });
  EXPECT_TRUE(partial) << plan->Text();
  CompareAtAllLimits(graph, 13, "cpu");
}

// ---- special values --------------------------------------------------------------------------

std::vector<double> Only(const std::string& formula, const std::vector<double>& x) {
  const auto graph = MakeGraph(
      "graph g(%x: f32[j:" + std::to_string(x.size()) + "])\n{\n  " + formula + "\n}\n", {});
  std::vector<double> out;
  Diagnostics found;
  const auto plan = MakePlan(graph, {}, found);
  EXPECT_TRUE(plan);
  if (plan) {
    for (const auto& output : Run(*plan, graph, {x}, "cpu")) out.push_back(output.at(0));
  }
  return out;
}

// A row of 100 elements, all `fill` but for the given ones.
std::vector<double> Row(double fill, const std::vector<std::pair<size_t, double>>& set) {
  std::vector<double> out(100, fill);
  for (const auto& [at, value] : set) out[at] = value;
  return out;
}

TEST(ReduceGraphs, TiesGoToTheLowestIndex) {
  const std::string best =
      "%a, %b = argmax<j> %x\n  %c, %d = argmin<j> %x\n  return %a, %b, %c, %d";
  EXPECT_EQ(Only(best, Row(0, {{70, 5}, {3, 5}, {67, 5}, {99, -1}, {33, -1}})),
            (std::vector<double>{5, 3, -1, 33}));
  EXPECT_EQ(Only(best, Row(kInf, {})), (std::vector<double>{kInf, 0, kInf, 0}));
  EXPECT_EQ(Only(best, Row(-kInf, {})), (std::vector<double>{-kInf, 0, -kInf, 0}));
}

TEST(ReduceGraphs, NansAreLeftOutOfExtremes) {
  const std::string best =
      "%a, %b = argmax<j> %x\n  %c = max<j> %x\n  %d = min<j> %x\n  return %a, %b, %c, %d";
  EXPECT_EQ(Only(best, Row(kNan, {{70, 5}, {98, 7}})), (std::vector<double>{7, 98, 7, 5}));
  const auto none = Only(best, Row(kNan, {}));
  EXPECT_TRUE(std::isnan(none[0]) && std::isnan(none[2]) && std::isnan(none[3]));
  EXPECT_EQ(none[1], 0);
}

TEST(ReduceGraphs, NansAndInfinitiesOfSums) {
  const std::string sums = "%a = sum<j> %x\n  %b = logsumexp<j> %x\n  return %a, %b";
  const auto nan = Only(sums, Row(1, {{70, kNan}}));
  EXPECT_TRUE(std::isnan(nan[0]) && std::isnan(nan[1]));
  EXPECT_EQ(Only(sums, Row(1, {{70, kInf}})), (std::vector<double>{kInf, kInf}));
  EXPECT_EQ(Only(sums, Row(-kInf, {})), (std::vector<double>{-kInf, -kInf}));
  EXPECT_EQ(Only(sums, Row(-kInf, {{99, 2000}}))[1], 2000);
}

// As C has it, but for the sign of zero.
TEST(ReduceGraphs, PowersOfSpecialValues) {
  const std::vector<double> ends = {0,    1,    -1,    2,    -2,    3,    -3,    0.5,
                                    -0.5, 1e30, -1e30, kInf, -kInf, kNan, 1e-30, 7};
  std::vector<double> x;
  std::vector<double> y;
  for (const double a : ends) {
    for (const double b : ends) {
      x.push_back(static_cast<float>(a));
      y.push_back(static_cast<float>(b));
    }
  }
  const auto graph = MakeGraph(
      "graph g(%x: f32[j:256], %y: f32[j:256])\n{\n  %z = pow %x, %y\n  return %z\n}\n", {});
  Diagnostics found;
  const auto plan = MakePlan(graph, {}, found);
  ASSERT_TRUE(plan);
  const auto out = reduce_test::Run(*plan, graph, {x, y}, "cpu").at(0);
  for (size_t i = 0; i < x.size(); ++i) {
    const auto want = static_cast<float>(std::pow(x[i], y[i]));
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(out[i])) << x[i] << " " << y[i] << " " << out[i];
    } else {
      EXPECT_FLOAT_EQ(static_cast<float>(out[i]), want) << x[i] << " " << y[i];
    }
  }
}

TEST(ReduceGraphs, Nothing) {
  const auto none = Only(
      "%a = sum<j> %x\n  %b = prod<j> %x\n  %c = max<j> %x\n  %d = min<j> %x\n  %e = logsumexp<j> "
      "%x\n"
      "  %f = mean<j> %x\n  return %a, %b, %c, %d, %e, %f",
      {});
  EXPECT_EQ((std::vector<double>(none.begin(), none.begin() + 5)),
            (std::vector<double>{0, 1, -kInf, kInf, -kInf}));
  EXPECT_TRUE(std::isnan(none[5]));
}

TEST(ReduceGraphs, TheOrderOfTopK) {
  const auto top = [](const std::vector<double>& x) {
    const auto graph = MakeGraph("graph g(%x: f32[j:" + std::to_string(x.size()) +
                                     "])\n{\n  %a, %b = topk<j> %x, k:4\n  return %a, %b\n}\n",
                                 {});
    Diagnostics found;
    const auto plan = MakePlan(graph, {}, found);
    EXPECT_TRUE(plan);
    std::vector<double> out;
    if (!plan) return out;
    for (const auto& part : reduce_test::Run(*plan, graph, {x}, "cpu")) {
      for (const double value : part) out.push_back(std::isnan(value) ? -77 : value);
    }
    return out;
  };
  using Chosen = std::vector<double>;
  EXPECT_EQ(top(Row(0, {{70, 5}, {3, 5}, {99, 7}})), (Chosen{7, 5, 5, 0, 99, 3, 70, 0}));
  EXPECT_EQ(top(Row(-0.0, {{1, 0}, {2, 0}})), (Chosen{0, 0, 0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(top(Row(-kInf, {{70, 5}, {3, kInf}})), (Chosen{kInf, 5, -kInf, -kInf, 3, 70, 0, 1}));
  // NaN come behind all numbers, the first ones first.
  EXPECT_EQ(top(Row(kNan, {{0, 5}, {2, -kInf}})), (Chosen{5, -kInf, -77, -77, 0, 2, 1, 3}));
  EXPECT_EQ(top(Row(kNan, {{70, 1}, {1, 9}})), (Chosen{9, 1, -77, -77, 1, 70, 0, 2}));
  EXPECT_EQ(top(Row(kNan, {})), (Chosen{-77, -77, -77, -77, 0, 1, 2, 3}));
}

TEST(ReduceGraphs, TheOrderOfTopKOfIntegers) {
  for (const char* const type : {"i8", "u8", "i32", "i64", "u64"}) {
    const auto graph = MakeGraph(std::string("graph g(%x: ") + type +
                                     "[j:90])\n{\n  %a, %b = topk<j> %x, k:4\n"
                                     "  return %a, %b\n}\n",
                                 {});
    Diagnostics found;
    const auto plan = MakePlan(graph, {}, found);
    ASSERT_TRUE(plan);
    // The least number of the type, but for two elements.
    const double least = type[0] == 'u' ? 0 : std::string(type) == "i8" ? -128 : -8;
    std::vector<double> x(90, least);
    x[80] = 3;
    x[1] = 3;
    const auto out = reduce_test::Run(*plan, graph, {x}, "cpu");
    EXPECT_EQ(out[0], (std::vector<double>{3, 3, least, least})) << type;
    EXPECT_EQ(out[1], (std::vector<double>{1, 80, 0, 2})) << type;
  }
}

// ---- refusals --------------------------------------------------------------------------------

// Without what the smallest limit costs.
std::string ErrorOf(const ConcreteGraph& graph, const PlanOptions& options) {
  Diagnostics found;
  EXPECT_FALSE(MakePlan(graph, options, found));
  const std::string& help = found.list().at(0).help;
  return found.list().at(0).message + "; " + help.substr(0, help.find(", which takes"));
}

// Below the smallest limit the inner product is computed again for each chunk of the outer one.
TEST(ReduceGraphs, RefusalsNameALimitThatCostsLess) {
  const ConcreteGraph graph = MakeGraph(
      "graph chain(%a: f32[i:n, j:n], %b: f32[j:n, k:n], %c: f32[k:n, l:n])\n  const n: int\n{\n"
      "  %t = dot<k> %b, %c\n  %y = dot<j> %a, %t\n  return %y\n}\n",
      {{"n", 1000}});
  Diagnostics found;
  ASSERT_FALSE(MakePlan(graph, {1}, found));
  const std::string& help = found.list().at(0).help;
  unsigned long long smallest = 0;
  unsigned long long better = 0;
  double times = 0;
  ASSERT_EQ(std::sscanf(help.c_str(),
                        "smallest limit: %llu bytes, which takes about %lf times as long as no "
                        "limit; %llu bytes take",
                        &smallest, &times, &better),
            3)
      << help;
  const auto operations = [&](uint64_t limit) {
    Diagnostics none;
    return MakePlan(graph, {limit}, none).value().operations;
  };
  EXPECT_FALSE(MakePlan(graph, {smallest - 1}, found));
  EXPECT_GT(operations(smallest), 10 * operations(kNoLimit));
  EXPECT_LT(operations(better), 2 * operations(kNoLimit));
  EXPECT_GT(times, 10);
}

// Two buffers for chunks of x [c, 16] and of y [c] each, and w: 17728 bytes at c = 128, 8768 at 64.
TEST(ReduceGraphs, ChunksAreTheLargestThatFit) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%x: f32[i:1000, j:16], %w: f32[j:16])\n{\n  %y = sum<j>(%x * %w)\n  return %y\n}\n",
      {});
  for (const auto& [limit, chunk] : {std::pair{20'000, 128}, {17'000, 64}, {9'000, 64}}) {
    Diagnostics found;
    const PlanOptions options{static_cast<uint64_t>(limit), LimitKind::kTotal};
    const Plan plan = MakePlan(graph, options, found).value();
    ASSERT_EQ(plan.splits.size(), 1U);
    EXPECT_EQ(graph.axes()[plan.splits[0].axis].name, "i");
    EXPECT_EQ(plan.splits[0].high, chunk) << limit;
    EXPECT_LE(plan.peak, options.limit);
  }
}

TEST(ReduceGraphs, Refusals) {
  EXPECT_EQ(ErrorOf(Graph("f32", "  %a, %b = topk<j> %x, n:129\n  return %a\n", 3, 200), {}),
            "this version plans `topk` of 1 to 128 elements, not of 129; ");
  EXPECT_EQ(ErrorOf(MakeGraph("graph g(%x: u4[i:3], %at: i32[k:2])\n{\n  %y = gather<i> %x, %at\n"
                              "  return %y\n}\n",
                              {}),
                    {}),
            "this version does not plan `gather` of u4; `cast` makes numbers of its operands; "
            "docs/reductions.md lists what it plans");
  EXPECT_EQ(
      ErrorOf(MakeGraph("graph g(%x: f32[i:3]) -> f32[i:3] in %x\n{\n"
                        "  %y = gather<i>(%x, 2 - iota<j:3>)\n  %z = rename<j->i> %y\n"
                        "  return %z\n}\n",
                        {}),
              {}),
      "no order of the operations of `g` reads `%x` for the last time where an output is "
      "written in its memory; leave out `in`, or read the input only at the elements that are "
      "written");
  EXPECT_EQ(ErrorOf(Graph("f32", "  %a, %b = argmax<j> %x\n  return %a\n", 3, 0), {}),
            "`argmax` has no result, as the axis `j` has no elements; ");
  EXPECT_EQ(ErrorOf(MakeGraph("graph g(%x: f32[i:100])\n{\n  %y = %x + 1\n  return %y\n}\n", {}),
                    {771, LimitKind::kTotal}),
            "`g` cannot be computed in 771 bytes: the smallest chunks of its inputs and outputs "
            "alone take "
            "772, those of `%x` the most; smallest limit: 772 bytes");  // two chunks of each
  std::string wide =
      "graph g(%x: f32[a:2, b:2, c:2, d:2, e:2, f:2, g:2, h:2, i:2])\n{\n"
      "  %y = %x + 1\n  return %y\n}\n";
  EXPECT_EQ(ErrorOf(MakeGraph(wide, {}), {}),
            "`g` needs 9 axes at once, and a tile has at most 8; ");
}

// What else must be in memory than inputs and outputs.
TEST(ReduceGraphs, RefusalsOfResultsInMemory) {
  // Of one row at a time: two indices, two values behind 256 bytes, and the sum so far behind 512.
  const ConcreteGraph graph = MakeGraph(
      "graph g(%x: f32[i:100, j:50]) -> f32\n{\n  %a, %at = topk<j> %x, k:2\n"
      "  %y = sum<i, k>(%a * cast<f32>(%at))\n  return %y\n}\n",
      {});
  EXPECT_EQ(ErrorOf(graph, {10, LimitKind::kScratch}),
            "`g` cannot be computed in 10 bytes; smallest limit: 516 bytes");
}

// A sum over all of an input that is larger than the limit goes chunk by chunk, unless its order
// may not depend on that.
TEST(ReduceGraphs, AStrictOrderForbidsSplits) {
  const ConcreteGraph graph =
      MakeGraph("graph g(%x: f32[i:1000]) -> f32\n{\n  %y = sum<i> %x\n  return %y\n}\n", {});
  Diagnostics found;
  EXPECT_TRUE(MakePlan(graph, {2000, LimitKind::kTotal}, found));
  PlanOptions strict{2000, LimitKind::kTotal};
  strict.strict_order = true;
  EXPECT_EQ(ErrorOf(graph, strict),
            "`g` cannot be computed in 2000 bytes unless the axis `i` is split, along which it "
            "reduces, and a strict order forbids that; smallest limit: 4100 bytes");
  strict.limit = 4100;
  const auto plan = MakePlan(graph, strict, found);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->splits.empty());
  // Nor are long reductions cut into parts, nor do ranks share the axis.
  const ConcreteGraph large =
      MakeGraph("graph g(%x: f32[i:200000]) -> f32\n{\n  %y = sum<i> %x\n  return %y\n}\n", {});
  PlanOptions none;
  EXPECT_EQ(MakePlan(large, none, found)->kernels.size(), 2U);
  none.strict_order = true;
  EXPECT_EQ(MakePlan(large, none, found)->kernels.size(), 1U);
  none.ranks = 2;
  EXPECT_FALSE(MakePlan(large, none, found)->share);
}

// The norms of rows that each pair of rows needs are in memory, or are computed again for each
// tile.
TEST(ReduceGraphs, ResultsMayHaveToBeKept) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%x: f32[i:300, d:20], %z: f32[j:300, d]) -> f32[i, j]\n{\n"
      "  %norm = sum<d>(%x * %x)\n  %y = dot<d>(%x, %z) * %norm\n  return %y\n}\n",
      {});
  Diagnostics found;
  PlanOptions options{100, LimitKind::kScratch};
  EXPECT_TRUE(MakePlan(graph, options, found));
  options.recompute = false;
  const std::string error = ErrorOf(graph, options);
  const std::string begin =
      "`g` cannot be computed in 100 bytes unless `%norm` is computed again wherever it is needed, "
      "which is forbidden; smallest limit: ";
  ASSERT_EQ(error.substr(0, begin.size()), begin);
  options.limit = std::stoull(error.substr(begin.size()));
  RunAndCompare(graph, RandomInputs(graph, 1), options.limit, LimitKind::kScratch, "cpu");
  EXPECT_TRUE(MakePlan(graph, options, found));
  --options.limit;
  EXPECT_FALSE(MakePlan(graph, options, found));
}

}  // namespace
}  // namespace tarsia::reduce_test
